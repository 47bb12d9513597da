/**
 * A client of coordinatord: one session, its newest state, and the stream of its changes. No dependencies; for browsers
 * and Node. docs/updates.md explains it.
 *
 *     const session = await Session.open("https://nav.example.com", { app: "shop" }, { onState: draw });
 *     session.watch();
 *     await session.post("product", { id: 42 });
 */

/** Why a request was not carried out: `status`, `kind` such as "session-ended", and the `body` of the answer. */
export class Problem extends Error {
  constructor({ status, headers }, body) {
    super([body.title ?? `The server answered with ${status}`, body.detail].filter(Boolean).join(": "));
    const kind = String(body.type ?? "").split(":").pop(), retryAfter = Number(headers.get("Retry-After")) || undefined;
    const isTemporary = status === 429 || status === 503 && kind !== "session-damaged";
    Object.assign(this, { name: "Problem", status, kind, body, retryAfter, isTemporary });
  }
}

/**
 * A number with more digits than JavaScript's own have, as the server wrote it: an id beyond 2⁵³, a price of 20 digits.
 * It is drawn and posted with all of them; `BigInt(number.text)` calculates with an integer.
 */
export class ExactNumber {
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }
  toString() { return this.text; }
  toJSON() { return JSON.rawJSON?.(this.text) ?? mark + this.text; }
}

/** The prefix of strings that stand for an `ExactNumber` while JSON's own functions read or write the text. */
const mark = `${crypto.getRandomValues(new Uint32Array(4)).join("-")} `;
const token = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g, longDigits = /\d[\d.]{15}/;

/** Whether JavaScript's own number has every digit of a JSON text. */
const isKept = text => text.split(/e/i)[0].replace(/[-.]/g, "").replace(/^0+/, "").length < 16
  || String(Number(text)) === text;

/** `JSON.parse`, with an `ExactNumber` for each number that JavaScript would change. */
export function parse(text) {
  if (!longDigits.test(text)) return JSON.parse(text);
  const marked = text.replace(token, part => part[0] === '"' || isKept(part) ? part : `"${mark}${part}"`);
  return JSON.parse(marked, (name, value) =>
    typeof value === "string" && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value);
}

/** `JSON.stringify`, also where that cannot write an `ExactNumber` (`JSON.rawJSON`). */
export const stringify = value => JSON.stringify(value)?.replaceAll(new RegExp(`"${mark}([^"]*)"`, "g"), "$1");

/** Whether an error is the server's own. After an error of a gateway, it is unknown what the server has done. */
const isProblem = body => String(body?.type).startsWith("urn:coordinatord:problem:");

/**
 * Sends a request until an answer says what happened. After a lost answer, or one that says “later”, it repeats the
 * request with the same key: the server carries it out once. Meanwhile `onWaiting` gets `{ status, seconds, retry }`,
 * where a status of 0 means no connection and `retry()` ends the pause, and at the end `undefined`. With `wait` the
 * server may take so many seconds longer to answer.
 */
export async function send(url, { method = "GET", token, body, headers = {}, wait = 0, onWaiting = () => {} } = {}) {
  if (wait) headers = { ...headers, Prefer: `wait=${wait}` };
  const options = { method, headers: { ...headers }, cache: "no-store" };
  if (token) options.headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) {
    const key = crypto.getRandomValues(new Uint32Array(4)).join("-");
    Object.assign(options.headers, { "Idempotency-Key": key, "Content-Type": "application/json" });
    options.body = stringify(body);
  }
  for (let attempt = 1; ; attempt++) {
    let response, answer;
    try {
      response = await fetch(url, { ...options, signal: AbortSignal.timeout(1000 * (30 + wait)) });
      answer = [204, 304].includes(response.status) ? undefined : parse(await response.text());
      if (!response.ok && response.status !== 304 && !isProblem(answer)) throw new Error("from a gateway");
    } catch {
      await pause(Math.min(2 ** attempt / 2, 15), 0, onWaiting);
      continue;
    }
    const problem = !response.ok && response.status !== 304 && new Problem(response, answer);
    if (problem.isTemporary && attempt < 4 || problem.status === 504 && attempt < 2) {
      await pause(problem.retryAfter ?? attempt, problem.status, onWaiting);
      continue;
    }
    if (attempt > 1) onWaiting();
    if (problem) throw problem;
    return { response, answer };
  }
}

/**
 * A session. `server` is the address, with the base path. `onState` gets each newer state, wherever it came from;
 * `onToken` each new token and the session's id; `onConnection` whether the stream is open; `onEnd` why it is over.
 */
export class Session {
  state;
  path = "v1/sessions";
  query = "?include=controls";
  onState() {} onToken() {} onConnection() {} onEnd() {}
  #posted = Promise.resolve();
  #retry = 1000;
  #tag;

  constructor(options) { Object.assign(this, options); }

  /** Opens a session: `{ app, link, client }`, or `{ forkOf, version }` with the other session's token in `options`. */
  static async open(server, what = {}, options = {}) {
    const session = new Session({ server, ...options }), { response, answer } = await session.#send("POST", "", what);
    session.id = answer.session.id;
    session.#accept(answer, tagOf(response));
    return session;
  }

  /** Reads the state as it is now. */
  async read() {
    const { response, answer } = await this.#send("GET", "");
    return this.#accept(answer, tagOf(response));
  }

  /**
   * Posts an event, with the screen on which the user acted, after those posted before, and returns the newest state.
   * With `version` it is carried out only on that version. With `wait` the answer comes when the work in the background
   * that the event began is done, or after so many seconds, at most 50; what is posted meanwhile waits for its turn.
   * Throws a `Problem`; a state that came with it is kept.
   */
  post(type, payload, { screen = this.state?.visible.key, version, wait } = {}) {
    const headers = version === undefined ? {} : { "If-Match": `"${version}"` };
    const work = this.#posted.then(async () => {
      try {
        const { response, answer } = await this.#send("POST", "/events", { type, payload, screen }, { headers, wait });
        this.#accept(answer, tagOf(response));
        const newest = Math.max(Number(response.headers.get("Session-Version")), this.state.session.version);
        return answer.session.version < newest ? this.read() : this.state;
      } catch (problem) {
        if (problem.body?.state) await (problem.body.state.controls ? this.#accept(problem.body.state) : this.read());
        throw problem;
      }
    });
    this.#posted = work.catch(() => {});
    return work;
  }

  /** Reads something else of the session, such as `get("/history?limit=20")`; ends it, for every client. */
  async get(suffix) { return (await this.#send("GET", suffix, undefined, { query: "" })).answer; }
  async end() { await this.#send("DELETE", "", undefined, { query: "" }); }

  /**
   * Follows the session until it ends or `signal` is aborted. `onConnection(true)` says that the stream is open, and
   * `onConnection(false, { seconds, retry, problem })` that it is lost, and when another one is opened. Hidden pages
   * have none: a browser has only six connections to a server, for all its pages.
   */
  async watch(signal) {
    for (let failures = 0; !signal?.aborted;) {
      while (isHidden()) await new Promise(seen => document.addEventListener("visibilitychange", seen, { once: true }));
      let { token } = this, problem, reason;
      try {
        reason = await this.#follow(signal, () => { failures = 0; });
      } catch (error) {
        if (error instanceof Problem) problem = error;
        if (problem && !problem.isTemporary && problem.status !== 504) reason = problem.kind;
      }
      if (signal?.aborted) return;
      if (["token-replaced", "unauthorized"].includes(reason)) {
        await this.#posted; // Its answer may have the new token.
        if (this.token !== token) continue;
      }
      if (reason) return this.onEnd(reason, problem);
      const longest = Math.min(this.#retry * 2 ** failures++ / 1000, 15), seconds = longest * (0.5 + Math.random() / 2);
      const report = waiting => this.onConnection(false, { ...waiting, problem });
      if (!isHidden()) await pause(problem?.retryAfter ?? seconds, 0, report, signal);
    }
  }

  #url(suffix, query = this.query) {
    return `${this.server.replace(/\/+$/, "")}/${this.path}${this.id ? `/${this.id}` : ""}${suffix}${query}`;
  }

  #send(method, suffix, body, { query, ...more } = {}) {
    return send(this.#url(suffix, query), { method, token: this.token, body, onWaiting: this.onWaiting, ...more });
  }

  /**
   * Keeps a state, unless it is older than the one that is there: the answer to a repeated request may be. The same
   * version has another tag while another build of the server shows it.
   */
  #accept({ token, ...state }, tag = `"${state.session.version}"`) {
    if (token && token !== this.token) this.onToken(this.token = token, this.id);
    const { version } = state.session, known = this.state?.session.version ?? 0;
    const isSame = version === known && tag === this.#tag;
    if (version < known || isSame && (this.state.controls || !state.controls)) return this.state;
    this.state = state;
    this.#tag = tag;
    this.onState(state);
    return state;
  }

  /** Reads one stream to its end, and returns the reason if the server gave one. It is heard at least every 20 s. */
  async #follow(signal, onOpen) {
    const controller = new AbortController(), abort = () => controller.abort(), until = { signal: controller.signal };
    signal?.addEventListener("abort", abort, until);
    globalThis.document?.addEventListener("visibilitychange", () => isHidden() && abort(), until);
    let timer = setTimeout(abort, 45_000);
    try {
      const headers = { Accept: "text/event-stream", Authorization: `Bearer ${this.token}` };
      if (this.state) headers["Last-Event-ID"] = this.#tag;
      const response = await fetch(this.#url("/updates"), { headers, cache: "no-store", ...until });
      if (!response.ok) {
        const body = await response.text().then(parse).catch(() => ({}));
        throw isProblem(body) ? new Problem(response, body) : new Error("from a gateway");
      }
      onOpen();
      this.onConnection(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(abort, 45_000);
        const messages = (text + value).split("\n\n");
        text = messages.pop();
        for (const { event, data, id, retry } of messages.map(fields)) {
          if (retry) this.#retry = Number(retry);
          if (event === "end") return `session-${JSON.parse(data).reason}`.replace("session-token", "token");
          if (event === "state") { this.#accept(parse(data), id); }
        }
      }
    } finally {
      clearTimeout(timer);
      abort();
    }
  }
}

const tagOf = response => response.headers.get("ETag") ?? undefined;
/** The fields of a message: `event`, `data`, `id`, `retry`. A comment, which shows that the server lives, has none. */
const fields = message => Object.fromEntries(
  message.split("\n").map(line => /^(\w+): ?(.*)$/.exec(line)?.slice(1)).filter(Boolean));
const isHidden = () => globalThis.document?.visibilityState === "hidden";

/** Waits, and says so; `retry()` ends the pause early. */
function pause(seconds, status, onWaiting, signal) {
  return new Promise(resolve => {
    setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", resolve, { once: true });
    onWaiting({ status, seconds, retry: resolve });
  });
}
