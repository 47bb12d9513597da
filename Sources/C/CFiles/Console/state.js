/** Reads a state: its screens, its coordinators, and what differs between two states. Draws nothing. */

/**
 * The screens of a state, from the bottom to the front: `{ screen, key, stack, flow, isShown }`, where `isShown` says
 * whether the user would come to it by going back. `below` is the screen underneath, or the one with the tabs.
 */
export function screensOf(state) {
  const found = [];
  const walk = (stack, name, flow, isShown, under) => {
    let below = under;
    for (const screen of stack) {
      found.push({ screen, key: screen.key, stack: name, flow, isShown, below });
      for (const { id, stack } of screen.tabs?.items ?? []) {
        walk(stack, `${screen.key}/${id}`, flow, isShown && id === screen.tabs.selected, screen);
      }
      below = screen;
    }
  };
  walk(state.stack, "main", undefined, true);
  for (const flow of state.presented ?? []) walk(flow.stack, flow.key, flow, true,
    found.findLast(s => s.isShown)?.screen);
  return found;
}

/** A screen without the stacks in its tabs, to compare it. */
function own({ tabs, ...screen }) {
  return JSON.stringify(tabs ? { ...screen, selected: tabs.selected,
    items: tabs.items.map(({ stack, ...item }) => item) }
    : screen);
}

/** What became of each screen: a map from keys to `added`, `removed` and `changed`. Empty without a state before. */
export function screenMarks(state, before) {
  const marks = new Map();
  if (!before) return marks;
  const old = new Map(screensOf(before).map(({ key, screen }) => [key, own(screen)]));
  for (const { key, screen } of screensOf(state)) {
    if (!old.has(key)) marks.set(key, "added"); else if (old.get(key) !== own(screen)) marks.set(key, "changed");
    old.delete(key);
  }
  for (const key of old.keys()) marks.set(key, "removed");
  return marks;
}

/**
 * The coordinators of many versions. The server has the tree of the newest version only; each tree that was read stays
 * known, and the tree of another version is put together from the owners of its screens.
 */
export class Coordinators {
  #trees = new Map();
  #owners = new Map();
  #parents = new Map();
  #root = "app";

  /** Keeps a tree as the server sent it, if it is the tree of this state. */
  keep(tree, state) {
    const nodes = [], keys = [];
    const walk = (node, parent) => {
      const base = parent ? `${parent}/${node.name}` : node.name;
      let path = base;
      for (let n = 2; nodes.some(other => other.path === path); n++) path = `${base} ${n}`;
      nodes.push({ path, parent, name: node.name, screens: node.screens ?? [], pending: node.pending ?? [] });
      keys.push(...node.screens ?? []);
      for (const child of node.children ?? []) walk(child, path);
    };
    walk(tree);
    if (keys.sort().join() !== screensOf(state).map(({ key }) => key).sort().join()) return false;
    this.#root = tree.name;
    for (const { path, parent, name, screens } of nodes) {
      this.#parents.set(name, parent);
      for (const key of screens) this.#owners.set(key, { path, parent, name });
    }
    this.#trees.set(state.session.version, nodes);
    return true;
  }

  has(version) { return this.#trees.has(version); }

  /** The coordinators of a state, parents first: `{ path, parent, name, screens }`. */
  of(state) {
    const known = this.#trees.get(state.session.version);
    if (known) return known;
    const nodes = new Map(), paths = new Map();
    const add = (path, parent, name) => {
      if (!nodes.has(path)) nodes.set(path, { path, parent, name, screens: [] });
      return nodes.get(path);
    };
    const ancestors = path => {
      const names = path.split("/");
      names.forEach((name, index) => add(names.slice(0, index + 1).join("/"), names.slice(0, index).join("/")
        || undefined,
        name.replace(/ \d+$/, "")));
    };
    add(this.#root, undefined, this.#root);
    for (const { screen, key, below } of screensOf(state)) {
      const name = screen.coordinator, owner = this.#owners.get(key);
      let path = owner?.path;
      if (!path && below?.coordinator === name) path = paths.get(below.key);
      if (!path && name === this.#root) path = name;
      path ??= `${this.#parents.get(name) ?? paths.get(below?.key) ?? this.#root}/${name}`;
      ancestors(path);
      paths.set(key, path);
      nodes.get(path).screens.push(key);
    }
    return [...nodes.values()];
  }
}

/** What a version was made for: an event, or the end of work, a timer or a signal, which is said. */
export const causeText = ({ event, cause = "event" }) =>
  !event ? "start" : cause === "event" ? event : `${event} (${cause})`;

export const symbols = { added: "+", removed: "−", changed: "~" };
export const markNames = { added: "new", removed: "gone", changed: "changed" };

const signs = { push: "+", pop: "−", replace: "⇄", present: "↑", dismiss: "↓", selectTab: "→", alert: "!",
  dismissAlert: "×", update: "~" };

/** An operation as a sign and words. */
export function operationText({ op, key, stack, tab, style, replaced }) {
  const details = [key, replaced && `for ${replaced}`, tab && `to ${tab}`, stack && stack !== "main" && `on ${stack}`,
    style];
  return { sign: signs[op] ?? "·", text: [op, ...details].filter(Boolean).join(" "), key: tab ? undefined : key };
}
