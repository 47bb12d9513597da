import { parse, randomKey, stringify } from "./json.js";
import type { Fault, NavigationState } from "./model.js";

/** The body of a problem, as RFC 9457 describes it. */
export interface ProblemBody {
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

const prefix = "urn:coordinatord:problem:";

/** Why the server has not carried out a request. It is the server's own answer: errors of gateways are none. */
export class Problem extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The last part of the problem's type, such as `stale-screen`; docs/problems.md lists them. */
  readonly kind: string;
  readonly body: ProblemBody;
  /** For the user: the app's own words, if it has some in the user's language, otherwise the title, which is English. */
  readonly words: string;
  /** In how many seconds to try again. */
  readonly retryAfter?: number;

  constructor(status: number, headers: Headers, body: ProblemBody) {
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
  get isTemporary(): boolean { return this.status === 429 || this.status === 503 && this.kind !== "session-damaged"; }
}

/** A request was given up, at its deadline or by its signal, before an answer said what has happened. */
export class Undecided extends Error {
  constructor() {
    super("It is not known whether the server has carried out the request.");
    this.name = "Undecided";
  }
}

/** An answer that is not the server's: of a gateway, a hotel's sign-in page, or another server at a wrong address. */
export class ForeignAnswer extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`something else than the server answered with ${status}`);
    this.status = status;
  }
}

/** A pause before a request is repeated, or the rest of an attempt that has had no answer for three seconds. */
export interface Waiting {
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

export interface RequestOptions {
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

export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** Sends a request once. Throws a `Problem`; whatever else it throws leaves the outcome open. */
export async function exchange<Body>(
  url: string, init: RequestInit, isAnswer?: (body: unknown) => boolean,
): Promise<Answer<Body>> {
  const response = await fetch(url, { ...init, cache: "no-store" }), { status, headers } = response;
  const body = status === 204 || status === 304 ? undefined : await bodyOf(response);
  if (!response.ok && status !== 304) throw problemOf(status, headers, body);
  if (response.ok && body !== undefined && isAnswer?.(body) === false) throw new ForeignAnswer(status);
  return { status, headers, body: body as Body };
}

/** The body of an answer, which is JSON if it is the server's. */
export async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try { return parse(text); } catch { throw new ForeignAnswer(response.status); }
}

/** The problem of an answer; or, if that is not the server's own, an error that says so. */
export function problemOf(status: number, headers: Headers, body: unknown): Error {
  const isOwn = String((body as ProblemBody | null)?.type).startsWith(prefix);
  return isOwn ? new Problem(status, headers, body as ProblemBody) : new ForeignAnswer(status);
}

/**
 * Sends a request until an answer says what happened. After a lost answer, or one that says “later”, it repeats the
 * request with the same key: the server carries it out once. Throws a `Problem`, or `Undecided` if it was given up. An
 * attempt may take five seconds, the next one ten, then twenty: a connection that has died says nothing, and the next
 * attempt may find one that lives.
 */
export async function request<Body = unknown>(url: string, options: RequestOptions = {}): Promise<Answer<Body>> {
  const { method = "GET", token, body, key = randomKey(), wait = 0, until = Infinity } = options;
  const { signal, onWaiting, isAnswer } = options;
  const headers: Record<string, string> = { ...options.headers };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  if (wait > 0) headers.Prefer = `wait=${wait}`;
  if (body !== undefined) Object.assign(headers, { "Idempotency-Key": key, "Content-Type": "application/json" });
  const init = { method, headers, ...body !== undefined && { body: stringify(body) } };
  new URL(url, globalThis.location?.href); // A mistake, which must not be repeated.
  let isOpen = false, isSaid = false;
  for (let attempt = 1; ; attempt++) {
    let seconds = Math.min(2 ** attempt / 4, 5) * (0.5 + Math.random() / 2), status = 0, problem: Problem | undefined;
    const limit = Math.min(Math.min(5 * 2 ** (attempt - 1), 30) + wait, (until - Date.now()) / 1000);
    const stop = stopper(limit, signal), { abort: retry } = stop;
    const silence = setTimeout(() => {
      isSaid = true;
      tell(onWaiting, { status: 0, seconds: limit - 3 - wait, retry });
    }, 1000 * (3 + wait));
    try {
      const answer = await exchange<Body>(url, { ...init, signal: stop.signal }, isAnswer);
      if (isSaid) tell(onWaiting);
      return answer;
    } catch (error) {
      if (!(error instanceof Problem) || error.kind === "unknown") isOpen = true;
      if (error instanceof Problem || error instanceof ForeignAnswer) status = error.status;
      if (error instanceof Problem) {
        problem = error;
        seconds = problem.retryAfter ?? seconds;
        // What an earlier sending has led to, only a later one can say.
        const isRepeated = problem.isTemporary ? isOpen || attempt < 4 || until < Infinity
          : problem.status === 504 && attempt < 2;
        if (!isRepeated) { tell(onWaiting); throw problem; }
      }
    } finally { stop.clear(); clearTimeout(silence); }
    if (!signal?.aborted && Date.now() < until) {
      isSaid = true;
      await pause(Math.min(seconds, (until - Date.now()) / 1000), status, onWaiting, signal);
    }
    if (!signal?.aborted && Date.now() < until) continue;
    tell(onWaiting);
    throw isOpen || !problem ? new Undecided() : problem;
  }
}

/**
 * Calls a function of the app. What it throws is the app's mistake, and no fault of the request or the connection: it is
 * reported as an exception that nobody has caught, and changes nothing here.
 */
export function tell<Given extends unknown[]>(callback: ((...given: Given) => void) | undefined, ...given: Given): void {
  try { callback?.(...given); } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else queueMicrotask(() => { throw error; });
  }
}

/** A signal that aborts after so many seconds, or with another signal. */
export function stopper(seconds: number, signal?: AbortSignal) {
  const controller = new AbortController(), abort = () => controller.abort();
  let timer = setTimeout(abort, 1000 * Math.max(seconds, 0));
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return {
    signal: controller.signal, abort,
    /** Begins to count anew. */
    restart() { clearTimeout(timer); timer = setTimeout(abort, 1000 * seconds); },
    clear() { clearTimeout(timer); signal?.removeEventListener("abort", abort); },
  };
}

/** Waits, and says so; `retry()` ends the pause early, and so does a browser that is online again. */
export function pause(seconds: number, status: number, onWaiting?: (waiting: Waiting) => void, signal?: AbortSignal) {
  return new Promise<void>(resolve => {
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
