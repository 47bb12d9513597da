/** A JSON value, folded and searchable, with what differs from the value before it. */
import { ExactNumber, stringify } from "../client.js";
import { h, isObject } from "./dom.js";
import { markNames, symbols } from "./state.js";

const typeOf = value => value === null ? "null" : value instanceof ExactNumber ? "number" : typeof value;

/** The members of an object or a list. Screens, tabs and the like are compared by their key or id,
 * and words by themselves, not by their place. */
function entries(value) {
  if (!isObject(value)) return new Map();
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  return new Map(value.map((item, index) => [isObject(item) ? item.key ?? item.id ?? `${index}`
    : typeof item === "string" ? item : `${index}`, item]));
}

/**
 * The view. `opened` maps a path to whether the user opened or folded it, and is kept by the caller; `search` is what
 * has to be found, in lower case. Objects with a `key` have `data-key`.
 */
export function jsonView(value, before, { opened, search = "" }) {
  const list = (value, old, path, depth) => {
    const now = entries(value), was = entries(old),
      names = [...now.keys(), ...[...was.keys()].filter(name => !now.has(name))];
    return names.map(name => {
      const state = !was.size || old === undefined ? undefined : !was.has(name) ? "added" : !now.has(name) ? "removed"
        : undefined;
      return item(name, now.has(name) ? now.get(name) : was.get(name), state ? undefined : was.get(name),
        `${path}/${name}`,
        depth, state, Array.isArray(value));
    }).filter(Boolean);
  };
  const item = (name, value, old, path, depth, given, isInList) => {
    const isDifferent = given ?? (old !== undefined && stringify(value) !== stringify(old) ? "changed"
      : undefined);
    const label = [h("span.sign", { "aria-label": isDifferent && markNames[isDifferent] }, symbols[isDifferent]),
      !(isInList && name === value) && [h("span.name", {}, found(name)), isInList ? " " : ": "]];
    const style = isDifferent ? `li.${isDifferent}` : "li", key = isObject(value) && typeof value.key === "string"
      && value.key;
    if (isObject(value) && Object.keys(value).length) {
      const inner = list(value, old, path, depth + 1), isHit = search && (inner.length || matches(name));
      if (search && !isHit) return undefined;
      const isOpen = search ? true : opened.get(path) ?? (isDifferent === "changed" || depth < 1);
      const fold = h("details", { open: isOpen },
        h("summary", { "data-focus": path, "data-key": key || undefined,
          onclick: () => opened.set(path, !fold.open) }, label, h("span.quiet", {}, summary(value))),
        h("ul", {}, inner));
      return h(style, {}, fold);
    }
    if (search && !matches(name) && !matches(stringify(value))) return undefined;
    const was = isDifferent === "changed" && !isObject(old) && [h("del", {}, stringify(old)), " "];
    return h(style, {}, label, was, h(`span.${typeOf(value)}`, {},
      found(stringify(value))));
  };
  const matches = text => text.toLowerCase().includes(search);
  const found = text => {
    const at = search ? text.toLowerCase().indexOf(search) : -1;
    return at < 0 ? text : [text.slice(0, at), h("mark", {}, text.slice(at, at + search.length)),
      text.slice(at + search.length)];
  };
  const all = list(value, before, "", 0);
  return all.length ? h("ul.json", {}, all) : h("p.quiet", {}, "Nothing in this state contains that.");
}

function summary(value) {
  if (Array.isArray(value)) return `[ ${value.length} ]`;
  const text = [value.key ?? value.id, value.name ?? value.op ?? value.effect].filter(text =>
    typeof text === "string").join(" ");
  return `{ ${text || Object.keys(value).length} }`;
}
