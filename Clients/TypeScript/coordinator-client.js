// The client library of coordinatord, version 0.1.0, for version 1 of its API. Made of Clients/TypeScript/src.
const cryptography = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has no global one.
/** The prefix of strings that stand for an `ExactNumber` while JSON's own functions read or write the text. */
const mark = `${cryptography.getRandomValues(new Uint32Array(4)).join("-")} `;
const jsonToken = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g, longDigits = /\d[\d.]{15}/;
/** At least 16 random characters: a key for an event, or any other name that nobody can guess. */
const randomKey = () => cryptography.getRandomValues(new Uint32Array(4)).join("-");
/**
 * A number with more digits than JavaScript's own have, as the server wrote it: an id beyond 2⁵³, a price of 20 digits.
 * It is drawn and posted with all of them; `BigInt(number.text)` calculates with an integer.
 */
class ExactNumber {
    /** The number, as it stands in the JSON text. */
    text;
    constructor(text) {
        this.text = text;
        Object.freeze(this);
    }
    toString() { return this.text; }
    toJSON() {
        const { rawJSON } = JSON;
        return rawJSON?.(this.text) ?? mark + this.text;
    }
}
/** Whether JavaScript's own number has every digit of a JSON text. */
const isKept = (text) => text.split(/e/i)[0].replace(/[-.]/g, "").replace(/^0+/, "").length < 16 || String(Number(text)) === text;
/** `JSON.parse`, with an `ExactNumber` for each number that JavaScript would change. */
function parse(text) {
    if (!longDigits.test(text))
        return JSON.parse(text);
    const marked = text.replace(jsonToken, part => part[0] === '"' || isKept(part) ? part : `"${mark}${part}"`);
    return JSON.parse(marked, (_, value) => typeof value === "string" && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value);
}
/** `JSON.stringify`, also where that cannot write an `ExactNumber` (`JSON.rawJSON`). */
function stringify(value) {
    return JSON.stringify(value)?.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1");
}

/** Every screen of a state, also those that are covered or in other tabs. */
function screensOf(state) {
    const within = (screen) => [screen, ...(screen.tabs?.items ?? []).flatMap(({ stack }) => stack.flatMap(within))];
    return [state.stack, ...(state.presented ?? []).map(({ stack }) => stack)].flat().flatMap(within);
}

/**
 * What the server will most likely answer to `back`, `selectTab` or `dismiss`, from the state alone; undefined where it
 * cannot be known: if the app asks before the screen is left, forbids it, or shows an alert. A prediction has no
 * `controls`, `events` and `back` of its own.
 */
function predict(state, event) {
    if (state.alert || state.back?.asks || !state.events.includes(event.type))
        return undefined;
    const payload = (event.payload ?? {});
    switch (event.type) {
        case "back": return state.back && goBack(state, state.back);
        case "selectTab": return selectTab(state, payload);
        case "dismiss": {
            const flows = state.presented ?? [], { key } = payload;
            const position = key === undefined ? flows.length - 1 : flows.findIndex(flow => flow.key === key);
            return position < 0 ? undefined : dismiss(state, position);
        }
        default: return undefined;
    }
}
function goBack(state, back) {
    if (back.effect === "dismissAlert")
        return undefined;
    const predicted = back.effect === "pop" ? change(state, "back", pop)
        : back.effect === "dismiss" ? dismiss(state, (state.presented ?? []).length - 1, "back")
            : change(state, "back", stack => select(stack, ({ stack }) => visibleIn(stack).key === back.to));
    return predicted?.visible.key === back.to ? predicted : undefined;
}
/** Selects a tab; the one that is selected already is popped to its first screen. */
function selectTab(state, { tab, index }) {
    return change(state, "selectTab", stack => {
        const { tabs } = stack[stack.length - 1], item = tabs?.items.find(({ id }, at) => id === tab || at === index);
        if (!tabs || !item)
            return undefined;
        if (item.id !== tabs.selected)
            return select(stack, other => other === item);
        // Without `back` the screen must not be left; the outer tabs, which may have the same id, do not count.
        if (item.stack.length < 2 || !state.back)
            return { stack, operations: [] };
        const operations = item.stack.slice(1).reverse().map(({ key }) => ({ op: "pop", key }));
        return { stack: withTab(stack, { ...item, stack: item.stack.slice(0, 1) }), operations };
    });
}
function dismiss(state, position, event = "dismiss") {
    const flows = state.presented ?? [], gone = flows.slice(position);
    if (gone.some(({ isDismissable, asks }) => isDismissable === false || asks))
        return undefined;
    const operations = [...gone].reverse().map(({ key }) => ({ op: "dismiss", key }));
    return predicted(state, event, state.stack, flows.slice(0, position), operations);
}
const pop = (stack) => stack.length < 2 ? undefined
    : { stack: stack.slice(0, -1), operations: [{ op: "pop", key: stack[stack.length - 1].key }] };
/** Selects another tab of the top screen, if it has one like that. */
function select(stack, isLike) {
    const top = stack[stack.length - 1], { tabs } = top;
    const tab = tabs?.items.find(item => item.id !== tabs.selected && isLike(item));
    if (!tabs || !tab)
        return undefined;
    const selected = { ...top, tabs: { ...tabs, selected: tab.id } };
    return { stack: [...stack.slice(0, -1), selected], operations: [{ op: "selectTab", key: top.key, tab: tab.id }] };
}
/** Makes the change in the innermost stack in front where it is possible. */
function change(state, event, make) {
    const inInnermost = (stack) => {
        const { tabs } = stack[stack.length - 1], tab = tabs?.items.find(({ id }) => id === tabs.selected);
        const inner = tab && inInnermost(tab.stack);
        return inner && tab ? { ...inner, stack: withTab(stack, { ...tab, stack: inner.stack }) } : make(stack);
    };
    const flows = state.presented ?? [], flow = flows[flows.length - 1];
    const made = inInnermost(flow?.stack ?? state.stack);
    if (!made || made.operations.length === 0)
        return undefined;
    if (!flow)
        return predicted(state, event, made.stack, flows, made.operations);
    return predicted(state, event, state.stack, [...flows.slice(0, -1), { ...flow, stack: made.stack }], made.operations);
}
/** The stack with another content of a tab of its top screen. */
function withTab(stack, tab) {
    const top = stack[stack.length - 1];
    if (!top.tabs)
        return stack;
    const items = top.tabs.items.map(item => item.id === tab.id ? tab : item);
    return [...stack.slice(0, -1), { ...top, tabs: { ...top.tabs, items } }];
}
/** The screen that the user sees if this is the stack in front. */
function visibleIn(stack) {
    const top = stack[stack.length - 1], tab = top.tabs?.items.find(({ id }) => id === top.tabs?.selected);
    return tab ? visibleIn(tab.stack) : top;
}
function predicted({ back, controls, presented, ...state }, event, stack, flows, operations) {
    const transition = { event, cause: "event", operations, finished: [], dismissed: [] };
    const visible = visibleIn(flows[flows.length - 1]?.stack ?? stack);
    return { ...state, stack, ...flows.length > 0 && { presented: flows }, visible, events: [], transition,
        isPredicted: true };
}

const prefix = "urn:coordinatord:problem:";
/** Why the server has not carried out a request. It is the server's own answer: errors of gateways are none. */
class Problem extends Error {
    /** The HTTP status. */
    status;
    /** The last part of the problem's type, such as `stale-screen`; docs/problems.md lists them. */
    kind;
    body;
    /** For the user: the app's own words, if it has some in the user's language, otherwise the title, which is English. */
    words;
    /** In how many seconds to try again. */
    retryAfter;
    constructor(status, headers, body) {
        super([body.title ?? `The server answered with ${status}`, body.detail].filter(Boolean).join(": "));
        this.name = "Problem";
        this.status = status;
        this.kind = body.type.slice(prefix.length);
        this.body = body;
        const isTranslated = !(headers.get("Content-Language") ?? "en").startsWith("en"); // The first is the detail's.
        this.words = isTranslated && body.detail || body.title || this.message;
        this.retryAfter = Number(headers.get("Retry-After")) || undefined;
    }
    /** Whether the same request may succeed a little later. */
    get isTemporary() { return this.status === 429 || this.status === 503 && this.kind !== "session-damaged"; }
}
/** A request was given up, at its deadline or by its signal, before an answer said what has happened. */
class Undecided extends Error {
    constructor() {
        super("It is not known whether the server has carried out the request.");
        this.name = "Undecided";
    }
}
/** An answer that is not the server's: of a gateway, a hotel's sign-in page, or another server at a wrong address. */
class ForeignAnswer extends Error {
    status;
    constructor(status) {
        super(`something else than the server answered with ${status}`);
        this.status = status;
    }
}
/** Sends a request once. Throws a `Problem`; whatever else it throws leaves the outcome open. */
async function exchange(url, init, isAnswer) {
    const response = await fetch(url, { ...init, cache: "no-store" }), { status, headers } = response;
    const body = status === 204 || status === 304 ? undefined : await bodyOf(response);
    if (!response.ok && status !== 304)
        throw problemOf(status, headers, body);
    if (response.ok && body !== undefined && isAnswer?.(body) === false)
        throw new ForeignAnswer(status);
    return { status, headers, body: body };
}
/** The body of an answer, which is JSON if it is the server's. */
async function bodyOf(response) {
    const text = await response.text();
    try {
        return parse(text);
    }
    catch {
        throw new ForeignAnswer(response.status);
    }
}
/** The problem of an answer; or, if that is not the server's own, an error that says so. */
function problemOf(status, headers, body) {
    const isOwn = String(body?.type).startsWith(prefix);
    return isOwn ? new Problem(status, headers, body) : new ForeignAnswer(status);
}
/**
 * Sends a request until an answer says what happened. After a lost answer, or one that says “later”, it repeats the
 * request with the same key: the server carries it out once. Throws a `Problem`, or `Undecided` if it was given up. An
 * attempt may take five seconds, the next one ten, then twenty: a connection that has died says nothing, and the next
 * attempt may find one that lives.
 */
async function request(url, options = {}) {
    const { method = "GET", token, body, key = randomKey(), wait = 0, until = Infinity } = options;
    const { signal, onWaiting, isAnswer } = options;
    const headers = { ...options.headers };
    if (token !== undefined)
        headers.Authorization = `Bearer ${token}`;
    if (wait > 0)
        headers.Prefer = `wait=${wait}`;
    if (body !== undefined)
        Object.assign(headers, { "Idempotency-Key": key, "Content-Type": "application/json" });
    const init = { method, headers, ...body !== undefined && { body: stringify(body) } };
    new URL(url, globalThis.location?.href); // A mistake, which must not be repeated.
    let isOpen = false, isSaid = false;
    for (let attempt = 1;; attempt++) {
        let seconds = Math.min(2 ** attempt / 4, 5) * (0.5 + Math.random() / 2), status = 0, problem;
        const limit = Math.min(Math.min(5 * 2 ** (attempt - 1), 30) + wait, (until - Date.now()) / 1000);
        const stop = stopper(limit, signal), { abort: retry } = stop;
        const silence = setTimeout(() => {
            isSaid = true;
            tell(onWaiting, { status: 0, seconds: limit - 3 - wait, retry });
        }, 1000 * (3 + wait));
        try {
            const answer = await exchange(url, { ...init, signal: stop.signal }, isAnswer);
            if (isSaid)
                tell(onWaiting);
            return answer;
        }
        catch (error) {
            if (!(error instanceof Problem) || error.kind === "unknown")
                isOpen = true;
            if (error instanceof Problem || error instanceof ForeignAnswer)
                status = error.status;
            if (error instanceof Problem) {
                problem = error;
                seconds = problem.retryAfter ?? seconds;
                // What an earlier sending has led to, only a later one can say.
                const isRepeated = problem.isTemporary ? isOpen || attempt < 4 || until < Infinity
                    : problem.status === 504 && attempt < 2;
                if (!isRepeated) {
                    tell(onWaiting);
                    throw problem;
                }
            }
        }
        finally {
            stop.clear();
            clearTimeout(silence);
        }
        if (!signal?.aborted && Date.now() < until) {
            isSaid = true;
            await pause(Math.min(seconds, (until - Date.now()) / 1000), status, onWaiting, signal);
        }
        if (!signal?.aborted && Date.now() < until)
            continue;
        tell(onWaiting);
        throw isOpen || !problem ? new Undecided() : problem;
    }
}
/**
 * Calls a function of the app. What it throws is the app's mistake, and no fault of the request or the connection: it is
 * reported as an exception that nobody has caught, and changes nothing here.
 */
function tell(callback, ...given) {
    try {
        callback?.(...given);
    }
    catch (error) {
        if (typeof reportError === "function")
            reportError(error);
        else
            queueMicrotask(() => { throw error; });
    }
}
/** A signal that aborts after so many seconds, or with another signal. */
function stopper(seconds, signal) {
    const controller = new AbortController(), abort = () => controller.abort();
    let timer = setTimeout(abort, 1000 * Math.max(seconds, 0));
    if (signal?.aborted)
        abort();
    signal?.addEventListener("abort", abort);
    return {
        signal: controller.signal, abort,
        /** Begins to count anew. */
        restart() { clearTimeout(timer); timer = setTimeout(abort, 1000 * seconds); },
        clear() { clearTimeout(timer); signal?.removeEventListener("abort", abort); },
    };
}
/** Waits, and says so; `retry()` ends the pause early, and so does a browser that is online again. */
function pause(seconds, status, onWaiting, signal) {
    return new Promise(resolve => {
        const end = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
            globalThis.removeEventListener?.("online", end);
            resolve();
        };
        const timer = setTimeout(end, 1000 * seconds);
        signal?.addEventListener("abort", end);
        globalThis.addEventListener?.("online", end);
        tell(onWaiting, { status, seconds, retry: end });
    });
}

/**
 * Keeps a session in a tab of a browser, in its `sessionStorage`: it outlives reloads, and ends with the tab.
 *
 * A tab that the user duplicates has a copy of it. The copy is a second view of the same session, with the same token;
 * the event that is open belongs to the original, and the copy does not ask for it. Each tab holds a lock (Web Locks) by
 * which a copy learns that it is one. When a sign-in in one of them replaces the token, it tells the others
 * (`BroadcastChannel`).
 */
class TabStorage {
    #name;
    #tab;
    #channel;
    #past = new Set();
    #listeners = new Set();
    /** `name` distinguishes the sessions that a tab keeps, for example by server and app: one object for each. */
    constructor(name = "coordinatord") {
        this.#name = name;
        if (typeof BroadcastChannel === "undefined")
            return;
        this.#channel = new BroadcastChannel(name);
        this.#channel.onmessage = ({ data }) => this.#hear(data);
    }
    async load() {
        const found = this.#read();
        if (!found)
            return undefined;
        const { tab, ...saved } = found;
        const own = await (this.#tab ??= ownTab(tab));
        if (tab === undefined || tab === own)
            return saved;
        const { tap, opening, ...shared } = saved;
        const isOpen = shared.id !== undefined;
        if (isOpen)
            this.#write({ ...shared, tab: own });
        else
            sessionStorage.removeItem(this.#name);
        return isOpen ? shared : undefined;
    }
    async save(saved) {
        const before = this.#read(), tab = await (this.#tab ??= ownTab(before?.tab));
        if (!saved)
            return sessionStorage.removeItem(this.#name);
        this.#write({ ...saved, tab });
        const isReplaced = saved.id !== undefined && saved.id === before?.id && saved.token !== before.token;
        if (isReplaced)
            this.#tell(saved.id, before.token);
    }
    async renewed(id, stale) {
        const found = () => {
            const saved = this.#read();
            return saved?.id === id && saved.token !== stale ? saved.token : undefined;
        };
        if (found() || !this.#channel)
            return found();
        this.#channel.postMessage({ id, from: stale });
        return new Promise(resolve => {
            const listener = () => { clearTimeout(timer); this.#listeners.delete(listener); resolve(found()); };
            const timer = setTimeout(listener, 1000);
            this.#listeners.add(listener);
        });
    }
    /** Another tab has a new token, or asks for it. */
    #hear({ id, from, to }) {
        const saved = this.#read();
        if (saved?.id !== id)
            return;
        if (to === undefined && this.#past.has(from))
            this.#tell(id, from);
        if (to === undefined || saved.token !== from)
            return;
        this.#past.add(from);
        this.#write({ ...saved, token: to });
        this.#listeners.forEach(listener => listener());
    }
    #tell(id, from = "") {
        this.#past.add(from);
        this.#channel?.postMessage({ id, from, to: this.#read()?.token });
    }
    #write(saved) {
        sessionStorage.setItem(this.#name, stringify(saved));
    }
    #read() {
        try {
            return parse(sessionStorage.getItem(this.#name) ?? "null") ?? undefined;
        }
        catch {
            return undefined;
        } // It is not ours: it is written over.
    }
}
/**
 * The name of this tab: the one that its storage has, unless another tab has it, of which this one is then a copy. A page
 * that is being reloaded needs a moment to give its lock back.
 */
async function ownTab(saved) {
    const hold = (tab, options) => new Promise(resolve => {
        const keep = () => { resolve(true); return new Promise(() => { }); };
        navigator.locks.request(`coordinatord ${tab}`, options, keep).catch(() => resolve(false));
    });
    if (!globalThis.navigator?.locks)
        return randomKey(); // Without TLS there are none: each page is taken for a copy.
    if (saved !== undefined && await hold(saved, { signal: stopper(0.5).signal }))
        return saved;
    const tab = randomKey();
    await hold(tab, {});
    return tab;
}
/**
 * Keeps a session in a file, in Node, for one process at a time. Only its owner may read it; a write is whole or not
 * there.
 */
class FileStorage {
    #path;
    constructor(path) { this.#path = path; }
    async load() {
        const { readFile } = await import("node:fs/promises");
        try {
            return parse(await readFile(this.#path, "utf8"));
        }
        catch (error) {
            if (error.code === "ENOENT")
                return undefined;
            throw error;
        }
    }
    async save(saved) {
        const { open, rename, rm } = await import("node:fs/promises");
        if (!saved)
            return rm(this.#path, { force: true });
        const file = await open(`${this.#path}.new`, "w", 0o600);
        try {
            await file.writeFile(stringify(saved));
            await file.sync();
        }
        finally {
            await file.close();
        }
        await rename(`${this.#path}.new`, this.#path);
    }
}

const endReasons = ["session-ended", "session-expired", "token-replaced", "token-revoked", "unauthorized",
    "session-incompatible", "session-damaged"];
/** The session that each storage keeps, and the writing that is under way there. */
const holders = new WeakMap();
const savings = new WeakMap();
const isState = (body) => typeof body?.session?.version === "number";
/** A session: its newest state, the events that are posted to it, and the stream of its changes. */
class NavigationSession {
    /** What has become of the event that was under way when the app ended, if there was one: set by `resume`. */
    interrupted;
    /** Why the session is over for this client, if it is. */
    ended;
    #options;
    #saved;
    #isUnsaved = false;
    /** Another session has taken its place: what is still under way for it ends, and neither draws nor saves. */
    #replaced = new AbortController();
    #state;
    #drawn;
    #tag = "";
    #known = new Map();
    #posted = Promise.resolve();
    #posting = 0;
    #over = new AbortController();
    #retry = 1000;
    #polls;
    #contents = new Map();
    /** A session that is already open, by `id` and `token`; `read` fetches its state. */
    constructor(options) {
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
    static async resume(options) {
        const kept = await NavigationSession.#kept(options), { opening } = kept.#saved;
        if (opening) {
            try {
                return await kept.#replace(opening, options);
            }
            catch (error) {
                if (!(error instanceof Problem))
                    throw error;
            }
        }
        const { id, token, tap } = kept.#saved, session = new NavigationSession(options);
        if (id === undefined || token === undefined)
            return undefined;
        kept.#giveWay(session);
        session.#saved = kept.#saved;
        if (tap !== undefined)
            session.interrupted = await session.#settle(Date.now() + 10000, options.signal);
        await session.#read(options.signal);
        if (session.ended)
            return undefined;
        session.#settleOpen();
        return session;
    }
    /**
     * Opens a session, in place of the one in the storage, which stays until then. Throws a `Problem`, such as
     * `unknown-app`.
     */
    static async start(launch, options) {
        const { path = "v1/sessions", token } = options;
        return (await NavigationSession.#kept(options)).#replace({ path, key: randomKey(), body: launch, token }, options);
    }
    /**
     * Joins the session of another device with the code that it shows, in place of the one in the storage, which stays until
     * then. Throws a `Problem`, such as `unknown-code`.
     */
    static async pair(code, options, device = {}) {
        const opening = { path: "v1/pairings", key: randomKey(), body: { code, ...device } };
        return (await NavigationSession.#kept(options)).#replace(opening, options);
    }
    /** The session that the storage has: the object that holds it, or what an earlier start of the app has left. */
    static async #kept(options) {
        const { storage } = options, session = new NavigationSession({ ...options, id: undefined, token: undefined });
        const holder = () => storage && holders.get(storage);
        if (!holder())
            session.#saved = await session.#load();
        const kept = holder() ?? session;
        if (storage)
            holders.set(storage, kept);
        return kept;
    }
    /** Opens another session. This one stays, also for the object that holds it, until the other one is there. */
    async #replace(opening, options) {
        const session = new NavigationSession({ ...options, id: undefined, token: undefined }), { path, ...what } = opening;
        const { storage, onWaiting, signal } = options, holder = () => storage && holders.get(storage) || this;
        await holder().#save({ opening });
        try {
            const url = session.#url("", undefined, path);
            const answer = await request(url, { method: "POST", ...what, isAnswer: isState, onWaiting, signal });
            holder().#giveWay(session);
            session.#saved = { id: answer.body.session.id }; // The token follows.
            await session.#accept(answer.body, tagOf(answer));
            if (Number(answer.headers.get("Session-Version")) > answer.body.session.version)
                await session.#read(signal);
        }
        catch (error) {
            // Where there is no session, `resume` goes on with what was not decided.
            const { id, opening: kept } = holder().#saved, isOver = !(error instanceof Undecided) || id !== undefined;
            if (isOver && kept?.key === opening.key)
                await holder().#save({ opening: undefined });
            throw error;
        }
        return session;
    }
    #giveWay(next) {
        const { storage } = next.#options;
        if (storage)
            holders.set(storage, next);
        next.#isUnsaved = this.#isUnsaved;
        this.ended ??= "replaced";
        this.#replaced.abort();
        this.#over.abort();
    }
    get id() { return this.#saved.id ?? ""; }
    get token() { return this.#saved.token ?? ""; }
    /** What is drawn: the newest state, or what is predicted to follow. It is there once the session is open or read. */
    get state() {
        if (!this.#drawn)
            throw new Error("the session was not read yet");
        return this.#drawn;
    }
    /** Reads the state as it is now, for example when the app comes to the front. */
    async read() {
        await this.#read();
        this.#settleOpen();
    }
    async #read(signal) {
        try {
            const answer = await this.#send("GET", "", { isAnswer: isState, signal });
            await this.#accept(answer.body, tagOf(answer));
        }
        catch (error) {
            if (!this.ended)
                throw error;
        }
    }
    /**
     * Posts an event, after those that were posted before, and says what has become of it. It has a key of its own, which
     * is saved first, and is repeated under it until the outcome is known or the deadline has passed.
     */
    post(event, options = {}) {
        const { type, payload } = event, key = randomKey();
        const body = { type, payload, screen: options.screen ?? this.#drawn?.alert?.key ?? this.#drawn?.visible.key };
        const isFree = this.#options.predicts && this.#posting === 0 && !this.ended;
        const predicted = isFree && this.#state && predict(this.#state, event);
        if (predicted)
            this.#show({ ...predicted, ...this.#known.get(predicted.visible.key) });
        return this.#inTurn(key, body, options);
    }
    /** Does what `state.back` says. */
    back() { return this.post({ type: "back" }); }
    /** Selects a tab; the one that is selected already goes back to its first screen. */
    selectTab(tab) { return this.post({ type: "selectTab", payload: { tab } }); }
    /** Dismisses the flow in front, or the one of that key with all above it. */
    dismiss(key) {
        return this.post({ type: "dismiss", payload: key === undefined ? undefined : { key } });
    }
    /** Presses a button of the alert that is drawn. */
    answer(button) {
        return this.post({ type: "answer", payload: { button, alert: this.#drawn?.alert?.key } });
    }
    /** Opens a link, as the system hands it over. Behind an alert the server keeps it until the user has answered. */
    open(path) { return this.post({ type: "open", payload: { path } }); }
    /** What a screen shows beside its state, if it `hasContent`. It is transferred only when it has changed. */
    async content(screen = this.state.visible.key) {
        const known = this.#contents.get(screen), headers = known && { "If-None-Match": known.tag };
        const answer = await this.#send(`GET`, `/screens/${screen}/content`, { query: "", headers });
        if (answer.status === 304)
            return known?.content;
        this.#contents.set(screen, { tag: tagOf(answer), content: answer.body });
        return answer.body;
    }
    /** A code with which another device joins the session, once and for two minutes: see `pair`. */
    async pairingCode(label, role) {
        return (await this.#send("POST", "/pairings", { query: "", body: { label, role } })).body;
    }
    /** The devices that have a token for the session. */
    async devices() {
        return (await this.get("/tokens")).tokens;
    }
    /** Takes the session away from a device. */
    async revoke(number) { await this.#send("DELETE", `/tokens/${number}`, { query: "" }); }
    /** Reads something else of the session, such as `get("/history?limit=20")`. Throws a `Problem`. */
    async get(suffix) {
        const [own, asked] = ["", suffix].map(end => new URL(this.#url(end, ""), globalThis.location?.href).href);
        const isOwn = asked.startsWith(own) && /^([/?]|$)/.test(asked.slice(own.length));
        if (!isOwn)
            throw new TypeError(`"${suffix}" is no path of the session; one begins with a slash, as in "/history"`);
        return (await this.#send("GET", suffix, { query: "" })).body;
    }
    /** Ends the session, for every device. */
    async end() {
        try {
            await this.#send("DELETE", "", { query: "" });
        }
        catch (error) {
            if (!this.ended)
                throw error;
        }
        this.#end("session-ended");
    }
    /**
     * Draws every change, whoever made it, until the session is over or `signal` is aborted. After a cut it connects
     * again, at growing intervals with a random part. A hidden page does not: a browser has only six connections to a
     * server.
     */
    async follow(signal) {
        const isOver = () => this.ended !== undefined || signal?.aborted === true;
        for (let failures = 0; !isOver();) {
            await untilShown(signal);
            const { token } = this;
            let problem, reason, status = 0;
            const isHeard = () => { failures = 0; this.#settleOpen(); };
            try {
                reason = await (this.#polls ? this.#poll(isHeard, signal) : this.#stream(isHeard, signal));
            }
            catch (error) {
                if (error instanceof Problem) {
                    problem = error;
                    reason = endOf(error);
                }
                if (error instanceof Problem || error instanceof ForeignAnswer)
                    status = error.status;
            }
            if (isOver())
                return;
            if (reason !== undefined && ["token-replaced", "unauthorized"].includes(reason)) {
                if (await this.#hasReplaced(token, signal) || await this.#renew(token))
                    continue;
                if (isOver())
                    return;
            }
            if (reason !== undefined)
                return this.#end(reason, problem);
            const longest = Math.min(this.#retry * 2 ** failures++ / 1000, 15), seconds = longest * (0.5 + Math.random() / 2);
            const report = (waiting) => tell(this.#options.onConnection, false, { ...waiting, problem });
            if (!isHidden())
                await pause(problem?.retryAfter ?? seconds, status, report, signal);
        }
    }
    /** Carries an event out after those that were posted before. Its deadline counts from now. */
    #inTurn(key, body, options) {
        const { deadline = this.#options.deadline ?? 30, wait = 0 } = options, until = Date.now() + 1000 * (deadline + wait);
        this.#posting++;
        const done = this.#posted.then(() => this.#carryOut(key, body, options, until)).finally(() => {
            this.#posting--;
            // The answer changed nothing, or there was none.
            if (this.#posting === 0 && this.#drawn !== this.#state && this.#state)
                this.#show(this.#state);
        });
        this.#posted = done.catch(() => { });
        return done;
    }
    async #carryOut(key, body, options, until) {
        const { version, wait, signal } = options;
        const headers = version === undefined ? {} : { "If-Match": `"${version}"` };
        await this.#settleLate(until, signal);
        if (this.ended)
            return { kind: "ended", reason: this.ended };
        const isLate = Date.now() >= until || signal?.aborted || this.#saved.tap !== undefined;
        if (isLate)
            return { kind: "withdrawn", key, outcome: "not-carried-out" }; // It was never sent.
        await this.#save({ tap: key });
        try {
            const sent = { key, body, headers, wait, until, signal, isAnswer: isState };
            const answer = await this.#send("POST", "/events", sent);
            await this.#settled(answer);
            return { kind: "accepted", state: this.state, ...answer.body.pairing && { pairing: answer.body.pairing } };
        }
        catch (error) {
            if (this.#replaced.signal.aborted)
                return { kind: "ended", reason: "replaced" };
            if (error instanceof Undecided)
                return { kind: "withdrawn", key, outcome: await this.#settle(Date.now() + 5000) };
            if (!(error instanceof Problem))
                throw error;
            await this.#save({ tap: undefined });
            return this.#refusal(error, () => this.#inTurn(key, body, options));
        }
    }
    async #refusal(problem, repeat) {
        if (this.ended)
            return { kind: "ended", reason: this.ended };
        const { status, kind, body } = problem;
        if (kind === "answer-forgotten") {
            await this.#read();
            return { kind: "accepted", state: this.state };
        }
        if (status === 422)
            return { kind: "invalid", faults: body.errors ?? [], problem };
        if (!body.state)
            return { kind: "failed", problem };
        await (this.#hasControls(body.state) ? this.#accept(body.state) : this.#read());
        const { state } = this;
        return kind === "answer-first" ? { kind, state, problem, repeat }
            : { kind: status === 412 ? "changed" : "stale", state, problem };
    }
    /** There is a connection: settles the event whose outcome is still open, after those that are under way. */
    #settleOpen() {
        if (this.#saved.tap === undefined)
            return;
        this.#posted = this.#posted.then(() => this.#settleLate(Date.now() + 5000)).catch(() => { }); // Asked again later.
    }
    /** Settles the event whose outcome was `unknown`, if there is one, and says what has become of it. */
    async #settleLate(until, signal) {
        const { tap } = this.#saved;
        if (tap === undefined || this.ended)
            return;
        const outcome = await this.#settle(until, signal);
        if (this.#saved.tap === undefined && !this.ended)
            tell(this.#options.onSettled, outcome, tap);
    }
    /** Withdraws the event whose outcome is open, so that it is not carried out later, and learns what became of it. */
    async #settle(until, signal) {
        try {
            const asked = { query: "", until, signal, isAnswer: isState };
            const answer = await this.#send("DELETE", `/outcomes/${this.#saved.tap}`, asked);
            if (answer.status === 200)
                await this.#settled(answer);
            else
                await this.#save({ tap: undefined });
            return answer.status === 200 ? "carried-out" : "not-carried-out";
        }
        catch (error) {
            if (error instanceof Undecided)
                return "unknown";
            if (!(error instanceof Problem))
                throw error;
            if (error.isTemporary)
                return "unknown";
            await this.#save({ tap: undefined });
            if (error.kind !== "answer-forgotten")
                return "unknown";
            await this.#read();
            return "carried-out";
        }
    }
    /** Takes the answer to an event, which may be older than the session by now. */
    async #settled(answer) {
        this.#saved = { ...this.#saved, tap: undefined };
        const { version } = answer.body.session, newest = Number(answer.headers.get("Session-Version"));
        const isOld = Math.max(newest, this.#state?.session.version ?? 0) > version;
        await this.#accept(answer.body, tagOf(answer), true);
        if (isOld || !this.#hasControls(answer.body))
            await this.#read();
    }
    /** Keeps a state, unless it is older than the one that is there. A new token is saved before the state is drawn. */
    async #accept({ token, pairing, ...state }, tag = `"${state.session.version}"`, isTap = false) {
        const isNew = token !== undefined && token !== this.#saved.token;
        if (isNew || isTap)
            await this.#save({ token: token ?? this.#saved.token });
        if (isNew)
            tell(this.#options.onToken, token, this.id);
        const { version } = state.session, known = this.#state?.session.version ?? 0;
        // The same version has another tag while another build of the server shows it.
        const isSame = version === known && tag === this.#tag && (this.#state?.controls || !state.controls);
        if (version < known || isSame || !this.#hasControls(state))
            return;
        this.#state = state;
        this.#tag = tag;
        const { events, controls, back, visible, alert } = state, keys = new Set(screensOf(state).map(({ key }) => key));
        if (!alert)
            this.#known.set(visible.key, { events, ...controls && { controls }, ...back && { back } });
        for (const kept of [this.#known, this.#contents]) {
            for (const key of kept.keys())
                if (!keys.has(key))
                    kept.delete(key);
        }
        this.#show(state);
    }
    #hasControls({ controls }) {
        return this.#options.controls === false || controls !== undefined;
    }
    #show(state) {
        if (this.#replaced.signal.aborted)
            return;
        this.#drawn = state;
        tell(this.#options.onState, state);
    }
    /** What the storage has. A text that is no JSON would be none at the next start either. */
    async #load() {
        try {
            return await this.#options.storage?.load() ?? {};
        }
        catch (error) {
            if (!(error instanceof SyntaxError))
                this.#isRefused(error);
            return {};
        }
    }
    #save(change) {
        this.#saved = { ...this.#saved, ...change };
        const { storage } = this.#options;
        if (!storage)
            return Promise.resolve();
        const saving = (savings.get(storage) ?? Promise.resolve()).then(async () => {
            if (this.#replaced.signal.aborted)
                return;
            const { id, opening } = this.#saved, isEmpty = id === undefined && opening === undefined;
            await storage.save(isEmpty ? undefined : this.#saved);
            this.#isUnsaved = false;
        }).catch(error => this.#isRefused(error));
        savings.set(storage, saving);
        return saving;
    }
    /** The storage refuses: the session goes on without it. */
    #isRefused(error) {
        if (!this.#isUnsaved)
            tell(this.#options.onUnsaved, error);
        this.#isUnsaved = true;
    }
    #url(suffix, query = (this.#options.controls ?? true) ? "?include=controls" : "", path = this.#path) {
        return `${this.#options.server.replace(/\/+$/, "")}/${path}${suffix}${query}`;
    }
    get #path() { return `${this.#options.path ?? "v1/sessions"}/${this.id}`; }
    /** Sends a request with the token: with the new one if it was replaced, and says so if the session is over. */
    async #send(method, suffix, { query, ...more }) {
        const { token } = this, { onWaiting } = this.#options, key = more.key ?? randomKey();
        const stop = stopper(2e6, more.signal), { signal } = stop; // As long as it takes.
        this.#replaced.signal.addEventListener("abort", stop.abort);
        if (this.#replaced.signal.aborted)
            stop.abort();
        try {
            return await request(this.#url(suffix, query), { method, token, key, onWaiting, ...more, signal });
        }
        catch (error) {
            const isRefused = error instanceof Problem && error.status === 401, { tap } = this.#saved;
            const isOfTap = tap === undefined || key === tap || suffix === `/outcomes/${tap}`;
            const isReplaced = async () => this.token !== token || !isOfTap && await this.#hasReplaced(token, more.signal) || this.#renew(token);
            if (isRefused && await isReplaced())
                return this.#send(method, suffix, { query, ...more, key });
            // Unless the caller has stopped waiting for what became of an event: that may have replaced the token.
            const isUnclear = isRefused && !isOfTap && this.#saved.tap !== undefined;
            if (error instanceof Problem && !isUnclear)
                this.#end(endOf(error), error);
            throw error;
        }
        finally {
            stop.clear();
            this.#replaced.signal.removeEventListener("abort", stop.abort);
        }
    }
    /** Whether an event of this client has put another token in the place of this one. Waits until that is known. */
    async #hasReplaced(stale, signal) {
        await this.#posted; // Its answer may have the new token.
        while (this.token === stale && this.#saved.tap !== undefined && !this.ended && !signal?.aborted) {
            this.#settleOpen();
            await this.#posted;
            if (this.#saved.tap !== undefined)
                await pause(1, 0, () => { }, signal);
        }
        return this.token !== stale;
    }
    /** Whether another holder of the storage has a token in the place of this one. */
    async #renew(stale) {
        const token = await this.#options.storage?.renewed?.(this.id, stale);
        if (token === undefined)
            return false;
        this.#saved = { ...this.#saved, token };
        tell(this.#options.onToken, token, this.id);
        return true;
    }
    #end(reason, problem) {
        if (this.ended || !reason)
            return;
        this.ended = reason;
        this.#over.abort();
        tell(this.#options.onEnd, reason, problem);
    }
    /** Reads one stream to its end, and returns the reason if the server gave one. It is heard at least every 20 s. */
    async #stream(isHeard, signal) {
        const stop = this.#stopper(45, signal), first = setTimeout(() => { this.#polls = true; stop.abort(); }, 10000);
        try {
            const headers = { Accept: "text/event-stream", Authorization: `Bearer ${this.token}` };
            if (this.#tag)
                headers["Last-Event-ID"] = this.#tag;
            const response = await fetch(this.#url("/updates"), { headers, cache: "no-store", signal: stop.signal });
            const { status, headers: fields, body } = response;
            if (!response.ok || !body)
                throw problemOf(status, fields, await bodyOf(response));
            const reader = body.pipeThrough(new TextDecoderStream()).getReader();
            for (let text = "";;) {
                const { value, done } = await reader.read();
                if (done)
                    return undefined;
                clearTimeout(first);
                stop.restart();
                this.#settleOpen();
                const messages = (text + value).split("\n\n");
                text = messages.pop() ?? "";
                for (const { event, data, id, retry } of messages.map(fieldsOf)) {
                    if (retry) {
                        this.#retry = Number(retry);
                        isHeard();
                        tell(this.#options.onConnection, true);
                    }
                    if (event === "end")
                        return endNamed(JSON.parse(data).reason);
                    if (event === "state")
                        await this.#accept(parse(data), id);
                }
            }
        }
        finally {
            clearTimeout(first);
            stop.clear();
            stop.abort();
        }
    }
    /** Asks for one change after the other. The first answer comes at once, and shows that there is a connection. */
    async #poll(isHeard, signal) {
        for (let wait = 0; !signal?.aborted && !this.ended && !isHidden(); wait = 30) {
            const stop = this.#stopper(30 + wait, signal);
            try {
                const headers = { Authorization: `Bearer ${this.token}` };
                if (this.#tag)
                    headers["If-None-Match"] = this.#tag;
                if (wait > 0)
                    headers.Prefer = `wait=${wait}`;
                const answer = await exchange(this.#url(""), { headers, signal: stop.signal }, isState);
                if (wait === 0) {
                    isHeard();
                    tell(this.#options.onConnection, true);
                }
                else
                    this.#settleOpen();
                if (answer.status === 200)
                    await this.#accept(answer.body, tagOf(answer));
                await pause(Number(answer.headers.get("Retry-After") ?? 0), 0, undefined, signal);
            }
            finally {
                stop.clear();
            }
        }
        return undefined;
    }
    /** Ends a request after so many seconds, with the signal, with the session, and when the page is hidden. */
    #stopper(seconds, signal) {
        const stop = stopper(seconds, signal), until = { signal: stop.signal };
        this.#over.signal.addEventListener("abort", stop.abort, until);
        globalThis.document?.addEventListener("visibilitychange", () => { if (isHidden())
            stop.abort(); }, until);
        return stop;
    }
}
/** Why the session is over, if a problem says that it is. */
function endOf({ kind, status }) {
    return endReasons.find(reason => reason === kind)
        ?? (status === 401 ? "unauthorized" : status === 410 ? "session-ended" : undefined);
}
/** The reason that a stream gives: `ended`, `expired`, `token-replaced` or `token-revoked`. */
const endNamed = (name) => endReasons.find(reason => reason === name || reason === `session-${name}`) ?? "session-ended";
const tagOf = ({ headers, body }) => headers.get("ETag") ?? `"${body?.session?.version ?? ""}"`;
/** The fields of a message: `event`, `data`, `id`, `retry`. A comment, which shows that the server lives, has none. */
const fieldsOf = (message) => Object.fromEntries(message.split("\n")
    .map(line => /^(\w+): ?(.*)$/.exec(line)).flatMap(found => found ? [[found[1], found[2]]] : []));
const isHidden = () => globalThis.document?.visibilityState === "hidden";
async function untilShown(signal) {
    while (isHidden() && !signal?.aborted) {
        await new Promise(seen => {
            document.addEventListener("visibilitychange", seen, { once: true });
            signal?.addEventListener("abort", seen, { once: true });
        });
    }
}

export { ExactNumber, parse, randomKey, stringify, screensOf, predict, Problem, request, Undecided, FileStorage, TabStorage, NavigationSession };
