import { randomKey, parse } from "./json.js";
import { screensOf } from "./model.js";
import type {
  Back, ClientInfo, Control, Device, Fault, Launch, NavigationEvent, NavigationState, PairingCode,
} from "./model.js";
import { predict } from "./prediction.js";
import {
  bodyOf, exchange, ForeignAnswer, pause, Problem, problemOf, request, stopper, tell, Undecided,
} from "./request.js";
import type { Answer, RequestOptions, Waiting } from "./request.js";
import type { SavedSession, SessionStorage } from "./storage.js";

/** Why a session is over for this client. `replaced`: the client has opened another one with the same storage. */
export type EndReason = typeof endReasons[number] | "replaced";
const endReasons = ["session-ended", "session-expired", "token-replaced", "token-revoked", "unauthorized",
  "session-incompatible", "session-damaged"] as const;

/** What has become of an event that was given up. `unknown`: there is no connection to ask, see `onSettled`. */
export type SettledOutcome = "carried-out" | "not-carried-out" | "unknown";

/** What has become of an event. `state` is where the app is now; it has been drawn. */
export type Outcome =
  /** It was carried out. `pairing` is a code for another device, if the app gave one out. */
  | { readonly kind: "accepted"; readonly state: NavigationState; readonly pairing?: PairingCode }
  /** 409: the app is somewhere else by now, or does not accept it. Nothing has changed. */
  | { readonly kind: "stale"; readonly state: NavigationState; readonly problem: Problem }
  /** 409: an alert comes first. When the user has answered it, and not with `cancel`, call `repeat`: the same key. */
  | {
    readonly kind: "answer-first"; readonly state: NavigationState; readonly problem: Problem;
    readonly repeat: () => Promise<Outcome>;
  }
  /** 412: the session is not at `PostOptions.version` any more. Let the user decide again. */
  | { readonly kind: "changed"; readonly state: NavigationState; readonly problem: Problem }
  /** 422: the payload does not fit. Show each fault at its field; without faults, show the problem. */
  | { readonly kind: "invalid"; readonly faults: readonly Fault[]; readonly problem: Problem }
  /** It was given up, at its deadline or by its signal. */
  | { readonly kind: "withdrawn"; readonly key: string; readonly outcome: SettledOutcome }
  /** 401 or 410: the session is over for this client. */
  | { readonly kind: "ended"; readonly reason: EndReason }
  /** Anything else. Nothing has changed, and the same may succeed later, if it is no mistake of the client. */
  | { readonly kind: "failed"; readonly problem: Problem };

export interface SessionOptions {
  /** The server's address, with its base path. */
  readonly server: string;
  /** Where the session is kept. Without it, it ends with this object. */
  readonly storage?: SessionStorage;
  /** Whether states have `controls`, from which any app can be drawn. `true` if it is left out. */
  readonly controls?: boolean;
  /** After so many seconds an event is given up, and its outcome is asked for: 30 if it is left out. */
  readonly deadline?: number;
  /** Whether `back`, `selectTab` and `dismiss` are drawn at once where they can be predicted. The answer counts. */
  readonly predicts?: boolean;
  /** How `follow` reads: by a stream, or by requests that wait, as where no stream gets through. */
  readonly following?: "stream" | "poll";
  /** Where sessions are, below the server's address. The operator's console reads others. */
  readonly path?: string;
  /** The id and the token of a session that is already open, or the token of the session that is to be copied. */
  readonly id?: string;
  readonly token?: string;
  /**
   * Gives up `start`, `resume` and `pair`, which otherwise wait for a connection: they throw `Undecided` then. Later calls
   * do not heed it.
   */
  readonly signal?: AbortSignal;
  // What one of these functions throws is reported as an exception that nobody has caught, and changes nothing here.
  /** Draws a state: each newer one, wherever it came from, or a predicted one, which the next call replaces. */
  readonly onState?: (state: NavigationState) => void;
  /** A request waits before it is repeated; called without anything when it is over. */
  readonly onWaiting?: (waiting?: Waiting) => void;
  /** Whether `follow` hears of changes; if not, when it tries again, and why if the server said it. */
  readonly onConnection?: (isOpen: boolean, lost?: Waiting & { readonly problem?: Problem }) => void;
  /** There is a new token. It has been saved in the storage. */
  readonly onToken?: (token: string, id: string) => void;
  /**
   * What has become of an event whose outcome was `unknown`, to `post` or to `resume`, which is asked for as soon as
   * `follow`, `read` or the next event has a connection. `key` is that of `withdrawn`. `unknown`: it cannot be known.
   */
  readonly onSettled?: (outcome: SettledOutcome, key: string) => void;
  /** The storage refuses to keep the session, which goes on without it: said once, and again after it has kept one. */
  readonly onUnsaved?: (error: unknown) => void;
  /**
   * The session is over for this client: said once. It stays in the storage until another one is opened. Not said of a
   * session that the client itself has replaced by another one.
   */
  readonly onEnd?: (reason: EndReason, problem?: Problem) => void;
}

export interface PostOptions {
  /** The screen on which the user acted: the visible one, if it is left out. */
  readonly screen?: string;
  /** The event is carried out only on this version of the session. */
  readonly version?: number;
  /** The answer may wait for so many seconds, at most 50, for the work in the background that the event begins. */
  readonly wait?: number;
  /** So many seconds after the tap the event is given up. `Infinity`: never, also if that is much later. */
  readonly deadline?: number;
  /** Gives the event up at once. */
  readonly signal?: AbortSignal;
}

interface EventBody { readonly type: string; readonly payload?: unknown; readonly screen?: string }
type Received = NavigationState & { readonly token?: string; readonly pairing?: PairingCode };
/** The session that each storage keeps, and the writing that is under way there. */
const holders = new WeakMap<SessionStorage, NavigationSession>();
const savings = new WeakMap<SessionStorage, Promise<void>>();
const isState = (body: unknown): boolean => typeof (body as Received | null)?.session?.version === "number";

/** A session: its newest state, the events that are posted to it, and the stream of its changes. */
export class NavigationSession {
  /** What has become of the event that was under way when the app ended, if there was one: set by `resume`. */
  interrupted?: SettledOutcome;
  /** Why the session is over for this client, if it is. */
  ended?: EndReason;
  readonly #options: SessionOptions;
  #saved: SavedSession;
  #isUnsaved = false;
  /** Another session has taken its place: what is still under way for it ends, and neither draws nor saves. */
  #replaced = new AbortController();
  #state?: NavigationState;
  #drawn?: NavigationState;
  #tag = "";
  #known = new Map<string, { events: readonly string[]; controls?: readonly Control[]; back?: Back }>();
  #posted: Promise<unknown> = Promise.resolve();
  #posting = 0;
  #over = new AbortController();
  #retry = 1000;
  #polls: boolean;
  #contents = new Map<string, { tag: string; content: unknown }>();

  /** A session that is already open, by `id` and `token`; `read` fetches its state. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#saved = { id: options.id, token: options.token };
    this.#polls = options.following === "poll";
  }

  /**
   * Goes on with the session in the storage: it is where the user left it. Undefined if there is none, or if it is over
   * for this client, which `onEnd` was told. Waits as long as there is no connection. A storage whose text is no JSON is
   * taken for an empty one. If the app ended while it opened another session, that is opened now; if the server refuses
   * it, such as a code that is too old, this goes on with the session before it.
   */
  static async resume(options: SessionOptions): Promise<NavigationSession | undefined> {
    const kept = await NavigationSession.#kept(options), { opening } = kept.#saved;
    if (opening) {
      try { return await kept.#replace(opening, options); } catch (error) {
        if (!(error instanceof Problem)) throw error;
      }
    }
    const { id, token, tap } = kept.#saved, session = new NavigationSession(options);
    if (id === undefined || token === undefined) return undefined;
    kept.#giveWay(session);
    session.#saved = kept.#saved;
    if (tap !== undefined) session.interrupted = await session.#settle(Date.now() + 10_000, options.signal);
    await session.#read(options.signal);
    if (session.ended) return undefined;
    session.#settleOpen();
    return session;
  }

  /**
   * Opens a session, in place of the one in the storage, which stays until then. Throws a `Problem`, such as
   * `unknown-app`.
   */
  static async start(launch: Launch, options: SessionOptions): Promise<NavigationSession> {
    const { path = "v1/sessions", token } = options;
    return (await NavigationSession.#kept(options)).#replace({ path, key: randomKey(), body: launch, token }, options);
  }

  /**
   * Joins the session of another device with the code that it shows, in place of the one in the storage, which stays until
   * then. Throws a `Problem`, such as `unknown-code`.
   */
  static async pair(
    code: string, options: SessionOptions, device: { label?: string; role?: string; client?: ClientInfo } = {},
  ): Promise<NavigationSession> {
    const opening = { path: "v1/pairings", key: randomKey(), body: { code, ...device } };
    return (await NavigationSession.#kept(options)).#replace(opening, options);
  }

  /** The session that the storage has: the object that holds it, or what an earlier start of the app has left. */
  static async #kept(options: SessionOptions): Promise<NavigationSession> {
    const { storage } = options, session = new NavigationSession({ ...options, id: undefined, token: undefined });
    const holder = () => storage && holders.get(storage);
    if (!holder()) session.#saved = await session.#load();
    const kept = holder() ?? session;
    if (storage) holders.set(storage, kept);
    return kept;
  }

  /** Opens another session. This one stays, also for the object that holds it, until the other one is there. */
  async #replace(
    opening: NonNullable<SavedSession["opening"]>, options: SessionOptions,
  ): Promise<NavigationSession> {
    const session = new NavigationSession({ ...options, id: undefined, token: undefined }), { path, ...what } = opening;
    const { storage, onWaiting, signal } = options, holder = () => storage && holders.get(storage) || this;
    await holder().#save({ opening });
    try {
      const url = session.#url("", undefined, path);
      const answer = await request<Received>(url, { method: "POST", ...what, isAnswer: isState, onWaiting, signal });
      holder().#giveWay(session);
      session.#saved = { id: answer.body.session.id }; // The token follows.
      await session.#accept(answer.body, tagOf(answer));
      if (Number(answer.headers.get("Session-Version")) > answer.body.session.version) await session.#read(signal);
    } catch (error) {
      // Where there is no session, `resume` goes on with what was not decided.
      const { id, opening: kept } = holder().#saved, isOver = !(error instanceof Undecided) || id !== undefined;
      if (isOver && kept?.key === opening.key) await holder().#save({ opening: undefined });
      throw error;
    }
    return session;
  }

  #giveWay(next: NavigationSession): void {
    const { storage } = next.#options;
    if (storage) holders.set(storage, next);
    next.#isUnsaved = this.#isUnsaved;
    this.ended ??= "replaced";
    this.#replaced.abort();
    this.#over.abort();
  }

  get id(): string { return this.#saved.id ?? ""; }
  get token(): string { return this.#saved.token ?? ""; }

  /** What is drawn: the newest state, or what is predicted to follow. It is there once the session is open or read. */
  get state(): NavigationState {
    if (!this.#drawn) throw new Error("the session was not read yet");
    return this.#drawn;
  }

  /** Reads the state as it is now, for example when the app comes to the front. */
  async read(): Promise<void> {
    await this.#read();
    this.#settleOpen();
  }

  async #read(signal?: AbortSignal): Promise<void> {
    try {
      const answer = await this.#send<Received>("GET", "", { isAnswer: isState, signal });
      await this.#accept(answer.body, tagOf(answer));
    } catch (error) { if (!this.ended) throw error; }
  }

  /**
   * Posts an event, after those that were posted before, and says what has become of it. It has a key of its own, which
   * is saved first, and is repeated under it until the outcome is known or the deadline has passed.
   */
  post(event: NavigationEvent, options: PostOptions = {}): Promise<Outcome> {
    const { type, payload } = event, key = randomKey();
    const body = { type, payload, screen: options.screen ?? this.#drawn?.alert?.key ?? this.#drawn?.visible.key };
    const isFree = this.#options.predicts && this.#posting === 0 && !this.ended;
    const predicted = isFree && this.#state && predict(this.#state, event);
    if (predicted) this.#show({ ...predicted, ...this.#known.get(predicted.visible.key) });
    return this.#inTurn(key, body, options);
  }

  /** Does what `state.back` says. */
  back(): Promise<Outcome> { return this.post({ type: "back" }); }
  /** Selects a tab; the one that is selected already goes back to its first screen. */
  selectTab(tab: string): Promise<Outcome> { return this.post({ type: "selectTab", payload: { tab } }); }
  /** Dismisses the flow in front, or the one of that key with all above it. */
  dismiss(key?: string): Promise<Outcome> {
    return this.post({ type: "dismiss", payload: key === undefined ? undefined : { key } });
  }
  /** Presses a button of the alert that is drawn. */
  answer(button: string): Promise<Outcome> {
    return this.post({ type: "answer", payload: { button, alert: this.#drawn?.alert?.key } });
  }
  /** Opens a link, as the system hands it over. Behind an alert the server keeps it until the user has answered. */
  open(path: string): Promise<Outcome> { return this.post({ type: "open", payload: { path } }); }

  /** What a screen shows beside its state, if it `hasContent`. It is transferred only when it has changed. */
  async content(screen = this.state.visible.key): Promise<unknown> {
    const known = this.#contents.get(screen), headers = known && { "If-None-Match": known.tag };
    const answer = await this.#send(`GET`, `/screens/${screen}/content`, { query: "", headers });
    if (answer.status === 304) return known?.content;
    this.#contents.set(screen, { tag: tagOf(answer), content: answer.body });
    return answer.body;
  }

  /** A code with which another device joins the session, once and for two minutes: see `pair`. */
  async pairingCode(label?: string, role?: string): Promise<PairingCode> {
    return (await this.#send<PairingCode>("POST", "/pairings", { query: "", body: { label, role } })).body;
  }

  /** The devices that have a token for the session. */
  async devices(): Promise<readonly Device[]> {
    return (await this.get("/tokens") as { tokens: readonly Device[] }).tokens;
  }

  /** Takes the session away from a device. */
  async revoke(number: number): Promise<void> { await this.#send("DELETE", `/tokens/${number}`, { query: "" }); }

  /** Reads something else of the session, such as `get("/history?limit=20")`. Throws a `Problem`. */
  async get(suffix: string): Promise<unknown> {
    const [own, asked] = ["", suffix].map(end => new URL(this.#url(end, ""), globalThis.location?.href).href);
    const isOwn = asked.startsWith(own) && /^([/?]|$)/.test(asked.slice(own.length));
    if (!isOwn) throw new TypeError(`"${suffix}" is no path of the session; one begins with a slash, as in "/history"`);
    return (await this.#send("GET", suffix, { query: "" })).body;
  }

  /** Ends the session, for every device. */
  async end(): Promise<void> {
    try { await this.#send("DELETE", "", { query: "" }); } catch (error) { if (!this.ended) throw error; }
    this.#end("session-ended");
  }

  /**
   * Draws every change, whoever made it, until the session is over or `signal` is aborted. After a cut it connects
   * again, at growing intervals with a random part. A hidden page does not: a browser has only six connections to a
   * server.
   */
  async follow(signal?: AbortSignal): Promise<void> {
    const isOver = () => this.ended !== undefined || signal?.aborted === true;
    for (let failures = 0; !isOver();) {
      await untilShown(signal);
      const { token } = this;
      let problem: Problem | undefined, reason: EndReason | undefined, status = 0;
      const isHeard = () => { failures = 0; this.#settleOpen(); };
      try {
        reason = await (this.#polls ? this.#poll(isHeard, signal) : this.#stream(isHeard, signal));
      } catch (error) {
        if (error instanceof Problem) { problem = error; reason = endOf(error); }
        if (error instanceof Problem || error instanceof ForeignAnswer) status = error.status;
      }
      if (isOver()) return;
      if (reason !== undefined && ["token-replaced", "unauthorized"].includes(reason)) {
        if (await this.#hasReplaced(token, signal) || await this.#renew(token)) continue;
        if (isOver()) return;
      }
      if (reason !== undefined) return this.#end(reason, problem);
      const longest = Math.min(this.#retry * 2 ** failures++ / 1000, 15), seconds = longest * (0.5 + Math.random() / 2);
      const report = (waiting: Waiting) => tell(this.#options.onConnection, false, { ...waiting, problem });
      if (!isHidden()) await pause(problem?.retryAfter ?? seconds, status, report, signal);
    }
  }

  /** Carries an event out after those that were posted before. Its deadline counts from now. */
  #inTurn(key: string, body: EventBody, options: PostOptions): Promise<Outcome> {
    const { deadline = this.#options.deadline ?? 30, wait = 0 } = options, until = Date.now() + 1000 * (deadline + wait);
    this.#posting++;
    const done = this.#posted.then(() => this.#carryOut(key, body, options, until)).finally(() => {
      this.#posting--;
      // The answer changed nothing, or there was none.
      if (this.#posting === 0 && this.#drawn !== this.#state && this.#state) this.#show(this.#state);
    });
    this.#posted = done.catch(() => {});
    return done;
  }

  async #carryOut(key: string, body: EventBody, options: PostOptions, until: number): Promise<Outcome> {
    const { version, wait, signal } = options;
    const headers: Record<string, string> = version === undefined ? {} : { "If-Match": `"${version}"` };
    await this.#settleLate(until, signal);
    if (this.ended) return { kind: "ended", reason: this.ended };
    const isLate = Date.now() >= until || signal?.aborted || this.#saved.tap !== undefined;
    if (isLate) return { kind: "withdrawn", key, outcome: "not-carried-out" }; // It was never sent.
    await this.#save({ tap: key });
    try {
      const sent = { key, body, headers, wait, until, signal, isAnswer: isState };
      const answer = await this.#send<Received>("POST", "/events", sent);
      await this.#settled(answer);
      return { kind: "accepted", state: this.state, ...answer.body.pairing && { pairing: answer.body.pairing } };
    } catch (error) {
      if (this.#replaced.signal.aborted) return { kind: "ended", reason: "replaced" };
      if (error instanceof Undecided) return { kind: "withdrawn", key, outcome: await this.#settle(Date.now() + 5000) };
      if (!(error instanceof Problem)) throw error;
      await this.#save({ tap: undefined });
      return this.#refusal(error, () => this.#inTurn(key, body, options));
    }
  }

  async #refusal(problem: Problem, repeat: () => Promise<Outcome>): Promise<Outcome> {
    if (this.ended) return { kind: "ended", reason: this.ended };
    const { status, kind, body } = problem;
    if (kind === "answer-forgotten") { await this.#read(); return { kind: "accepted", state: this.state }; }
    if (status === 422) return { kind: "invalid", faults: body.errors ?? [], problem };
    if (!body.state) return { kind: "failed", problem };
    await (this.#hasControls(body.state) ? this.#accept(body.state) : this.#read());
    const { state } = this;
    return kind === "answer-first" ? { kind, state, problem, repeat }
      : { kind: status === 412 ? "changed" : "stale", state, problem };
  }

  /** There is a connection: settles the event whose outcome is still open, after those that are under way. */
  #settleOpen(): void {
    if (this.#saved.tap === undefined) return;
    this.#posted = this.#posted.then(() => this.#settleLate(Date.now() + 5000)).catch(() => {}); // Asked again later.
  }

  /** Settles the event whose outcome was `unknown`, if there is one, and says what has become of it. */
  async #settleLate(until: number, signal?: AbortSignal): Promise<void> {
    const { tap } = this.#saved;
    if (tap === undefined || this.ended) return;
    const outcome = await this.#settle(until, signal);
    if (this.#saved.tap === undefined && !this.ended) tell(this.#options.onSettled, outcome, tap);
  }

  /** Withdraws the event whose outcome is open, so that it is not carried out later, and learns what became of it. */
  async #settle(until: number, signal?: AbortSignal): Promise<SettledOutcome> {
    try {
      const asked = { query: "", until, signal, isAnswer: isState };
      const answer = await this.#send<Received>("DELETE", `/outcomes/${this.#saved.tap}`, asked);
      if (answer.status === 200) await this.#settled(answer); else await this.#save({ tap: undefined });
      return answer.status === 200 ? "carried-out" : "not-carried-out";
    } catch (error) {
      if (error instanceof Undecided) return "unknown";
      if (!(error instanceof Problem)) throw error;
      if (error.isTemporary) return "unknown";
      await this.#save({ tap: undefined });
      if (error.kind !== "answer-forgotten") return "unknown";
      await this.#read();
      return "carried-out";
    }
  }

  /** Takes the answer to an event, which may be older than the session by now. */
  async #settled(answer: Answer<Received>): Promise<void> {
    this.#saved = { ...this.#saved, tap: undefined };
    const { version } = answer.body.session, newest = Number(answer.headers.get("Session-Version"));
    const isOld = Math.max(newest, this.#state?.session.version ?? 0) > version;
    await this.#accept(answer.body, tagOf(answer), true);
    if (isOld || !this.#hasControls(answer.body)) await this.#read();
  }

  /** Keeps a state, unless it is older than the one that is there. A new token is saved before the state is drawn. */
  async #accept({ token, pairing, ...state }: Received, tag = `"${state.session.version}"`, isTap = false) {
    const isNew = token !== undefined && token !== this.#saved.token;
    if (isNew || isTap) await this.#save({ token: token ?? this.#saved.token });
    if (isNew) tell(this.#options.onToken, token, this.id);
    const { version } = state.session, known = this.#state?.session.version ?? 0;
    // The same version has another tag while another build of the server shows it.
    const isSame = version === known && tag === this.#tag && (this.#state?.controls || !state.controls);
    if (version < known || isSame || !this.#hasControls(state)) return;
    this.#state = state;
    this.#tag = tag;
    const { events, controls, back, visible, alert } = state, keys = new Set(screensOf(state).map(({ key }) => key));
    if (!alert) this.#known.set(visible.key, { events, ...controls && { controls }, ...back && { back } });
    for (const kept of [this.#known, this.#contents]) {
      for (const key of kept.keys()) if (!keys.has(key)) kept.delete(key);
    }
    this.#show(state);
  }

  #hasControls({ controls }: NavigationState): boolean {
    return this.#options.controls === false || controls !== undefined;
  }

  #show(state: NavigationState): void {
    if (this.#replaced.signal.aborted) return;
    this.#drawn = state;
    tell(this.#options.onState, state);
  }

  /** What the storage has. A text that is no JSON would be none at the next start either. */
  async #load(): Promise<SavedSession> {
    try { return await this.#options.storage?.load() ?? {}; } catch (error) {
      if (!(error instanceof SyntaxError)) this.#isRefused(error);
      return {};
    }
  }

  #save(change: Partial<SavedSession>): Promise<void> {
    this.#saved = { ...this.#saved, ...change };
    const { storage } = this.#options;
    if (!storage) return Promise.resolve();
    const saving = (savings.get(storage) ?? Promise.resolve()).then(async () => {
      if (this.#replaced.signal.aborted) return;
      const { id, opening } = this.#saved, isEmpty = id === undefined && opening === undefined;
      await storage.save(isEmpty ? undefined : this.#saved);
      this.#isUnsaved = false;
    }).catch(error => this.#isRefused(error));
    savings.set(storage, saving);
    return saving;
  }

  /** The storage refuses: the session goes on without it. */
  #isRefused(error: unknown): void {
    if (!this.#isUnsaved) tell(this.#options.onUnsaved, error);
    this.#isUnsaved = true;
  }

  #url(suffix: string, query = (this.#options.controls ?? true) ? "?include=controls" : "", path = this.#path): string {
    return `${this.#options.server.replace(/\/+$/, "")}/${path}${suffix}${query}`;
  }

  get #path(): string { return `${this.#options.path ?? "v1/sessions"}/${this.id}`; }

  /** Sends a request with the token: with the new one if it was replaced, and says so if the session is over. */
  async #send<Body>(
    method: string, suffix: string, { query, ...more }: RequestOptions & { query?: string },
  ): Promise<Answer<Body>> {
    const { token } = this, { onWaiting } = this.#options, key = more.key ?? randomKey();
    const stop = stopper(2e6, more.signal), { signal } = stop; // As long as it takes.
    this.#replaced.signal.addEventListener("abort", stop.abort);
    if (this.#replaced.signal.aborted) stop.abort();
    try {
      return await request<Body>(this.#url(suffix, query), { method, token, key, onWaiting, ...more, signal });
    } catch (error) {
      const isRefused = error instanceof Problem && error.status === 401, { tap } = this.#saved;
      const isOfTap = tap === undefined || key === tap || suffix === `/outcomes/${tap}`;
      const isReplaced = async () =>
        this.token !== token || !isOfTap && await this.#hasReplaced(token, more.signal) || this.#renew(token);
      if (isRefused && await isReplaced()) return this.#send(method, suffix, { query, ...more, key });
      // Unless the caller has stopped waiting for what became of an event: that may have replaced the token.
      const isUnclear = isRefused && !isOfTap && this.#saved.tap !== undefined;
      if (error instanceof Problem && !isUnclear) this.#end(endOf(error), error);
      throw error;
    } finally {
      stop.clear();
      this.#replaced.signal.removeEventListener("abort", stop.abort);
    }
  }

  /** Whether an event of this client has put another token in the place of this one. Waits until that is known. */
  async #hasReplaced(stale: string, signal?: AbortSignal): Promise<boolean> {
    await this.#posted; // Its answer may have the new token.
    while (this.token === stale && this.#saved.tap !== undefined && !this.ended && !signal?.aborted) {
      this.#settleOpen();
      await this.#posted;
      if (this.#saved.tap !== undefined) await pause(1, 0, () => {}, signal);
    }
    return this.token !== stale;
  }

  /** Whether another holder of the storage has a token in the place of this one. */
  async #renew(stale: string): Promise<boolean> {
    const token = await this.#options.storage?.renewed?.(this.id, stale);
    if (token === undefined) return false;
    this.#saved = { ...this.#saved, token };
    tell(this.#options.onToken, token, this.id);
    return true;
  }

  #end(reason?: EndReason, problem?: Problem): void {
    if (this.ended || !reason) return;
    this.ended = reason;
    this.#over.abort();
    tell(this.#options.onEnd, reason, problem);
  }

  /** Reads one stream to its end, and returns the reason if the server gave one. It is heard at least every 20 s. */
  async #stream(isHeard: () => void, signal?: AbortSignal): Promise<EndReason | undefined> {
    const stop = this.#stopper(45, signal), first = setTimeout(() => { this.#polls = true; stop.abort(); }, 10_000);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream", Authorization: `Bearer ${this.token}` };
      if (this.#tag) headers["Last-Event-ID"] = this.#tag;
      const response = await fetch(this.#url("/updates"), { headers, cache: "no-store", signal: stop.signal });
      const { status, headers: fields, body } = response;
      if (!response.ok || !body) throw problemOf(status, fields, await bodyOf(response));
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) return undefined;
        clearTimeout(first);
        stop.restart();
        this.#settleOpen();
        const messages = (text + value).split("\n\n");
        text = messages.pop() ?? "";
        for (const { event, data, id, retry } of messages.map(fieldsOf)) {
          if (retry) { this.#retry = Number(retry); isHeard(); tell(this.#options.onConnection, true); }
          if (event === "end") return endNamed((JSON.parse(data) as { reason: string }).reason);
          if (event === "state") await this.#accept(parse(data) as Received, id);
        }
      }
    } finally { clearTimeout(first); stop.clear(); stop.abort(); }
  }

  /** Asks for one change after the other. The first answer comes at once, and shows that there is a connection. */
  async #poll(isHeard: () => void, signal?: AbortSignal): Promise<undefined> {
    for (let wait = 0; !signal?.aborted && !this.ended && !isHidden(); wait = 30) {
      const stop = this.#stopper(30 + wait, signal);
      try {
        const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
        if (this.#tag) headers["If-None-Match"] = this.#tag;
        if (wait > 0) headers.Prefer = `wait=${wait}`;
        const answer = await exchange<Received>(this.#url(""), { headers, signal: stop.signal }, isState);
        if (wait === 0) { isHeard(); tell(this.#options.onConnection, true); } else this.#settleOpen();
        if (answer.status === 200) await this.#accept(answer.body, tagOf(answer));
        await pause(Number(answer.headers.get("Retry-After") ?? 0), 0, undefined, signal);
      } finally { stop.clear(); }
    }
    return undefined;
  }

  /** Ends a request after so many seconds, with the signal, with the session, and when the page is hidden. */
  #stopper(seconds: number, signal?: AbortSignal) {
    const stop = stopper(seconds, signal), until = { signal: stop.signal };
    this.#over.signal.addEventListener("abort", stop.abort, until);
    globalThis.document?.addEventListener("visibilitychange", () => { if (isHidden()) stop.abort(); }, until);
    return stop;
  }
}

/** Why the session is over, if a problem says that it is. */
function endOf({ kind, status }: Problem): EndReason | undefined {
  return endReasons.find(reason => reason === kind)
    ?? (status === 401 ? "unauthorized" : status === 410 ? "session-ended" : undefined);
}

/** The reason that a stream gives: `ended`, `expired`, `token-replaced` or `token-revoked`. */
const endNamed = (name: string): EndReason =>
  endReasons.find(reason => reason === name || reason === `session-${name}`) ?? "session-ended";

const tagOf = ({ headers, body }: Answer): string =>
  headers.get("ETag") ?? `"${(body as Received | undefined)?.session?.version ?? ""}"`;

/** The fields of a message: `event`, `data`, `id`, `retry`. A comment, which shows that the server lives, has none. */
const fieldsOf = (message: string): Record<string, string> => Object.fromEntries(message.split("\n")
  .map(line => /^(\w+): ?(.*)$/.exec(line)).flatMap(found => found ? [[found[1], found[2]]] : []));

const isHidden = (): boolean => globalThis.document?.visibilityState === "hidden";

async function untilShown(signal?: AbortSignal): Promise<void> {
  while (isHidden() && !signal?.aborted) {
    await new Promise<unknown>(seen => {
      document.addEventListener("visibilitychange", seen, { once: true });
      signal?.addEventListener("abort", seen, { once: true });
    });
  }
}
