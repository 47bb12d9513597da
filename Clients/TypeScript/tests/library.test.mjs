/**
 * The library against a server, alone and behind a gateway that loses and replaces answers.
 *
 *   node Clients/TypeScript/tests/library.test.mjs COORDINATORD|URL
 */
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it as test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { ExactNumber, FileStorage, NavigationSession, parse, Problem, predict, stringify, TabStorage } from "../coordinator-client.js";
import { gateway, startServer, temporaryDirectory } from "./server.mjs";

const directory = temporaryDirectory();
let server;
const given = process.argv[2];
before(async () => { server = given.startsWith("http") ? { url: given, stop() {} } : await startServer(given); });
after(() => server.stop());

/**
 * A test, whose clock stands still unless it lets it run: a deadline passes where the test wants it to, however slow the
 * machine is.
 */
function it(name, body) {
  return test(name, { timeout: 600_000 }, t => {
    const own = { now: runningClock() };
    t.after(() => { own.now = undefined; }); // What the test has left under way ends.
    return clocks.run(own, () => body(t));
  });
}
const clocks = new AsyncLocalStorage(), runningClock = Date.now;
Date.now = () => clocks.getStore()?.now ?? runningClock();
const clock = {
  /** Lets some seconds pass at once. */
  pass(seconds) { clocks.getStore().now += 1000 * seconds; },
  run() { clocks.getStore().now = undefined; },
  stop() { clocks.getStore().now = runningClock(); },
};

/** A promise that is kept by a call of `open`. */
function gate() {
  let open;
  const opened = new Promise(resolve => { open = resolve; });
  return { opened, open };
}

/** A session that notes what it draws. */
async function open(app, options = {}) {
  const drawn = [], ends = [];
  const session = await NavigationSession.start({ app }, {
    server: server.url, onState: state => drawn.push(state), onEnd: reason => ends.push(reason), ...options });
  return { session, drawn, ends, versions: () => drawn.map(state => state.session.version) };
}

/** Waits until something is so. */
async function until(condition) {
  const begun = performance.now();
  while (!await condition()) {
    assert.ok(performance.now() - begun < 600_000, `it never happened: ${condition}`);
    await sleep(10);
  }
}

const login = password => ({ type: "login", payload: { email: "ann@example.com", password } });
const events = ({ requests }) => requests.filter(({ method, path }) => method === "POST" && path.includes("/events"));

describe("the library", { concurrency: 8 }, () => {
  it("a session is opened, and each event leads to a newer state", async () => {
    const { session, versions } = await open("list-detail");
    const selected = await session.post({ type: "select", payload: { id: 2 } });
    assert.equal(selected.kind, "accepted");
    assert.equal(selected.state.visible.name, "detail");
    assert.equal((await session.back()).state.visible.name, "list");
    assert.deepEqual(versions(), [1, 2, 3]);
  });

  it("each refusal is an outcome of its own", async () => {
    const { session } = await open("list-detail"), visible = session.state.visible.key;
    const invalid = await session.post({ type: "select", payload: { id: "x" } });
    assert.deepEqual([invalid.kind, invalid.faults.map(({ pointer, code }) => [pointer, code])], ["invalid", [["/payload/id", "type"]]]);
    assert.equal((await session.post({ type: "edit" })).kind, "stale");
    await session.post({ type: "select", payload: { id: 2 } });
    const stale = await session.post({ type: "select", payload: { id: 2 } }, { screen: visible });
    assert.deepEqual([stale.kind, stale.problem.kind, stale.state.visible.name], ["stale", "stale-screen", "detail"]);
    const changed = await session.post({ type: "back" }, { version: 1 });
    assert.deepEqual([changed.kind, changed.state.session.version], ["changed", 2]);
    const unknown = await session.open("/no/such");
    assert.equal(unknown.kind === "invalid" || unknown.kind === "stale", true);
    await session.end();
    assert.deepEqual(await session.back(), { kind: "ended", reason: "session-ended" });
    const numbers = await open("numbers");
    const failed = await numbers.session.post({ type: "fail" });
    assert.deepEqual([failed.kind, failed.problem.status], ["failed", 500]);
  });

  it("opening fails with a problem", async () => {
    await assert.rejects(open("nothing"), error => error instanceof Problem && error.kind === "unknown-app");
  });

  it("a problem's words are the app's own in the user's language, or the title", () => {
    const body = { type: "urn:coordinatord:problem:event-not-accepted", title: "Not now", detail: "Das geht nicht." };
    const words = language => new Problem(409, new Headers(language), body).words;
    assert.deepEqual(["de", "en, de", "en", undefined].map(tag => words(tag && { "Content-Language": tag })),
      ["Das geht nicht.", "Not now", "Not now", "Not now"]);
  });

  it("whatever a gateway answers, an event is carried out once", async t => {
    const instead = [
      { status: 502, type: "application/json", text: '{"type":"about:blank","status":502}' },
      { status: 503, type: "text/html", text: "<h1>Unavailable</h1>" },
      { status: 504, type: "text/plain", text: "" },
      { status: 200, type: "application/json", text: '{"session":{"id":"s_', length: 9000 },
      { status: 200, type: "application/json", text: '{"please":"sign in to the hotel"}' },
      "nothing",
    ];
    for (const answer of instead) {
      const between = await gateway(server.url, ({ method, number }) => method === "POST" && number === 1 ? answer : undefined);
      t.after(between.stop);
      const { session, versions } = await open("numbers", { server: between.url });
      const outcome = await session.post({ type: "push", payload: 5 });
      assert.deepEqual([outcome.kind, outcome.state.visible.params, versions()], ["accepted", { value: 5 }, [1, 2]]);
      assert.equal(new Set(events(between).map(({ headers }) => headers["idempotency-key"])).size, 1);
      assert.ok(events(between).length >= 2);
    }
  });

  it("a problem that is temporary is waited for", async t => {
    let count = 0;
    const busy = { status: 429, type: "application/problem+json", text: '{"type":"urn:coordinatord:problem:too-many-events"}' };
    const between = await gateway(server.url, ({ path }) => path.includes("/events") && count++ < 2 ? busy : undefined);
    t.after(between.stop);
    const pauses = [], { session } = await open("numbers", { server: between.url, onWaiting: waiting => pauses.push(waiting?.status) });
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
    assert.deepEqual(pauses, [429, 429, undefined]);
  });

  it("an event whose deadline has passed is withdrawn, and is not carried out later", async t => {
    const held = gate(), answered = gate();
    const between = await gateway(server.url, ({ path }) => { if (path.includes("/events")) answered.open(); });
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url });
    between.before = ({ path }) => path.includes("/events") ? held.opened : undefined;
    const posting = session.post({ type: "push", payload: 5 }, { deadline: 0.3 });
    await until(() => events(between).length > 0);
    clock.pass(0.3);
    const outcome = await posting;
    assert.deepEqual([outcome.kind, outcome.outcome], ["withdrawn", "not-carried-out"]);
    held.open();
    await answered.opened;
    await session.read();
    assert.equal(session.state.session.version, 1);
  });

  it("the deadline of an event that waits for its turn counts from the tap", async t => {
    const between = await gateway(server.url);
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url });
    const held = gate();
    between.before = ({ path }) => path.includes("/events") ? held.opened : undefined;
    const posting = [session.post({ type: "push", payload: 5 }), session.post({ type: "push", payload: 6 }, { deadline: 0.2 })];
    clock.pass(0.2);
    held.open();
    const [first, second] = await Promise.all(posting);
    assert.deepEqual([first.kind, second.kind, second.outcome], ["accepted", "withdrawn", "not-carried-out"]);
    assert.equal(events(between).length, 1);
  });

  it("what was carried out before it was withdrawn is drawn", async t => {
    const between = await gateway(server.url, ({ path }) => path.includes("/events") ? "nothing" : undefined);
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url }), stop = new AbortController();
    const outcome = session.post({ type: "push", payload: 5 }, { deadline: Infinity, signal: stop.signal });
    await until(() => events(between).length === 2);
    stop.abort();
    assert.equal((await outcome).outcome, "carried-out");
    assert.deepEqual(session.state.visible.params, { value: 5 });
  });

  it("without a connection the outcome stays open, and is asked for before the next event", async t => {
    const between = await gateway(server.url);
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url });
    between.before = ({ path }) => { if (path.includes("/events")) { between.cut(); return "nothing"; } return undefined; };
    const posting = session.post({ type: "push", payload: 5 }, { deadline: 0.2 });
    await until(() => between.isCut);
    clock.run();
    const outcome = await posting;
    assert.deepEqual([outcome.kind, outcome.outcome], ["withdrawn", "unknown"]);
    assert.deepEqual(await session.post({ type: "push", payload: 6 }, { deadline: 0.2 }).then(({ kind, outcome }) => [kind, outcome]),
      ["withdrawn", "not-carried-out"]);
    clock.stop();
    between.before = undefined;
    between.isCut = false;
    assert.deepEqual((await session.post({ type: "push", payload: 7 })).state.visible.params, { value: 7 });
    assert.ok(between.requests.some(({ method }) => method === "DELETE"));
  });

  for (const back of ["the next event", "read", "follow"]) it(`what becomes known later is reported (${back})`, async t => {
    const between = await gateway(server.url), settled = [];
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url, onSettled: (...what) => settled.push(what) });
    between.before = async ({ path, headers, body }) => {
      if (!path.includes("/events") || body.includes("7")) return undefined;
      // It is carried out, and the connection is lost before the answer.
      await fetch(server.url + path, { method: "POST", headers: { ...headers, host: undefined }, body });
      between.cut();
      return "nothing";
    };
    const posting = session.post({ type: "push", payload: 5 }, { deadline: 0.2 });
    await until(() => between.isCut);
    clock.run();
    const { outcome, key } = await posting;
    assert.deepEqual([outcome, settled], ["unknown", []]);
    clock.stop();
    between.isCut = false;
    const stop = new AbortController();
    t.after(() => stop.abort());
    if (back === "the next event") await session.post({ type: "push", payload: 7 });
    else if (back === "read") await session.read();
    else session.follow(stop.signal);
    await until(() => settled.length > 0);
    assert.deepEqual(settled, [["carried-out", key]]);
  });

  it("what was unknown to `resume` is reported when the connection is back", async t => {
    const path = join(directory, "unknown.json"), settled = [], stop = new AbortController();
    t.after(() => stop.abort());
    const { session } = await open("numbers", { storage: new FileStorage(path) });
    writeFileSync(path, JSON.stringify({ id: session.id, token: session.token, tap: "a-key-that-was-never-sent" }));
    // As if the server were too busy for this one question.
    const busy = { status: 503, type: "application/problem+json", text: '{"type":"urn:coordinatord:problem:overloaded"}' };
    let isBusy = true;
    const between = await gateway(server.url, ({ method }) => method === "DELETE" && isBusy ? busy : undefined);
    t.after(between.stop);
    clock.run();
    const again = await NavigationSession.resume({ server: between.url, storage: new FileStorage(path),
      onSettled: (...what) => settled.push(what) });
    assert.equal(again.interrupted, "unknown");
    clock.stop();
    isBusy = false;
    again.follow(stop.signal);
    await until(() => settled.length > 0);
    assert.deepEqual(settled, [["not-carried-out", "a-key-that-was-never-sent"]]);
  });

  it("a storage that cannot be read as JSON is an empty one", async () => {
    const path = join(directory, "corrupt.json"), storage = new FileStorage(path);
    writeFileSync(path, '{"id":"s_');
    assert.equal(await NavigationSession.resume({ server: server.url, storage }), undefined);
    const session = await NavigationSession.start({ app: "numbers" }, { server: server.url, storage });
    assert.equal(JSON.parse(readFileSync(path, "utf8")).id, session.id);
  });

  it("so is a tab's storage, which is written over", async t => {
    const kept = new Map([["shop", '{"id":"s_']]), { BroadcastChannel } = globalThis;
    globalThis.sessionStorage = { getItem: name => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
    globalThis.BroadcastChannel = undefined; // It would keep the process alive.
    t.after(() => { delete globalThis.sessionStorage; Object.assign(globalThis, { BroadcastChannel }); });
    const storage = new TabStorage("shop");
    assert.equal(await NavigationSession.resume({ server: server.url, storage }), undefined);
    const session = await NavigationSession.start({ app: "numbers" }, { server: server.url, storage });
    assert.equal(JSON.parse(kept.get("shop")).id, session.id);
  });

  it("the status of an answer that is not the server's is said", async t => {
    const instead = [
      { status: 404, type: "text/html", text: "<h1>Not found</h1>" },
      { status: 200, type: "application/json", text: '{"please":"sign in to the hotel"}' },
      { status: 502, type: "application/json", text: '{"type":"about:blank"}' },
      "nothing",
    ];
    const between = await gateway(server.url, ({ method, number }) => method === "POST" ? instead[number - 1] : undefined);
    t.after(between.stop);
    const pauses = [];
    await open("numbers", { server: between.url, onWaiting: waiting => { pauses.push(waiting?.status); waiting?.retry(); } });
    assert.deepEqual(pauses, [404, 200, 502, 0, undefined]);
    const foreign = await gateway(server.url, ({ path }) => path.includes("/updates") ? instead[0] : undefined), lost = [];
    t.after(foreign.stop);
    const { session } = await open("numbers", { server: foreign.url, onConnection: (_, pause) => lost.push(pause?.status) });
    const stop = new AbortController();
    t.after(() => stop.abort());
    session.follow(stop.signal);
    await until(() => lost.length > 0);
    assert.equal(lost[0], 404);
  });

  for (const [knows, drawn] of [[true, [1, 3]], [false, [1, 2, 3]]]) it(`an answer is drawn only if it is newer (${drawn})`, async t => {
    // The first answer is lost, and another device is faster than the second one.
    const between = await gateway(server.url, ({ path, number }) => path.includes("/events") && number === 1 ? "nothing" : undefined);
    t.after(between.stop);
    const { session, versions } = await open("numbers", { server: between.url });
    const other = new NavigationSession({ server: server.url, id: session.id, token: session.token });
    between.before = async ({ path, number }) => {
      if (!path.includes("/events") || number !== 2) return;
      await other.read();
      await other.post({ type: "push", payload: 9 });
      if (knows) await session.read();
    };
    const outcome = await session.post({ type: "push", payload: 5 });
    assert.deepEqual([outcome.kind, outcome.state.session.version, outcome.state.visible.params], ["accepted", 3, { value: 9 }]);
    assert.deepEqual(versions(), drawn);
  });

  it("a new token is saved before the state is drawn, and the old one is not used any more", async () => {
    const saved = [], storage = { load: () => undefined, save: value => { saved.push(value); } };
    const { session } = await open("clean-login", { storage, onState: state => saved.push(state.visible.name) });
    const first = session.token;
    await session.post(login("correct horse"));
    assert.notEqual(session.token, first);
    const at = saved.indexOf("main");
    assert.deepEqual(JSON.parse(stringify(saved[at - 1])), { id: session.id, token: session.token });
    assert.ok(saved[at - 2].tap, "the key was not saved first");
    assert.ok(!JSON.stringify(saved).includes("correct horse"), "a password was saved");
  });

  it("an app that is restarted during a sign-in learns what became of it", async t => {
    const path = join(directory, "restarted.json");
    const between = await gateway(server.url, ({ path }) => path.includes("/events") ? "nothing" : undefined);
    t.after(between.stop);
    const { session } = await open("clean-login", { server: between.url, storage: new FileStorage(path) });
    const stop = new AbortController();
    t.after(() => stop.abort());
    session.post(login("correct horse"), { signal: stop.signal });
    await until(() => events(between).length === 2);
    between.cut();
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const again = await NavigationSession.resume({ server: server.url, storage: new FileStorage(path) });
    assert.deepEqual([again.interrupted, again.state.visible.name], ["carried-out", "main"]);
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { id: again.id, token: again.token });
  });

  it("a session whose first answer was lost is opened once, also after a restart", async t => {
    const path = join(directory, "opening.json"), between = await gateway(server.url, () => "nothing");
    const stop = new AbortController(), { signal } = stop;
    t.after(between.stop);
    const opening = NavigationSession.start({ app: "numbers" }, { server: between.url, storage: new FileStorage(path), signal });
    await until(() => between.requests.length === 2);
    between.cut();
    const [first] = between.requests, { key } = JSON.parse(readFileSync(path, "utf8")).opening;
    assert.equal(first.headers["idempotency-key"], key);
    const again = await NavigationSession.resume({ server: server.url, storage: new FileStorage(path) });
    const replayed = await fetch(`${server.url}/v1/sessions?include=controls`, { method: "POST", body: first.body,
      headers: { "Content-Type": "application/json", "Idempotency-Key": key } });
    assert.equal((await replayed.json()).session.id, again.id);
    stop.abort();
    await assert.rejects(opening, { name: "Undecided" });
  });

  it("a code that is wrong leaves the session that is open, in the storage and on the screen", async () => {
    const path = join(directory, "wrong-code.json"), options = { server: server.url, storage: new FileStorage(path) };
    const { session } = await open("numbers", options), kept = readFileSync(path, "utf8");
    await assert.rejects(NavigationSession.pair("00000000", options), { kind: "unknown-code" });
    assert.equal(readFileSync(path, "utf8"), kept);
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
    assert.equal((await NavigationSession.resume(options)).id, session.id);
  });

  it("a session takes the place of the one in its storage, which neither draws nor saves any more", async t => {
    const between = await gateway(server.url), { opened, open: letThrough } = gate();
    t.after(between.stop);
    const path = join(directory, "replaced.json"), options = { server: between.url, storage: new FileStorage(path) };
    const { session, drawn, ends } = await open("clean-login", options), isOver = session.follow();
    between.before = async ({ path: asked }) => { if (asked.includes("/events")) await opened; };
    const posting = session.post(login("correct horse"));
    await until(() => events(between).length === 1);
    const next = await NavigationSession.start({ app: "numbers" }, options);
    await isOver;
    letThrough();
    await posting;
    assert.deepEqual([session.ended, ends, drawn.length], ["replaced", [], 1]);
    assert.deepEqual(await session.back(), { kind: "ended", reason: "replaced" });
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { id: next.id, token: next.token });
  });

  it("of several starts at once, one session is left, with a storage that is slow", async () => {
    const saved = [], ends = [], slow = value => sleep(5).then(() => value);
    const storage = { load: () => slow(saved.at(-1)), save: value => slow().then(() => { saved.push(value); }) };
    const start = () => NavigationSession.start({ app: "numbers" }, { server: server.url, storage });
    const sessions = await Promise.all([start(), start(), start()]);
    const [live] = sessions.filter(session => session.ended !== "replaced");
    for (const session of sessions) ends.push((await session.post({ type: "push", payload: 5 })).kind);
    assert.deepEqual(ends.sort(), ["accepted", "ended", "ended"]);
    assert.equal(saved.at(-1).id, live.id);
    const again = await NavigationSession.resume({ server: server.url, storage });
    assert.deepEqual([again.id, live.ended], [live.id, "replaced"]);
  });

  for (const way of ["given up", "a wrong address"]) it(`${way}: what opens another session leaves the one that is open`, async t => {
    const path = join(directory, `${way}.json`), storage = new FileStorage(path), stop = new AbortController();
    const between = await gateway(server.url, () => "nothing");
    t.after(between.stop);
    const { session } = await open("numbers", { storage }), kept = readFileSync(path, "utf8");
    const isWrong = way === "a wrong address", address = isWrong ? "localhost" : between.url;
    const opening = NavigationSession.start({ app: "numbers" }, { server: address, storage, signal: stop.signal });
    if (!isWrong) until(() => between.requests.length > 0).then(() => stop.abort());
    await assert.rejects(opening, { name: isWrong ? "TypeError" : "Undecided" });
    assert.equal(readFileSync(path, "utf8"), kept);
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
  });

  it("a tap that waits for a connection is over when another session is opened", async t => {
    const between = await gateway(server.url), waits = [], storage = { load: () => undefined, save() {} };
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url, storage, onWaiting: waiting => waits.push(waiting) });
    between.cut();
    const posting = session.post({ type: "push", payload: 5 }, { deadline: Infinity });
    await until(() => waits.length > 0);
    await open("numbers", { storage });
    assert.deepEqual(await posting, { kind: "ended", reason: "replaced" });
    assert.equal(waits.at(-1), undefined);
  });

  for (const isOpen of [true, false]) it(`what was cut off while it opened a session, and is refused later, leaves the one before (${isOpen})`, async () => {
    const path = join(directory, `cut-off-${isOpen}.json`), options = { server: server.url, storage: new FileStorage(path) };
    const kept = isOpen ? (await open("numbers", options)).session : undefined;
    const before = kept && { id: kept.id, token: kept.token };
    const opening = { path: "v1/sessions", key: "cut-off-before-it-was-sent", body: { app: "no-such-app" } };
    writeFileSync(path, JSON.stringify({ ...before, opening }));
    assert.equal((await NavigationSession.resume({ ...options, storage: new FileStorage(path) }))?.id, kept?.id);
    if (before) assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), before);
    else assert.equal(await new FileStorage(path).load(), undefined);
  });

  it("a storage that refuses leaves a session that goes on, and says so once", async () => {
    const refused = [], refuse = () => { throw new Error("the storage is full"); };
    const options = { server: server.url, storage: { load: refuse, save: refuse }, onUnsaved: ({ message }) => refused.push(message) };
    assert.equal(await NavigationSession.resume(options), undefined);
    const { session } = await open("numbers", { ...options, storage: { load: () => undefined, save: refuse } });
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
    assert.deepEqual(refused, ["the storage is full", "the storage is full"]);
  });

  it("the signal for opening a session does not end later calls", async () => {
    const stop = new AbortController(), { session } = await open("numbers", { signal: stop.signal });
    stop.abort();
    await session.read();
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
  });

  it("a connection that says nothing is said after three seconds, and left for another one after five", async t => {
    const pauses = [], between = await gateway(server.url);
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url, onWaiting: waiting => pauses.push(waiting?.status) });
    between.before = ({ path, number }) => path.includes("/events") && number === 1 ? new Promise(() => {}) : undefined;
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
    assert.deepEqual([pauses, events(between).map(({ number }) => number)], [[0, 0, undefined], [1, 2]]);
  });

  it("a message on the stream is a sign of life: what was unknown is asked for", async t => {
    const between = await gateway(server.url), settled = [], connections = [], stop = new AbortController();
    t.after(() => { stop.abort(); between.stop(); });
    const { session } = await open("numbers", { server: between.url, onSettled: (...what) => settled.push(what),
      onConnection: isOpen => connections.push(isOpen) });
    session.follow(stop.signal);
    await until(() => connections.length > 0);
    let isLost = true;
    between.before = ({ path }) => isLost && !path.includes("/updates") ? "nothing" : undefined;
    const posting = session.post({ type: "push", payload: 5 }, { deadline: 0.2 });
    await until(() => events(between).length > 0);
    clock.run();
    const { outcome, key } = await posting;
    assert.deepEqual([outcome, settled], ["unknown", []]);
    clock.stop();
    isLost = false;
    const other = new NavigationSession({ server: server.url, id: session.id, token: session.token });
    await other.read();
    await other.post({ type: "push", payload: 6 });
    await until(() => settled.length > 0);
    assert.deepEqual(settled, [["not-carried-out", key]]);
    assert.deepEqual(connections, [true]);
  });

  it("nothing is resumed where nothing is kept, and what is over says so", async () => {
    const path = join(directory, "over.json"), storage = new FileStorage(path), ends = [];
    const options = { server: server.url, storage, onEnd: reason => ends.push(reason) };
    assert.equal(await NavigationSession.resume(options), undefined);
    const session = await NavigationSession.start({ app: "numbers" }, options);
    await session.end();
    assert.equal(await NavigationSession.resume(options), undefined);
    assert.deepEqual(ends, ["session-ended", "session-ended"]);
    writeFileSync(path, JSON.stringify({ id: session.id, token: "x".repeat(43) }));
    assert.equal(await NavigationSession.resume(options), undefined);
    assert.equal(ends.length, 3);
  });

  for (const following of ["stream", "poll"]) {
    it(`changes of another device are drawn, and its end is heard (${following})`, async () => {
      const { session, drawn, versions } = await open("numbers"), ends = [], connections = [];
      const other = await NavigationSession.pair((await session.pairingCode("TV")).code, { server: server.url });
      const watching = new NavigationSession({ server: server.url, id: session.id, token: other.token, following,
        onState: state => drawn.push(state), onEnd: reason => ends.push(reason), onConnection: isOpen => connections.push(isOpen) });
      drawn.length = 0;
      const isOver = watching.follow();
      await until(() => drawn.length === 1);
      await session.post({ type: "push", payload: 5 });
      await until(() => watching.state.visible.params.value === 5);
      assert.equal(connections[0], true);
      const devices = await session.devices();
      assert.deepEqual(devices.map(({ label, isOwn }) => [label, isOwn]), [[undefined, true], ["TV", undefined]]);
      await session.revoke(2);
      await isOver;
      // Only one that waits gets the reason: a poll may have been between two requests.
      assert.ok(["token-revoked", ...following === "poll" ? ["unauthorized"] : []].includes(ends[0]), ends);
      assert.deepEqual(versions(), [...versions()].sort((a, b) => a - b));
    });
  }

  it("after a cut the stream is opened again", async t => {
    const between = await gateway(server.url), connections = [];
    t.after(between.stop);
    const { session } = await open("numbers", { server: between.url, onConnection: (isOpen, lost) => {
      connections.push(isOpen);
      between.isCut = false;
      lost?.retry();
    } });
    const stop = new AbortController(), isOver = session.follow(stop.signal);
    t.after(() => stop.abort());
    await until(() => connections.length === 1);
    between.cut();
    await until(() => connections.length >= 3 && connections[connections.length - 1]);
    assert.deepEqual(connections.slice(0, 2), [true, false]);
    stop.abort();
    await isOver;
  });

  it("another view with the same storage goes on with a token that was replaced", async () => {
    const path = join(directory, "shared.json"), renewed = async (_, stale) => {
      await until(() => JSON.parse(readFileSync(path, "utf8")).token !== stale);
      return JSON.parse(readFileSync(path, "utf8")).token;
    };
    const { session } = await open("clean-login", { storage: new FileStorage(path) });
    const view = await NavigationSession.resume({ server: server.url,
      storage: { load: () => ({ id: session.id, token: session.token }), save() {}, renewed } });
    const isOver = view.follow();
    await session.post(login("correct horse"));
    await until(() => view.state.visible.name === "main");
    assert.equal((await view.post({ type: "logout" })).kind, "accepted");
    await view.end();
    await isOver;
  });

  it("an exception of a callback surfaces, and changes nothing else", async t => {
    const surfaced = [], drawn = [], connections = [], ends = [];
    globalThis.reportError = error => surfaced.push(error.message);
    t.after(() => { delete globalThis.reportError; });
    const fails = (list, what) => { list.push(what); throw new Error("of the app"); };
    const { session } = await open("numbers", {
      onState: ({ session: { version } }) => fails(drawn, version), onToken: () => fails([]), onEnd: reason => fails(ends, reason),
      onConnection: isOpen => fails(connections, isOpen) });
    const isOver = session.follow();
    await until(() => connections.length > 0);
    assert.equal((await session.post({ type: "push", payload: 5 })).kind, "accepted");
    const other = new NavigationSession({ server: server.url, id: session.id, token: session.token });
    await other.read();
    await other.post({ type: "push", payload: 6 });
    await until(() => drawn.at(-1) === 3);
    await session.end();
    await isOver;
    assert.deepEqual([drawn, connections, ends], [[1, 2, 3], [true], ["session-ended"]]);
    assert.equal(surfaced.length, 6, surfaced);
  });

  it("where there is no reportError, an exception of a callback is one that nobody has caught", async () => {
    const program = `import { NavigationSession } from ${JSON.stringify(new URL("../coordinator-client.js", import.meta.url).href)};
      process.on("uncaughtException", error => console.log(error.message));
      const onState = () => { throw new Error("of the app"); };
      console.log((await NavigationSession.start({ app: "numbers" }, { server: "${server.url}", onState })).id.slice(0, 2));`;
    const { stdout, stderr } = await promisify(execFile)("node", ["--input-type=module", "-e", program]);
    assert.deepEqual(stdout.split("\n").sort(), ["", "of the app", "s_"], stderr);
  });

  it("a path of `get` that is not of the session is refused, and the session lives on", async () => {
    const { session, ends } = await open("numbers");
    await assert.rejects(session.get("history"), TypeError);
    await assert.rejects(session.get("/../other"), TypeError);
    assert.equal((await session.get("/tokens")).tokens.length, 1);
    assert.deepEqual([(await session.post({ type: "push", payload: 5 })).kind, ends], ["accepted", []]);
  });

  it("content is transferred again only when it has changed", async t => {
    const between = await gateway(server.url);
    t.after(between.stop);
    const { session } = await open("kiosk", { server: between.url });
    const found = await contentOf(session);
    assert.deepEqual(await session.content(), found);
    const asked = between.requests.filter(({ path }) => path.endsWith("/content"));
    assert.equal(asked.length, 2);
    assert.equal(asked[0].headers["if-none-match"], undefined);
    assert.ok(asked[1].headers["if-none-match"]);
  });

  /** Goes to a screen that has content. */
  async function contentOf(session) {
    if (!session.state.visible.hasContent) {
      await session.post({ type: "begin" });
      await session.post({ type: "lookUp", payload: { code: "ABC123" } }, { wait: 5 });
      await session.post({ type: "next" });
    }
    assert.ok(session.state.visible.hasContent, session.state.visible.name);
    return session.content();
  }

  it("back, tabs and dismissals are drawn before the answer, which counts", async t => {
    const between = await gateway(server.url);
    t.after(between.stop);
    const { session, drawn } = await open("shop", { server: between.url, predicts: true, deadline: 1 });
    const first = session.state.visible.key, controls = session.state.controls;
    await session.post({ type: "product", payload: { id: 42 } });
    drawn.length = 0;
    const going = session.back();
    assert.deepEqual([session.state.isPredicted, session.state.visible.key, session.state.controls], [true, first, controls]);
    assert.deepEqual(session.state.transition.operations.map(({ op }) => op), ["pop"]);
    await going;
    assert.deepEqual(drawn.map(({ isPredicted, visible }) => [isPredicted, visible.key]), [[true, first], [undefined, first]]);
    await session.post({ type: "product", payload: { id: 42 } });
    await session.post({ type: "addToCart" });
    await session.selectTab("cart");
    await session.post({ type: "checkout" });
    drawn.length = 0;
    await session.dismiss();
    assert.deepEqual(drawn.map(({ visible, presented }) => [visible.name, presented]), [["cart", undefined], ["cart", undefined]]);

    // Another device is faster: what was predicted is replaced by what is so, in one step.
    const other = new NavigationSession({ server: server.url, id: session.id, token: session.token });
    await other.read();
    await other.selectTab("search");
    drawn.length = 0;
    const outcome = await session.selectTab("home");
    assert.deepEqual([outcome.kind, drawn.map(({ visible }) => visible.name)], ["stale", ["product", "search"]]);
    await session.selectTab("home");

    // An event that is given up leaves what is drawn where it was.
    drawn.length = 0;
    between.before = ({ path }) => path.includes("/events") ? "nothing" : undefined;
    const before = session.state.visible.key, given = session.back();
    assert.notEqual(session.state.visible.key, before);
    clock.run();
    assert.equal((await given).kind, "withdrawn");
    assert.deepEqual([session.state.visible.key, session.state.isPredicted], [before, undefined]);
  });

  it("what cannot be known is not predicted", async () => {
    const { session } = await open("shop");
    assert.equal(predict(session.state, { type: "product", payload: { id: 42 } }), undefined);
    assert.equal(predict(session.state, { type: "back" }), undefined);
    assert.equal(predict(session.state, { type: "selectTab", payload: { tab: "home" } }), undefined);
    assert.equal(predict(session.state, { type: "selectTab", payload: { index: 2 } })?.visible.name, "cart");
    const screen = (key, more) => ({ key, name: "screen", coordinator: "app", ...more });
    const stack = [screen("k1"), screen("k2")], state = { ...session.state, stack, visible: stack[1], events: ["back"] };
    assert.equal(predict({ ...state, back: { effect: "pop", to: "k1", asks: true } }, { type: "back" }), undefined);
    assert.equal(predict({ ...state, back: { effect: "pop", to: "k1" }, alert: { key: "a1" } }, { type: "back" }), undefined);
    const predicted = predict({ ...state, back: { effect: "pop", to: "k1" } }, { type: "back" });
    assert.deepEqual([predicted.visible.key, predicted.stack.length, state.stack.length], ["k1", 1, 2]);
  });

  it("numbers keep every digit", async () => {
    const { session } = await open("numbers"), number = parse("9007199254740993");
    assert.ok(number instanceof ExactNumber);
    const { state } = await session.post({ type: "push", payload: number });
    assert.equal(stringify(state.visible.params), '{"value":9007199254740993}');
  });
});
