/** A session's page: the phone, the coordinators and the history of the same moment, side by side. */
import { NavigationSession, request } from "../client.js";
import { devicesView, OtherDevices } from "./devices.js";
import { ask, clock, count, h, hush, kept, loading, notice, pages, render, root, say, tick, wait } from "./dom.js";
import { withoutSecrets } from "./form.js";
import { historyView, scriptOf } from "./history.js";
import { jsonView } from "./json.js";
import { Phone } from "./phone.js";
import { askForOperator } from "./server.js";
import { causeText, Coordinators, markNames, operationText, screenMarks, symbols } from "./state.js";
import { layersView, treeView } from "./tree.js";

/** Opens a session and goes to its page. The token stays in this tab. */
export async function start(what, token) {
  const session = await NavigationSession.start(what, { server: root, token, onWaiting: wait });
  kept.set(`token ${session.id}`, session.token);
  kept.set(`opened ${session.id}`, what);
  return session.id;
}

/** Takes part in the session that a code stands for. */
export async function join(code) {
  const session = await NavigationSession.pair(code, { server: root, onWaiting: wait }, { label: "Console" });
  kept.set(`token ${session.id}`, session.token);
  return session.id;
}

const ends = {
  "session-ended": ["This session has ended", "It was ended by a client or by the operator. Its last state is shown."],
  "session-expired": ["This session has expired", "Nothing happened in it for too long. Its last state is shown."],
  "token-replaced": ["Another client has the session now",
    "A sign-in or a sign-out replaced the token; this tab has the old one."],
  "token-revoked": ["This token was revoked", "The session goes on without this tab."],
  unauthorized: ["The token does not fit", "It was replaced, or the server no longer knows the session."],
  "session-incompatible": ["This session cannot go on", "The app was updated, and cannot draw the session's state."],
  "session-damaged": ["This session cannot go on", "What is stored of it is damaged. The operator's log has more."],
};

export async function sessionPage(main, id, config, tools) {
  const token = kept.get(`token ${id}`), operator = kept.get("operator");
  if (!token && !operator) return askForToken(main, id, config);
  const isOperator = !token, typed = kept.get(`typed ${id}`) ?? {}, opened = new Map();
  const states = new Map(), controlsOf = new Map(), coordinators = new Coordinators(), contents = new Map();
  const unreadable = new Set();
  let versions = [], schemas = new Map(), declared = [], signals = [], newest, drawn, connection, ended,
    search = "", tab = "phone", isHistoryKnown = false,
    own, // This tab's device; none for an operator.
    mayAct = true, mayEnd = true, // What its role allows.
    seen = [], // What the others see.
    oldest; // The first version that the server still gives.
  let shown = Number(new URLSearchParams(location.search).get("v")) || undefined;

  const part = (name, title, ...more) => h(`section.${name}`, { "aria-label": title, "data-part": name },
    h("h2", {}, title), more, h(".body"));
  const fold = title => h("details.others", { hidden: true }, h("summary", {}, title), h(".body"));
  const whose = h(".whose"), phoneHost = h(".phone");
  const others = fold("Built-in events"), sent = fold("Signals of other systems");
  const filter = h("input", { type: "search", placeholder: "Search", "aria-label": "Search in the state",
    oninput: () => { search = filter.value.toLowerCase(); show(); } });
  const parts = { phone: h("section.screenside", { "aria-label": "Phone", "data-part": "phone" },
    h(".body", {}, whose, phoneHost, others, sent)),
    devices: part("devices", "Other devices"), tree: part("tree", "Coordinators"), layers: part("layers", "Layers"),
    last: part("last", "Transition"), json: part("json", "State", filter) };
  const line = h("footer.history", { "aria-label": "History", role: "group" }),
    banner = h(".banner", { role: "status" });
  const switcher = h(".switcher", { role: "group", "aria-label": "Parts" }, Object.keys(parts).map(name => h("button", {
    "data-focus": name, onclick: () => { tab = name; choose(); } }, { last: "Transition", json: "State" }[name]
      ?? name[0].toUpperCase() + name.slice(1))));
  const choose = () => {
    for (const button of switcher.children) button.ariaPressed = String(button.dataset.focus === tab);
    for (const [name, element] of Object.entries(parts)) element.classList.toggle("chosen", name === tab);
    showFront();
  };
  choose();
  const phone = new Phone(phoneHost, post), otherDevices = new OtherDevices(parts.devices.lastChild);
  let refused;
  const session = new NavigationSession({ server: root, id, token: token ?? operator,
    ...isOperator && { path: "console/api/sessions", controls: false }, onState: accept, onWaiting: wait,
    onToken: token => {
      kept.set(`token ${id}`, token);
      kept.set(`renewed ${id}`, true);
      readHistory().then(show);
    },
    onConnection: (isLive, lost) => {
      connection = isLive ? undefined : { ...lost, since: connection?.since ?? Date.now() };
      if (isLive && !versions.length) readHistory().then(show);
      if (newest) show();
    },
    onEnd: (reason, problem) => {
      refused = problem;
      ended = ends[reason] ?? [problem?.body.title ?? reason, problem?.body.detail ?? ""];
      show();
    } });

  render(main, loading("Opening the session"));
  try { await session.read(); } catch (problem) { refused = problem; }
  if (refused) return refuse(main, id, refused, config);
  render(main, banner, switcher,
    h(".columns", {}, h(".left", {}, parts.phone), h(".middle", {}, parts.devices, parts.tree, parts.layers),
    h(".right", {}, parts.last, parts.json)), line);
  const [app, devices] = await Promise.allSettled(
    [ask(`v1/apps/${newest.session.app}`), isOperator ? [] : session.devices(), readHistory()]);
  own = devices.value?.find(({ isOwn }) => isOwn);
  const ownRole = app.value?.roles?.find(({ name }) => name === own?.role);
  if (ownRole) ({ mayAct, mayEndOthers: mayEnd } = ownRole);
  const all = name => (app.value?.coordinators ?? []).flatMap(coordinator => (coordinator[name] ?? []).map(
    ({ example, ...event }) => ({ ...event, example: example.payload, coordinator: coordinator.name })));
  declared = all("events");
  signals = all("signals").map(signal => ({ ...signal, role: "secondary" }));
  for (const { type, schema } of [...app.value?.builtInEvents ?? [], ...declared]) {
    schemas.set(type, schema && (schema.type !== "object" || schema.required?.length > 0));
  }
  session.follow();
  listen();
  setInterval(() => tick(parts.tree), 1000);
  show();

  /** A newer state, from the stream or from an answer. */
  function accept(state) {
    const { transition, controls, ...plain } = state, { version } = state.session;
    newest = state;
    states.set(version, plain);
    controlsOf.set(version, controls);
    if (transition && versions.at(-1)?.version === version - 1) {
      versions.push({ version, time: new Date().toISOString(), visible: state.visible, ...transition });
      keepWay();
    } else if (versions.length) readHistory().then(show);
    if (versions.length || drawn === undefined) show();
    readTree(state);
  }

  async function readTree(state) {
    readDrawings(state).catch(() => {}); // The stream says what is wrong.
    try {
      const { tree } = await session.get("/coordinators");
      if (newest === state && coordinators.keep(tree, state)) show();
    } catch { /* The stream says what is wrong. */ }
    if (!state.visible.hasContent || isOperator) return;
    const { key } = state.visible;
    session.get(`/screens/${key}/content`).then(found => { contents.set(key, found); show(); }, () => {});
  }

  /** What the other devices see: only an operator may know, and with `--development` each of them. */
  async function readDrawings(state) {
    if (!isOperator && !config.development) return;
    const { drawings } = await ask(`console/api/sessions/${id}/drawings?include=controls`, { token: session.token });
    // An operator's phone is that of the device that acted last, which is the first.
    const mine = drawings.find(({ devices }) => devices.some(({ number }) => number === own?.number)) ?? drawings[0];
    if (newest !== state) return;
    seen = drawings.filter(drawing => drawing !== mine);
    render(whose, seen.length > 0 && devicesView(mine.devices));
    show();
  }

  async function readHistory() {
    const isRenewed = kept.get(`renewed ${id}`);
    const { history } = await session.get("/history?limit=100").catch(() => ({ history: [] }));
    oldest = history.at(-1)?.version;
    if (isRenewed && oldest) {
      kept.set(`sealed ${id}`, oldest);
      kept.set(`renewed ${id}`);
    }
    const older = (kept.get(`way ${id}`) ?? []).filter(({ version }) => version < oldest);
    versions = [...older, ...history.reverse()];
    isHistoryKnown = true;
    keepWay();
  }

  /** Why the server does not give a version, if it does not. */
  function whyClosed(version) {
    if (ended) return "the session is over";
    if (version >= oldest && !unreadable.has(version)) return;
    return version < kept.get(`sealed ${id}`) ? "sealed by a new token" : "not kept any more";
  }

  /** The versions that can be shown: those that are in memory, and those that the server still gives. */
  function openVersions() {
    return versions.map(({ version }) => version)
      .filter(version => version === newest.session.version || states.get(version) || !whyClosed(version));
  }

  /** What this tab has seen: the server's history begins anew when the token is replaced. */
  function keepWay() {
    versions = versions.slice(-100);
    kept.set(`way ${id}`, versions.map(({ visible: { name, title, coordinator }, ...entry }) =>
      ({ ...entry, visible: { name, title, coordinator } })));
  }

  async function post(type, payload, form) {
    if (isOperator || ended) return say(ended ? ended[0]
      : "The operator's token reads only. The session's own token posts.");
    const schema = newest.controls?.find(control => control.type === type)?.schema, from = newest.session.version;
    const outcome = await session.post({ type, payload }), { problem } = outcome;
    switch (outcome.kind) {
      case "accepted": {
        const { session: { version } } = outcome.state, { value, left } = withoutSecrets(payload, schema);
        form?.show([]);
        hush();
        if (version === from + 1) kept.set(`typed ${id}`, Object.assign(typed, { [version]: { payload: value, left } }));
        return;
      }
      case "invalid":
        return form ? form.show(outcome.faults.length ? outcome.faults : [{ pointer: "", detail: problem.body.detail }])
          : say(problem.message);
      case "stale": case "changed": case "answer-first":
        return say(`The session has moved on. This is where it is now: v${newest.session.version}.`);
      case "withdrawn": return say({ "carried-out": "The answer took long; the event was carried out.",
        "not-carried-out": "No connection to the server. The event was not carried out." }[outcome.outcome]
          ?? "No connection to the server. The event may have been carried out.");
      case "failed": return say(problem.status === 500
        ? `The app has failed; nothing has changed. Request ${problem.body.requestId}.` : problem.message);
    }
  }

  /** What sends signals: the operator's token, and with `--development` the session's own. */
  function right() { return kept.get("operator") ?? (config.development ? session.token : undefined); }

  async function signal(type, payload, form) {
    try {
      await request(`${root}console/api/sessions/${id}/signals`,
        { method: "POST", token: right(), body: { type, payload }, onWaiting: wait });
      form?.show([]);
      say(`The session has received “${type}”.`);
    } catch (problem) {
      const { status, body, message } = problem;
      if (status === 422 && body.errors && form) return form.show(body.errors);
      if (status === 401) kept.set("operator");
      say(message);
      show();
    }
  }

  async function scrub(version) {
    shown = version;
    const query = version === undefined ? "" : `?v=${version}`;
    history.replaceState(null, "", `${pages.session(id)}${query}`);
    show();
  }

  /** The state of a version; undefined if it must be read first, which this starts. */
  function stateAt(version) {
    if (states.has(version)) return states.get(version);
    if (!versions.some(entry => entry.version === version) || version === newest.session.version) return;
    if (whyClosed(version)) return;
    states.set(version, undefined);
    session.get(`/history/${version}`).then(({ transition, ...state }) => { states.set(version, state); show(); },
      () => { unreadable.add(version); show(); });
  }

  function show() {
    if (!newest) return;
    const now = newest.session.version;
    if (shown >= now) shown = undefined;
    if (shown !== undefined && isHistoryKnown && !openVersions().includes(shown)) {
      say(`Version ${shown} cannot be shown: ${whyClosed(shown) ?? "there is no such version"}.`);
      return scrub();
    }
    const at = shown ?? now, isPast = shown !== undefined, state = isPast ? stateAt(at) : newest;
    const whyNoFork = isPast && isHistoryKnown ? whyClosed(at) : undefined;
    tools(newest.session.app, id, { version: now, isLive: !connection && !ended, isPast,
      actions: [h("button", { onclick: copy, "data-focus": "copy" }, "Copy as curl"),
        !isOperator && !ended && mayAct
          && h("button", { onclick: () => share(), "data-focus": "share" }, "On a phone"),
        !isOperator && !ended && mayEnd
          && h("button", { onclick: () => fork(isPast ? at : undefined), "data-focus": "forking",
            disabled: !!whyNoFork, title: whyNoFork ?? "" }, "Fork"),
        !ended && mayEnd && h("button.danger", { onclick: end, "data-focus": "end" }, "End")] });
    render(line, historyView({ versions, open: openVersions(), shown, newest: now, onShow: scrub, whyNoFork,
      onFork: isOperator || ended || !mayEnd ? undefined : () => fork(at) }));
    showBanner(at);
    if (!state) return;
    const before = stateAt(at - 1), marks = screenMarks(state, before),
      entry = versions.find(({ version }) => version === at);
    const operations = drawn === at - 1 && !isPast ? newest.transition?.operations : undefined;
    phone.show({ ...state, controls: controlsOf.get(at) }, { operations, declared,
      isPast: isPast || !!ended || isOperator, marks: isPast ? marks : undefined,
      contents: isPast ? undefined : contents, pending: isPast || ended ? undefined : state.pending });
    drawn = at;
    const nodes = coordinators.of(state), isExact = coordinators.has(at), isNow = !isPast && !ended;
    showOthers(isNow ? newest.controls ?? [] : []);
    showDevices(isNow ? seen : []);
    showSignals(isNow ? nodes : []);
    render(parts.tree.lastChild, treeView(nodes, before && coordinators.of(before), state, before, marks, isNow),
      !isExact && isPast && h("p.quiet", {},
        "Drawn from this version's screens: the server keeps the tree of the newest version."));
    tick(parts.tree);
    render(parts.layers.lastChild, layersView(state, marks));
    showFront();
    render(parts.last.lastChild, transitionView(entry, at));
    const { transition, controls, ...plain } = state;
    render(parts.json.lastChild, h("p.quiet", {}, before ? `Marked: what differs from v${at - 1}. ` : at > 1
      ? "The version before is not known. " : "This is the first version. ",
      before && Object.entries(symbols).map(([name, sign]) => h(`span.${name}`, {}, `${sign} ${markNames[name]} `))),
    jsonView(plain, before, { opened, search }));
  }

  /** Where the layers are wider than the window, they begin with the screen that the user sees. */
  function showFront() { parts.layers.querySelector(".planes")?.scrollTo(1e5, 0); }

  function showBanner(at) {
    const again = h("button", { onclick: () =>
      start({ app: newest.session.app }).then(id => location.assign(pages.session(id)), fail) }, "Start a new session");
    const withToken = h("button", { onclick: () => { kept.set(`token ${id}`); location.reload(); } },
      "Enter another token");
    const text = ended ? [h("b", {}, ended[0]), ` ${ended[1]} `, again, /token|fit/.test(ended[0] + ended[1])
      && withToken]
      : connection ? [h("b", {}, connection.problem ? "The server is not ready. " : "No connection to the server. "),
        `This is the state of ${clock(connection.since)}. `, h("button", { onclick: connection.retry }, "Try now")]
        : shown !== undefined ? [h("b", {}, `Version ${at} of ${newest.session.version}. `),
          "Nothing can be posted in the past."]
          : isOperator ? [h("b", {}, "Read only. "),
            "The operator's token sees this session, can end it, and can send it signals."] : [];
    banner.className = `banner${ended ? " finished" : connection ? " lost" : shown ? " past" : ""}`;
    render(banner, text);
  }

  function showOthers(controls) {
    const more = controls.filter(({ coordinator, place, type }) => place === "app" && type !== "describeClient"
      || !coordinator && place === "screen" && type !== "back");
    showMore(others, more, body => phone.drawControls(body, more));
  }

  /** The signals that coordinators which are there accept. */
  function showSignals(nodes) {
    const found = signals.filter(({ coordinator, type }, index) => nodes.some(({ name }) => name === coordinator)
      && !signals.slice(0, index).some(other => other.type === type));
    showMore(sent, found.length ? [!!right(), ...found] : [], body => right() ? phone.drawControls(body, found, signal)
      : body.replaceChildren(askForOperator(config, show)));
  }

  function showDevices(seen) {
    for (const element of [parts.devices, switcher.querySelector("[data-focus=devices]")]) element.hidden = !seen.length;
    otherDevices.show(seen, declared);
  }

  /** Draws what is beside the phone, unless that is there already. */
  function showMore(host, what, draw) {
    host.hidden = !what.length;
    if (host.dataset.of === JSON.stringify(what)) return;
    host.dataset.of = JSON.stringify(what);
    draw(host.lastChild);
  }

  function transitionView(entry, at) {
    if (!entry) return h("p.quiet", {}, `What led to version ${at} is not kept any more.`);
    const names = list => list.length ? list.join(", ") : "–";
    return [h("p.event", {}, h("b", {}, entry.event ? causeText(entry) : "The session was opened"),
      h("span.quiet", {}, ` v${at}, ${clock(entry.time)}`)),
      entry.operations.length ? h("ol.operations", {}, entry.operations.map(operation => {
        const { sign, text, key } = operationText(operation);
        return h("li", {}, h("button", { "data-key": key }, h("span.sign", { "aria-hidden": "true" }, sign), text));
      })) : h("p.quiet", {}, "No screen came or went."),
      h("dl.pairs", {}, h("dt", {}, "finished"), h("dd", {}, names(entry.finished)), h("dt", {}, "dismissed"),
        h("dd", {}, names(entry.dismissed)))];
  }

  async function fork(version) {
    try {
      const made = await start({ forkOf: id, version }, session.token), tab = window.open(pages.session(made));
      if (!tab) return say("The fork is open.", "Go there", () => location.assign(pages.session(made)));
      kept.set(`token ${made}`); // The new tab has its own copy.
    } catch (problem) { fail(problem); }
  }

  /** Shows a code with which another device takes part in the session, in a role that this one may give. */
  async function share(role = own?.role) {
    let code, known;
    try {
      known = (await session.devices()).length;
      ({ code } = await session.pairingCode("Phone", role));
    } catch (problem) { return fail(problem); }
    const address = `${pages.all}#${code.slice(0, 4)}-${code.slice(4)}`;
    const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    const dialog = h("dialog", { "aria-label": "Continue on a phone" }, notice("Continue on a phone",
      "Open this address there, or type the code at “Continue with a code” on the first page. It can be used once, "
        + "within two minutes; both devices are in the session then.",
      ownRole?.gives.length > 0 && h("label", {}, "In the role ", h("select", { "aria-label": "Role",
        onchange: ({ target }) => { dialog.close(); share(target.value); } }, [ownRole.name, ...ownRole.gives]
        .map(name => h("option", { selected: name === role }, name)))),
      h("p.code", {}, address.slice(-9)), h("a", { href: address, target: "_blank", rel: "noopener" }, address),
      isHere && h("p.quiet", {}, "This server listens to this computer only: another device reaches it if it was "
        + "started with --host 0.0.0.0, at this computer's address in the network."),
      h("button", { onclick: () => dialog.close() }, "Close")));
    const look = setInterval(() => session.devices().then(found => {
      if (found.length <= known || !dialog.open) return;
      dialog.close();
      say("A device has joined the session.");
    }, () => {}), 1000);
    dialog.addEventListener("close", () => { clearInterval(look); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
  }

  async function copy() {
    const { app } = newest.session, made = kept.get(`opened ${id}`), body = made?.forkOf ? { app } : made ?? { app };
    const text = scriptOf({ app, id, body, versions, typed, schemas, server: root.replace(/\/$/, "") });
    const gaps = text.split("\n# Gap").length - 1;
    try { await navigator.clipboard.writeText(text); } catch { return save(text); }
    say(`The script is in the clipboard: ${gaps ? `it needs ${count(gaps, "payload")} as environment variables`
      : "it is complete"}.`);
  }

  function save(text) {
    h("a", { href: URL.createObjectURL(new Blob([text])), download: `${id}.sh` }).click();
    say("The script was saved as a file.");
  }

  async function end() {
    const dialog = h("dialog", { "aria-label": "End the session" },
      notice("End this session?", "It ends for every client, and cannot be undone.",
      h("button", { onclick: () => dialog.remove() }, "Keep it"),
      h("button.danger", { onclick: () => { dialog.remove();
        session.end().catch(fail); } }, "End it")));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  function fail(problem) { say(problem.message); }

  /** Screens and their owners light up together; a click finds them in the JSON; arrow keys go through the history. */
  function listen() {
    const light = event => {
      const at = event.type === "focusin" ? event.target : event.target.closest?.("[data-key], [data-owner]");
      const owners = coordinators.of(shown === undefined ? newest : states.get(shown) ?? newest),
        { key, owner } = at?.dataset ?? {};
      const path = owner ?? owners.find(({ screens }) => screens.includes(key))?.path;
      const keys = key ? [key] : owners.find(node => node.path === owner)?.screens ?? [];
      for (const element of main.querySelectorAll("[data-key], [data-owner]")) {
        element.classList.toggle("lit", keys.includes(element.dataset.key) || path !== undefined
          && element.dataset.owner === path);
      }
    };
    for (const type of ["pointerover", "focusin"]) main.addEventListener(type, light);
    main.addEventListener("pointerleave", () => light({ target: main }));
    main.addEventListener("click", event => {
      const at = event.target.closest(".tree [data-key], .layers [data-key], .last [data-key], [data-owner], .screen");
      const key = at?.dataset.key ?? at?.dataset.keys?.split(" ")[0];
      if (key && !event.target.closest(".screen :is(button, form, a)")) reveal(key);
    });
    addEventListener("keydown", ({ key, target, altKey, ctrlKey, metaKey }) => {
      if (altKey || ctrlKey || metaKey || target.closest("input, textarea, select, dialog")) return;
      const at = shown ?? newest.session.version, open = openVersions();
      const before = open.findLast(version => version < at), after = open.find(version => version > at);
      if (key === "ArrowLeft" && before) scrub(before);
      if (key === "ArrowRight" && shown !== undefined) scrub(after < newest.session.version ? after : undefined);
      if (key === "Escape") shown !== undefined ? scrub() : newest.back && post("back");
    });
  }

  function reveal(key) {
    const found = [...parts.json.querySelectorAll(`summary[data-key="${CSS.escape(key)}"]`)].at(-1);
    if (!found) return;
    for (let fold = found.parentNode; fold; fold = fold.parentNode.closest("details")) {
      fold.open = true;
      opened.set(fold.firstChild.dataset.focus, true);
    }
    found.scrollIntoView({ block: "nearest" });
    found.classList.add("found");
    setTimeout(() => found.classList.remove("found"), 1200);
  }
}

function askForToken(main, id, config, title = "This session needs its token", sentence =
  "The client that opened it has the token. It stays in this tab, and goes when the tab is closed.") {
  const input = h("input", { type: "password", autocomplete: "off", required: true,
    placeholder: "The session's token", "aria-label": "The session's token" });
  const form = h("form.inline", { onsubmit: event => {
    event.preventDefault();
    kept.set(`token ${id}`, input.value.trim());
    if (kept.get(`way ${id}`)) kept.set(`renewed ${id}`, true);
    location.reload();
  } }, input, h("button.primary", {}, "Open"));
  render(main, notice(title, sentence, form, h("a", { href: pages.all }, config.operator ? "Use the operator's token"
    : "All sessions")));
  input.focus();
}

function refuse(main, id, problem, config) {
  const { status, kind, body } = problem;
  if (status === 401) {
    kept.set(`token ${id}`);
    return askForToken(main, id, config, ...ends.unauthorized);
  }
  const [title, sentence] = ends[kind] ?? [body?.title ?? "This cannot be shown", body?.detail ?? problem.message];
  render(main, notice(title, sentence.replace(" Its last state is shown.", ""),
    h("a.primary", { href: pages.all }, "Start another session")));
}
