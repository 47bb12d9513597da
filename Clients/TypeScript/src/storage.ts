import { parse, randomKey, stringify } from "./json.js";
import { stopper } from "./request.js";

/** What must outlive the app: who the client is, and what it has sent without knowing the outcome. No payload. */
export interface SavedSession {
  readonly id?: string;
  /** A secret: it gives access to the session. */
  readonly token?: string;
  /** The key of the event whose outcome is open. */
  readonly tap?: string;
  /** The request that opens the session, while its answer is not there. */
  readonly opening?: { readonly path: string; readonly key: string; readonly body: unknown; readonly token?: string };
}

/**
 * Where a session is kept, for one `NavigationSession` at a time: two that share one, such as two tabs with
 * `localStorage`, withdraw each other's events and miss each other's tokens. Both functions may be asynchronous.
 */
export interface SessionStorage {
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
export class TabStorage implements SessionStorage {
  #name: string;
  #tab?: Promise<string>;
  #channel?: BroadcastChannel;
  #past = new Set<string>();
  #listeners = new Set<() => void>();

  /** `name` distinguishes the sessions that a tab keeps, for example by server and app: one object for each. */
  constructor(name = "coordinatord") {
    this.#name = name;
    if (typeof BroadcastChannel === "undefined") return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Renewal>) => this.#hear(data);
  }

  async load(): Promise<SavedSession | undefined> {
    const found = this.#read();
    if (!found) return undefined;
    const { tab, ...saved } = found;
    const own = await (this.#tab ??= ownTab(tab));
    if (tab === undefined || tab === own) return saved;
    const { tap, opening, ...shared } = saved;
    const isOpen = shared.id !== undefined;
    if (isOpen) this.#write({ ...shared, tab: own }); else sessionStorage.removeItem(this.#name);
    return isOpen ? shared : undefined;
  }

  async save(saved: SavedSession | undefined): Promise<void> {
    const before = this.#read(), tab = await (this.#tab ??= ownTab(before?.tab));
    if (!saved) return sessionStorage.removeItem(this.#name);
    this.#write({ ...saved, tab });
    const isReplaced = saved.id !== undefined && saved.id === before?.id && saved.token !== before.token;
    if (isReplaced) this.#tell(saved.id, before.token);
  }

  async renewed(id: string, stale: string): Promise<string | undefined> {
    const found = () => {
      const saved = this.#read();
      return saved?.id === id && saved.token !== stale ? saved.token : undefined;
    };
    if (found() || !this.#channel) return found();
    this.#channel.postMessage({ id, from: stale });
    return new Promise(resolve => {
      const listener = () => { clearTimeout(timer); this.#listeners.delete(listener); resolve(found()); };
      const timer = setTimeout(listener, 1000);
      this.#listeners.add(listener);
    });
  }

  /** Another tab has a new token, or asks for it. */
  #hear({ id, from, to }: Renewal): void {
    const saved = this.#read();
    if (saved?.id !== id) return;
    if (to === undefined && this.#past.has(from)) this.#tell(id, from);
    if (to === undefined || saved.token !== from) return;
    this.#past.add(from);
    this.#write({ ...saved, token: to });
    this.#listeners.forEach(listener => listener());
  }

  #tell(id: string, from = ""): void {
    this.#past.add(from);
    this.#channel?.postMessage({ id, from, to: this.#read()?.token });
  }

  #write(saved: SavedSession & { readonly tab?: string }): void {
    sessionStorage.setItem(this.#name, stringify(saved));
  }

  #read(): (SavedSession & { readonly tab?: string }) | undefined {
    try {
      return parse(sessionStorage.getItem(this.#name) ?? "null") as SavedSession | null ?? undefined;
    } catch { return undefined; } // It is not ours: it is written over.
  }
}

/** A token replaced another one; without `to` it is a question. */
interface Renewal { readonly id: string; readonly from: string; readonly to?: string }

/**
 * The name of this tab: the one that its storage has, unless another tab has it, of which this one is then a copy. A page
 * that is being reloaded needs a moment to give its lock back.
 */
async function ownTab(saved?: string): Promise<string> {
  const hold = (tab: string, options: LockOptions) => new Promise<boolean>(resolve => {
    const keep = () => { resolve(true); return new Promise<never>(() => {}); };
    navigator.locks.request(`coordinatord ${tab}`, options, keep).catch(() => resolve(false));
  });
  if (!globalThis.navigator?.locks) return randomKey(); // Without TLS there are none: each page is taken for a copy.
  if (saved !== undefined && await hold(saved, { signal: stopper(0.5).signal })) return saved;
  const tab = randomKey();
  await hold(tab, {});
  return tab;
}

/**
 * Keeps a session in a file, in Node, for one process at a time. Only its owner may read it; a write is whole or not
 * there.
 */
export class FileStorage implements SessionStorage {
  #path: string;

  constructor(path: string) { this.#path = path; }

  async load(): Promise<SavedSession | undefined> {
    const { readFile } = await import("node:fs/promises");
    try { return parse(await readFile(this.#path, "utf8")) as SavedSession; } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async save(saved: SavedSession | undefined): Promise<void> {
    const { open, rename, rm } = await import("node:fs/promises");
    if (!saved) return rm(this.#path, { force: true });
    const file = await open(`${this.#path}.new`, "w", 0o600);
    try {
      await file.writeFile(stringify(saved));
      await file.sync();
    } finally { await file.close(); }
    await rename(`${this.#path}.new`, this.#path);
  }
}
