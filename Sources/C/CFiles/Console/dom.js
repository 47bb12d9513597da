/** What every part of the console needs to make elements: text stays text, whatever a session contains. */
import { ExactNumber, parse, request, stringify } from "../client.js";

/** The server's address with its base path, and a slash at its end. */
export const root = new URL("..", import.meta.url).href;

/**
 * An element: `h("button.primary", { onclick }, "Save")`. Attributes have a dash or are `role`; the rest are
 * properties.
 */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split("."), element = document.createElement(name || "div");
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key.includes("-") || key === "role") element.setAttribute(key, value); else element[key] = value;
  }
  element.append(...parts(children));
  return element;
}

/** An element of a drawing, with attributes only. */
export function draw(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split("."), element = document.createElementNS("http://www.w3.org/2000/svg", name);
  element.classList.add(...classes);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...parts(children));
  return element;
}

const parts = children => children.flat(3).filter(child => child !== undefined && child !== null && child !== false);

/** Replaces what an element contains. The focus stays with the same button or field. */
export function render(host, ...children) {
  const active = host.contains(document.activeElement) ? document.activeElement : undefined;
  const at = active && ["key", "owner", "event", "focus"].find(name => active.dataset[name]);
  host.replaceChildren(...parts(children));
  if (!active) return;
  const same = at && host.querySelector(`[data-${at}="${CSS.escape(active.dataset[at])}"]`);
  (active.isConnected ? active : same)?.focus({ preventScroll: true });
}

/** “firstName” and “first-name” as “First name”. */
export function words(name) {
  const text = name.replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2").replace(/[-_]+/g, " ").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const titleOf = screen => screen.title || words(screen.name);

/** Whether a value has members or elements. */
export const isObject = value => value !== null && typeof value === "object" && !(value instanceof ExactNumber);

export function plain(value) {
  if (value === null || value === undefined || value === "") return "—";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return isObject(value) ? stringify(value) : String(value);
}

export const clock = time => new Date(time).toLocaleTimeString("en-GB");
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** 90061 as “1 d 1 h”: the two largest units. */
export function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]], found = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, size] of units) {
    if (rest >= size && found.length < 2) found.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return found.join(" ") || "0 s";
}

/** Says that something is under way; it is seen only after 300 ms. */
export const spinner = () => h("i.spinner", { "aria-hidden": "true" });

/** Writes how long work has been under way, and how long it takes until a timer is due. */
export function tick(host) {
  for (const element of host.querySelectorAll("[data-since], [data-due]")) {
    const { since, due } = element.dataset, seconds = (Date.parse(since ?? due) - Date.now()) / 1000;
    element.textContent = since ? ` for ${duration(-seconds)}` : seconds < 0.5 ? " due" : ` in ${duration(seconds)}`;
  }
}

/** A message where there is nothing else to show, with what the user can do. */
export const notice = (title, sentence, ...actions) => h("section.notice", {},
  h("h2", {}, title), h("p", {}, sentence), actions.length > 0 && h(".actions", {}, actions));

/** A line at the bottom, read out by screen readers; it goes by itself if it has no button. */
let timer;
export function say(sentence, title, action) {
  const note = document.getElementById("note");
  clearTimeout(timer);
  note.replaceChildren(...parts([sentence && h("span", {}, sentence),
    title && h("button", { onclick: () => { say(); action(); } }, title)]));
  if (sentence && !title) timer = setTimeout(say, 6000);
}

/** Removes the message of an earlier failure after a success, unless it has a button. */
export const hush = () => { if (!document.querySelector("#note button")) say(); };

/** What the page says while a request waits. */
export const wait = waiting => {
  if (!waiting) return say();
  const why = { 429: "Too many requests.", 503: "The server is busy.", 504: "The server is busy." }[waiting.status]
    ?? "No connection to the server.";
  say(`${why} Trying again in ${Math.ceil(waiting.seconds)} s.`, "Try now", waiting.retry);
};

/** Reads what is at a path of the server. */
export const ask = async (path, options) => (await request(root + path, { onWaiting: wait, ...options })).body;

/** Something that is shown only if it takes longer than 300 ms. */
export const loading = sentence => h("p.loading.quiet", { role: "status" }, sentence);

/** What this tab keeps: tokens, and what was typed. Nothing is kept longer than the tab. */
export const kept = {
  get(name) { return parse(sessionStorage.getItem(`console ${name}`) ?? "null") ?? undefined; },
  set(name, value) {
    const key = `console ${name}`;
    value === undefined ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, stringify(value));
  },
  names(prefix) {
    const start = `console ${prefix}`;
    return Object.keys(sessionStorage).filter(key => key.startsWith(start)).map(key => key.slice(start.length));
  },
};

/** The links of the console's pages. */
export const pages = {
  all: `${root}console`, server: `${root}console/server`,
  session: id => `${root}console/sessions/${encodeURIComponent(id)}`,
  app: name => `${root}console/apps/${encodeURIComponent(name)}`,
};
