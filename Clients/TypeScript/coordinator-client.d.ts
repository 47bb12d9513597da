// The client library of coordinatord, version 0.1.0, for version 1 of its API. Made of Clients/TypeScript/src.
/** At least 16 random characters: a key for an event, or any other name that nobody can guess. */
declare const randomKey: () => string;
/**
 * A number with more digits than JavaScript's own have, as the server wrote it: an id beyond 2⁵³, a price of 20 digits.
 * It is drawn and posted with all of them; `BigInt(number.text)` calculates with an integer.
 */
declare class ExactNumber {
    /** The number, as it stands in the JSON text. */
    readonly text: string;
    constructor(text: string);
    toString(): string;
    toJSON(): unknown;
}
/** `JSON.parse`, with an `ExactNumber` for each number that JavaScript would change. */
declare function parse(text: string): unknown;
/** `JSON.stringify`, also where that cannot write an `ExactNumber` (`JSON.rawJSON`). */
declare function stringify(value: unknown): string;

/** An event: something that the user did. `payload` is what its schema describes, or left out. */
interface NavigationEvent {
    readonly type: string;
    readonly payload?: unknown;
}
/** A state: everything that is drawn. */
interface NavigationState {
    readonly session: SessionInfo;
    /** The screen that the user sees: the last one of the stack in front, or of its selected tab. */
    readonly visible: Screen;
    /** The stack below all presented flows, bottom first. */
    readonly stack: readonly Screen[];
    /** The flows that are shown over `stack`, each over the one before. */
    readonly presented?: readonly PresentedFlow[];
    /** Over everything else. Only `answer`, `back` and `open` are accepted meanwhile. */
    readonly alert?: Alert;
    /** What `back` would do. Absent: no back button. */
    readonly back?: Back;
    /** The types of the events that are accepted now. */
    readonly events: readonly string[];
    /** Work of the app in the background: draw a spinner, and let the user go on. */
    readonly pending?: readonly PendingWork[];
    /** The same events with what is needed to draw buttons and forms, unless the session was opened without. */
    readonly controls?: readonly Control[];
    /** What led to the state. Absent if the state was read, and does not directly follow the one before. */
    readonly transition?: Transition;
    /** `true` for a state that was drawn before the server's answer, see `SessionOptions.predicts`. */
    readonly isPredicted?: boolean;
}
interface SessionInfo {
    readonly id: string;
    readonly app: string;
    /** 1 for the first state, and one more for each change. */
    readonly version: number;
    /** When the session expires unless it is used before; ISO 8601. */
    readonly expiresAt: string;
}
interface Screen {
    /** Unique in the session, never used again. */
    readonly key: string;
    /** The kind of screen, by which a client knows how to draw it. */
    readonly name: string;
    /** The coordinator that the screen belongs to. */
    readonly coordinator: string;
    readonly title?: string;
    /** What the app says about the screen. Numbers beyond JavaScript's digits are an `ExactNumber`. */
    readonly params?: Readonly<Record<string, unknown>>;
    /** The path that opens the screen again. */
    readonly link?: string;
    readonly eventTitles?: Readonly<Record<string, string>>;
    /** What forms show at first, by the event's type, as far as the screen holds it; `default`s in `controls` are all. */
    readonly eventValues?: Readonly<Record<string, unknown>>;
    readonly buttons?: readonly Button[];
    readonly rows?: readonly Row[];
    readonly hidesNavigationBar?: boolean;
    /** `NavigationSession.content` reads what the screen shows beside its parameters. */
    readonly hasContent?: boolean;
    /** Differs from before when the content has changed: read it again. */
    readonly contentVersion?: number;
    readonly tabs?: Tabs;
}
interface Tabs {
    /** The id of the selected tab. */
    readonly selected: string;
    readonly items: readonly Tab[];
}
interface Tab {
    readonly id: string;
    readonly title?: string;
    readonly icon?: string;
    readonly badge?: string;
    readonly stack: readonly Screen[];
}
interface PresentedFlow {
    readonly key: string;
    readonly style: "sheet" | "fullScreen";
    readonly detent?: "medium" | "large";
    /** `false` if the user cannot dismiss the flow; absent otherwise. */
    readonly isDismissable?: boolean;
    /** `true` if an alert comes first when the user dismisses the flow. */
    readonly asks?: boolean;
    readonly stack: readonly Screen[];
}
interface Alert {
    readonly key: string;
    readonly title: string;
    readonly message?: string;
    readonly buttons: readonly AlertButton[];
}
interface AlertButton {
    readonly id: string;
    readonly title: string;
    /** `cancel` is what `back` presses; `destructive` is drawn as a warning. */
    readonly role?: "cancel" | "destructive";
    /** `false` if it is not for the role of this device. */
    readonly isEnabled?: false;
}
/** What `back` would do: `to` is visible then. With `asks` an alert comes first. */
declare type Back = {
    readonly effect: "pop" | "dismiss" | "selectTab";
    readonly to: string;
    readonly asks?: boolean;
} | {
    readonly effect: "dismissAlert";
    readonly asks?: undefined;
};
interface PendingWork {
    readonly id: string;
    readonly effect: string;
    readonly coordinator: string;
    readonly since: string;
}
declare type Role = "primary" | "secondary" | "destructive" | "navigation" | "input";
/** A button with a payload: post both as they stand. */
interface Button {
    readonly type: string;
    readonly payload: unknown;
    readonly role?: Role;
    readonly isEnabled?: boolean;
    readonly title?: string;
}
/** A row of a list. With `type`, a tap posts it with `payload`; without, it is only text. */
interface Row {
    readonly title: string;
    readonly detail?: string;
    readonly isSelected?: boolean;
    readonly type?: string;
    readonly payload?: unknown;
    readonly role?: Role;
    readonly isEnabled?: boolean;
}
/** An accepted event, and how it is drawn: with `schema` as a form, otherwise as a button that posts `payload`. */
interface Control {
    readonly type: string;
    readonly title: string;
    readonly role: Role;
    readonly place: "screen" | "tabBar" | "alert" | "app";
    readonly payload?: unknown;
    /** Absent for a built-in event, such as `back`. */
    readonly coordinator?: string;
    /** The JSON Schema of the payload that the user enters. */
    readonly schema?: Readonly<Record<string, unknown>>;
    readonly example?: unknown;
}
/** What led to a state, for animations. */
interface Transition {
    readonly event?: string;
    readonly cause?: string;
    /** In order; ignore an `op` that you do not know. */
    readonly operations: readonly ScreenOperation[];
    readonly finished: readonly string[];
    readonly dismissed: readonly string[];
}
/** A visible change: `push`, `pop`, `update`, `replace`, `present`, `dismiss`, `selectTab`, `alert`, `dismissAlert`. */
interface ScreenOperation {
    readonly op: string;
    readonly key: string;
    readonly stack?: string;
    readonly replaced?: string;
    readonly style?: string;
    readonly tab?: string;
}
/** A code with which another device joins the session. */
interface PairingCode {
    readonly code: string;
    readonly expiresAt: string;
}
/** A device's right to the session. */
interface Device {
    readonly number: number;
    readonly label?: string;
    /** What it may do; absent if the app declares no roles. */
    readonly role?: string;
    readonly createdAt: string;
    readonly lastUsedAt: string;
    readonly firstVersion: number;
    /** `true` for the token of this client. */
    readonly isOwn?: boolean;
}
/** What a client says about itself; an app may read more members. */
interface ClientInfo {
    readonly locale?: string;
    readonly platform?: string;
    readonly version?: string;
    readonly [name: string]: unknown;
}
/** What to open: a session of an app, perhaps at a link; or a copy of a session, whose token `SessionOptions` has. */
declare type Launch = {
    readonly app?: string;
    readonly link?: string;
    readonly client?: ClientInfo;
} | {
    readonly forkOf: string;
    readonly version?: number;
};
/** One fault of a payload: `pointer` says at which field, such as `/payload/id`, and `detail` what is wrong. */
interface Fault {
    readonly pointer: string;
    readonly code: string;
    readonly detail: string;
}
/** Every screen of a state, also those that are covered or in other tabs. */
declare function screensOf(state: NavigationState): Screen[];

/**
 * What the server will most likely answer to `back`, `selectTab` or `dismiss`, from the state alone; undefined where it
 * cannot be known: if the app asks before the screen is left, forbids it, or shows an alert. A prediction has no
 * `controls`, `events` and `back` of its own.
 */
declare function predict(state: NavigationState, event: NavigationEvent): NavigationState | undefined;

/** The body of a problem, as RFC 9457 describes it. */
interface ProblemBody {
    readonly type: string;
    readonly title?: string;
    readonly status?: number;
    readonly detail?: string;
    /** The request, in the server's log. */
    readonly requestId?: string;
    readonly errors?: readonly Fault[];
    readonly events?: readonly string[];
    readonly state?: NavigationState;
}
/** Why the server has not carried out a request. It is the server's own answer: errors of gateways are none. */
declare class Problem extends Error {
    /** The HTTP status. */
    readonly status: number;
    /** The last part of the problem's type, such as `stale-screen`; docs/problems.md lists them. */
    readonly kind: string;
    readonly body: ProblemBody;
    /** For the user: the app's own words, if it has some in the user's language, otherwise the title, which is English. */
    readonly words: string;
    /** In how many seconds to try again. */
    readonly retryAfter?: number;
    constructor(status: number, headers: Headers, body: ProblemBody);
    /** Whether the same request may succeed a little later. */
    get isTemporary(): boolean;
}
/** A request was given up, at its deadline or by its signal, before an answer said what has happened. */
declare class Undecided extends Error {
    constructor();
}
/** An answer that is not the server's: of a gateway, a hotel's sign-in page, or another server at a wrong address. */
declare class ForeignAnswer extends Error {
    readonly status: number;
    constructor(status: number);
}
/** A pause before a request is repeated, or the rest of an attempt that has had no answer for three seconds. */
interface Waiting {
    /**
     * 0 if there was no answer: no connection, or a browser that keeps the answer from the page (CORS). Otherwise the
     * status of the answer: 429, 503 or 504 if the server has no time. One such as 200, 404 or 502 is not the server's
     * answer: it is a gateway's, or there is no coordinatord at this address.
     */
    readonly status: number;
    readonly seconds: number;
    /** Ends the pause, or the attempt: the request is repeated. */
    readonly retry: () => void;
}
interface RequestOptions {
    readonly method?: string;
    readonly token?: string;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    /** The Idempotency-Key of a request with a body. A new one if it is left out. */
    readonly key?: string;
    /** For so many seconds the server may wait before it answers. */
    readonly wait?: number;
    /** When the request is given up, as `Date.now()` counts. Never if it is left out. */
    readonly until?: number;
    /** Gives the request up. */
    readonly signal?: AbortSignal;
    /** Called with each pause, and without one when an answer has ended them. */
    readonly onWaiting?: (waiting?: Waiting) => void;
    /** Whether a body is what the server answers: a hotel's sign-in page may be JSON, too. */
    readonly isAnswer?: (body: unknown) => boolean;
}
interface Answer<Body = unknown> {
    readonly status: number;
    readonly headers: Headers;
    readonly body: Body;
}
/** Sends a request once. Throws a `Problem`; whatever else it throws leaves the outcome open. */
declare function exchange<Body>(url: string, init: RequestInit, isAnswer?: (body: unknown) => boolean): Promise<Answer<Body>>;
/** The body of an answer, which is JSON if it is the server's. */
declare function bodyOf(response: Response): Promise<unknown>;
/** The problem of an answer; or, if that is not the server's own, an error that says so. */
declare function problemOf(status: number, headers: Headers, body: unknown): Error;
/**
 * Sends a request until an answer says what happened. After a lost answer, or one that says “later”, it repeats the
 * request with the same key: the server carries it out once. Throws a `Problem`, or `Undecided` if it was given up. An
 * attempt may take five seconds, the next one ten, then twenty: a connection that has died says nothing, and the next
 * attempt may find one that lives.
 */
declare function request<Body = unknown>(url: string, options?: RequestOptions): Promise<Answer<Body>>;
/**
 * Calls a function of the app. What it throws is the app's mistake, and no fault of the request or the connection: it is
 * reported as an exception that nobody has caught, and changes nothing here.
 */
declare function tell<Given extends unknown[]>(callback: ((...given: Given) => void) | undefined, ...given: Given): void;
/** A signal that aborts after so many seconds, or with another signal. */
declare function stopper(seconds: number, signal?: AbortSignal): {
    signal: AbortSignal;
    abort: () => void;
    /** Begins to count anew. */
    restart(): void;
    clear(): void;
};
/** Waits, and says so; `retry()` ends the pause early, and so does a browser that is online again. */
declare function pause(seconds: number, status: number, onWaiting?: (waiting: Waiting) => void, signal?: AbortSignal): Promise<void>;

/** What must outlive the app: who the client is, and what it has sent without knowing the outcome. No payload. */
interface SavedSession {
    readonly id?: string;
    /** A secret: it gives access to the session. */
    readonly token?: string;
    /** The key of the event whose outcome is open. */
    readonly tap?: string;
    /** The request that opens the session, while its answer is not there. */
    readonly opening?: {
        readonly path: string;
        readonly key: string;
        readonly body: unknown;
        readonly token?: string;
    };
}
/**
 * Where a session is kept, for one `NavigationSession` at a time: two that share one, such as two tabs with
 * `localStorage`, withdraw each other's events and miss each other's tokens. Both functions may be asynchronous.
 */
interface SessionStorage {
    load(): SavedSession | undefined | Promise<SavedSession | undefined>;
    save(saved: SavedSession | undefined): void | Promise<void>;
    /** The token that has replaced `stale`, if another holder of the session has it; may wait for it for a moment. */
    renewed?(id: string, stale: string): Promise<string | undefined>;
}
/**
 * Keeps a session in a tab of a browser, in its `sessionStorage`: it outlives reloads, and ends with the tab.
 *
 * A tab that the user duplicates has a copy of it. The copy is a second view of the same session, with the same token;
 * the event that is open belongs to the original, and the copy does not ask for it. Each tab holds a lock (Web Locks) by
 * which a copy learns that it is one. When a sign-in in one of them replaces the token, it tells the others
 * (`BroadcastChannel`).
 */
declare class TabStorage implements SessionStorage {
    #private;
    /** `name` distinguishes the sessions that a tab keeps, for example by server and app: one object for each. */
    constructor(name?: string);
    load(): Promise<SavedSession | undefined>;
    save(saved: SavedSession | undefined): Promise<void>;
    renewed(id: string, stale: string): Promise<string | undefined>;
}
/**
 * Keeps a session in a file, in Node, for one process at a time. Only its owner may read it; a write is whole or not
 * there.
 */
declare class FileStorage implements SessionStorage {
    #private;
    constructor(path: string);
    load(): Promise<SavedSession | undefined>;
    save(saved: SavedSession | undefined): Promise<void>;
}

/** Why a session is over for this client. `replaced`: the client has opened another one with the same storage. */
declare type EndReason = typeof endReasons[number] | "replaced";
declare const endReasons: readonly ["session-ended", "session-expired", "token-replaced", "token-revoked", "unauthorized", "session-incompatible", "session-damaged"];
/** What has become of an event that was given up. `unknown`: there is no connection to ask, see `onSettled`. */
declare type SettledOutcome = "carried-out" | "not-carried-out" | "unknown";
/** What has become of an event. `state` is where the app is now; it has been drawn. */
declare type Outcome = 
/** It was carried out. `pairing` is a code for another device, if the app gave one out. */
{
    readonly kind: "accepted";
    readonly state: NavigationState;
    readonly pairing?: PairingCode;
}
/** 409: the app is somewhere else by now, or does not accept it. Nothing has changed. */
 | {
    readonly kind: "stale";
    readonly state: NavigationState;
    readonly problem: Problem;
}
/** 409: an alert comes first. When the user has answered it, and not with `cancel`, call `repeat`: the same key. */
 | {
    readonly kind: "answer-first";
    readonly state: NavigationState;
    readonly problem: Problem;
    readonly repeat: () => Promise<Outcome>;
}
/** 412: the session is not at `PostOptions.version` any more. Let the user decide again. */
 | {
    readonly kind: "changed";
    readonly state: NavigationState;
    readonly problem: Problem;
}
/** 422: the payload does not fit. Show each fault at its field; without faults, show the problem. */
 | {
    readonly kind: "invalid";
    readonly faults: readonly Fault[];
    readonly problem: Problem;
}
/** It was given up, at its deadline or by its signal. */
 | {
    readonly kind: "withdrawn";
    readonly key: string;
    readonly outcome: SettledOutcome;
}
/** 401 or 410: the session is over for this client. */
 | {
    readonly kind: "ended";
    readonly reason: EndReason;
}
/** Anything else. Nothing has changed, and the same may succeed later, if it is no mistake of the client. */
 | {
    readonly kind: "failed";
    readonly problem: Problem;
};
interface SessionOptions {
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
    /** Draws a state: each newer one, wherever it came from, or a predicted one, which the next call replaces. */
    readonly onState?: (state: NavigationState) => void;
    /** A request waits before it is repeated; called without anything when it is over. */
    readonly onWaiting?: (waiting?: Waiting) => void;
    /** Whether `follow` hears of changes; if not, when it tries again, and why if the server said it. */
    readonly onConnection?: (isOpen: boolean, lost?: Waiting & {
        readonly problem?: Problem;
    }) => void;
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
interface PostOptions {
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
/** A session: its newest state, the events that are posted to it, and the stream of its changes. */
declare class NavigationSession {
    #private;
    /** What has become of the event that was under way when the app ended, if there was one: set by `resume`. */
    interrupted?: SettledOutcome;
    /** Why the session is over for this client, if it is. */
    ended?: EndReason;
    /** A session that is already open, by `id` and `token`; `read` fetches its state. */
    constructor(options: SessionOptions);
    /**
     * Goes on with the session in the storage: it is where the user left it. Undefined if there is none, or if it is over
     * for this client, which `onEnd` was told. Waits as long as there is no connection. A storage whose text is no JSON is
     * taken for an empty one. If the app ended while it opened another session, that is opened now; if the server refuses
     * it, such as a code that is too old, this goes on with the session before it.
     */
    static resume(options: SessionOptions): Promise<NavigationSession | undefined>;
    /**
     * Opens a session, in place of the one in the storage, which stays until then. Throws a `Problem`, such as
     * `unknown-app`.
     */
    static start(launch: Launch, options: SessionOptions): Promise<NavigationSession>;
    /**
     * Joins the session of another device with the code that it shows, in place of the one in the storage, which stays until
     * then. Throws a `Problem`, such as `unknown-code`.
     */
    static pair(code: string, options: SessionOptions, device?: {
        label?: string;
        role?: string;
        client?: ClientInfo;
    }): Promise<NavigationSession>;
    get id(): string;
    get token(): string;
    /** What is drawn: the newest state, or what is predicted to follow. It is there once the session is open or read. */
    get state(): NavigationState;
    /** Reads the state as it is now, for example when the app comes to the front. */
    read(): Promise<void>;
    /**
     * Posts an event, after those that were posted before, and says what has become of it. It has a key of its own, which
     * is saved first, and is repeated under it until the outcome is known or the deadline has passed.
     */
    post(event: NavigationEvent, options?: PostOptions): Promise<Outcome>;
    /** Does what `state.back` says. */
    back(): Promise<Outcome>;
    /** Selects a tab; the one that is selected already goes back to its first screen. */
    selectTab(tab: string): Promise<Outcome>;
    /** Dismisses the flow in front, or the one of that key with all above it. */
    dismiss(key?: string): Promise<Outcome>;
    /** Presses a button of the alert that is drawn. */
    answer(button: string): Promise<Outcome>;
    /** Opens a link, as the system hands it over. Behind an alert the server keeps it until the user has answered. */
    open(path: string): Promise<Outcome>;
    /** What a screen shows beside its state, if it `hasContent`. It is transferred only when it has changed. */
    content(screen?: string): Promise<unknown>;
    /** A code with which another device joins the session, once and for two minutes: see `pair`. */
    pairingCode(label?: string, role?: string): Promise<PairingCode>;
    /** The devices that have a token for the session. */
    devices(): Promise<readonly Device[]>;
    /** Takes the session away from a device. */
    revoke(number: number): Promise<void>;
    /** Reads something else of the session, such as `get("/history?limit=20")`. Throws a `Problem`. */
    get(suffix: string): Promise<unknown>;
    /** Ends the session, for every device. */
    end(): Promise<void>;
    /**
     * Draws every change, whoever made it, until the session is over or `signal` is aborted. After a cut it connects
     * again, at growing intervals with a random part. A hidden page does not: a browser has only six connections to a
     * server.
     */
    follow(signal?: AbortSignal): Promise<void>;
}

export { ExactNumber, parse, randomKey, stringify, screensOf, predict, Problem, request, Undecided, FileStorage, TabStorage, NavigationSession, Alert, AlertButton, Back, Button, ClientInfo, Control, Device, Fault, Launch, NavigationEvent, NavigationState, PairingCode, PendingWork, PresentedFlow, Role, Row, Screen, ScreenOperation, SessionInfo, Tab, Tabs, Transition, Answer, ProblemBody, RequestOptions, Waiting, SavedSession, SessionStorage, EndReason, Outcome, PostOptions, SessionOptions, SettledOutcome };
