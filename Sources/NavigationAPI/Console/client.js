/**
 * A client of coordinatord: one session, its newest state, and the stream of its changes. No dependencies; runs in
 * browsers and in Node. docs/clients.md explains it.
 *
 *     const session = await Session.open("https://nav.example.com", { app: "shop" }, { onState: draw });
 *     session.watch();
 *     await session.post("product", { id: 42 });
 */

/** An answer that says why a request was not carried out: `status`, `kind` such as "session-ended", and the `body`. */
export class Problem extends Error {
  constructor(response, body) {
    super(body.detail ?? body.title ?? `The server answered with ${response.status}.`);
    this.status = response.status;
    this.kind = String(body.type ?? "").split(":").pop();
    this.body = body;
    this.retryAfter = Number(response.headers.get("Retry-After")) || undefined;
    this.isTemporary = this.status === 429 || this.status === 503 && this.kind !== "session-damaged";
  }
}

/**
 * Sends a request until an answer says what happened. After a lost answer, or one that says “later”, it sends the same
 * request with the same key again: the server carries it out once. Meanwhile `onWaiting` gets `{ status, seconds,
 * retry }`, where a status of 0 means no connection and `retry()` ends the pause, and at the end `undefined`.
 */
export async function send(url, { method = "GET", token, body, headers = {}, onWaiting = () => {} } = {}) {
  const options = { method, headers: { ...headers }, cache: "no-store" };
  if (token) options.headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) {
    options.headers["Idempotency-Key"] = randomKey();
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  for (let attempt = 1, hasWaited = false; ; attempt++, hasWaited = true) {
    let response, answer, problem;
    try {
      response = await fetch(url, { ...options, signal: AbortSignal.timeout(30_000) });
      answer = [204, 304].includes(response.status) ? undefined : await response.json();
      if (!response.ok && response.status !== 304) problem = new Problem(response, answer);
    } catch {
      await pause(Math.min(2 ** attempt / 2, 15), 0, onWaiting);
      continue;
    }
    if (problem?.isTemporary && attempt < 4 || problem?.status === 504 && attempt < 2) {
      await pause(problem.retryAfter ?? attempt, problem.status, onWaiting);
      continue;
    }
    if (hasWaited) onWaiting();
    if (problem) throw problem;
    return { response, answer };
  }
}

/**
 * A session. `server` is the address, with a base path if there is one. `onState` gets each state that is newer than
 * the one before, wherever it came from; `onToken` each new token, to be kept where secrets are; `onConnection` whether
 * the stream is open; `onEnd` why there will be no more states.
 */
export class Session {
  state;

  constructor({ server, id, token, path = "v1/sessions", query = "?include=controls", onState = () => {},
    onToken = () => {}, onWaiting, onConnection = () => {}, onEnd = () => {} }) {
    Object.assign(this, { server, id, token, path, query, onState, onToken, onWaiting, onConnection, onEnd });
  }

  /** Opens a session: `{ app, link, client }`, or `{ forkOf, version }` with the other session's token in `options`. */
  static async open(server, what = {}, options = {}) {
    const session = new Session({ server, ...options });
    const { response, answer } = await send(session.#url("", ""), {
      method: "POST", token: options.token, body: what, onWaiting: options.onWaiting });
    session.id = answer.session.id;
    session.#accept(answer, response);
    return session;
  }

  /** Reads the state as it is now. */
  async read() {
    const { response, answer } = await this.#send("GET", "");
    return this.#accept(answer, response);
  }

  /**
   * Posts an event, with the screen on which the user acted, and returns the newest state. With `version` the event is
   * carried out only on that version. Events are sent one after the other. Throws a `Problem`; the state that came with
   * it has been accepted.
   */
  post(type, payload, { screen = this.state?.visible.key, version } = {}) {
    const headers = version === undefined ? {} : { "If-Match": `"${version}"` };
    const work = this.#posted.then(async () => {
      try {
        const { response, answer } = await this.#send("POST", "/events", { type, payload, screen }, headers);
        const isOld = Number(response.headers.get("Session-Version")) > answer.session.version;
        if (isOld) { this.#keep(answer.token); return this.read(); }
        return this.#accept(answer, response);
      } catch (problem) {
        if (problem.body?.state) await (problem.body.state.controls ? this.#accept(problem.body.state) : this.read());
        throw problem;
      }
    });
    this.#posted = work.catch(() => {});
    return work;
  }

  /** Ends the session, for every client. */
  end() { return this.#send("DELETE", ""); }

  /** Reads something else of the session: `get("/history?limit=20")`. */
  async get(suffix) { return (await this.#send("GET", suffix, undefined, {}, "")).answer; }

  /**
   * Follows the session until it ends or `signal` is aborted. When the connection is lost it is opened again, and
   * `onConnection(false, { seconds, retry, problem })` says when; `onConnection(true)` says that it is open.
   */
  async watch(signal) {
    for (let failures = 0; !signal?.aborted;) {
      const token = this.token;
      let problem, reason;
      try {
        reason = await this.#follow(signal, () => { failures = 0; });
      } catch (error) {
        problem = error instanceof Problem ? error : undefined;
        if (problem && !problem.isTemporary && problem.status !== 504) {
          reason = { 401: "unauthorized", 410: problem.kind.replace("session-", "") }[problem.status] ?? problem.kind;
        }
      }
      if (signal?.aborted) return;
      if (["token-replaced", "unauthorized"].includes(reason)) {
        await this.#posted; // Its answer may have the new token.
        if (this.token !== token) continue;
      }
      if (reason) return this.onEnd(reason, problem);
      const longest = Math.min(this.#retry * 2 ** failures++, 15_000);
      const seconds = problem?.retryAfter ?? longest * (0.5 + Math.random() / 2) / 1000;
      await pause(seconds, 0, waiting => waiting && this.onConnection(false, { ...waiting, problem }), signal);
    }
  }

  #posted = Promise.resolve();
  #retry = 1000;
  #tag;

  #url(suffix, id = this.id, query = this.query) {
    return `${this.server.replace(/\/+$/, "")}/${this.path}${id ? `/${id}` : ""}${suffix}${query}`;
  }

  #send(method, suffix, body, headers, query) {
    const plain = method === "DELETE" ? "" : query;
    return send(this.#url(suffix, this.id, plain), { method, token: this.token, body, headers,
      onWaiting: this.onWaiting });
  }

  #keep(token) {
    if (token && token !== this.token) this.onToken(this.token = token);
  }

  /** Keeps a state, unless it is older than the one that is there: the answer to a repeated request may be. */
  #accept({ token, ...state }, response) {
    this.#keep(token);
    const isNewer = state.session.version > (this.state?.session.version ?? 0)
      || state.session.version === this.state?.session.version && state.controls && !this.state.controls;
    if (!isNewer) return this.state;
    this.state = state;
    this.#tag = response?.headers.get("ETag") ?? `"${state.session.version}"`;
    this.onState(state);
    return state;
  }

  /** Reads one stream to its end; returns the reason if the server gave one. The server is heard every 15 s. */
  async #follow(signal, onOpen) {
    const controller = new AbortController(), abort = () => controller.abort();
    let timer = setTimeout(abort, 45_000);
    signal?.addEventListener("abort", abort);
    try {
      const headers = { Accept: "text/event-stream", Authorization: `Bearer ${this.token}` };
      if (this.state) headers["Last-Event-ID"] = this.#tag;
      const response = await fetch(this.#url("/updates"), { headers, cache: "no-store", signal: controller.signal });
      if (!response.ok) throw new Problem(response, await response.json().catch(() => ({})));
      onOpen();
      this.onConnection(true);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(abort, 45_000);
        const messages = (text + value).split(/\r?\n\r?\n/);
        text = messages.pop();
        for (const message of messages.map(fields)) {
          if (message.retry) this.#retry = Number(message.retry) || 1000;
          if (message.event === "end") return JSON.parse(message.data).reason;
          if (message.event !== "state") continue;
          this.#accept(JSON.parse(message.data));
          this.#tag = message.id ?? this.#tag;
        }
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      controller.abort();
    }
  }
}

/** A message of a stream: `event`, `data`, `id`, `retry`. Comments, which show that the server is there, have none. */
function fields(message) {
  const found = {};
  for (const line of message.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name) found[name] = name in found ? `${found[name]}\n${value}` : value;
  }
  return found;
}

/** Waits, and says so; `retry()` ends the pause early. */
function pause(seconds, status, onWaiting, signal) {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, 1000 * seconds), retry = () => { clearTimeout(timer); resolve(); };
    signal?.addEventListener("abort", retry, { once: true });
    onWaiting({ status, seconds, retry });
  });
}

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}
