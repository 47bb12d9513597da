/** The coordinators as a tree, and their screens as layers. */
import { h, spinner } from "./dom.js";
import { markNames, screensOf, symbols } from "./state.js";

const mark = name => name && h(`span.mark.${name}`, { "aria-label": markNames[name], title: markNames[name] },
  symbols[name]);

/** An effect with its age, or a timer with the time that is left, which `tick` writes. */
const workView = ({ id, effect, since, signal, due, whenIdle }) => h("p.work", {},
  effect ? spinner() : h("span.sign", { "aria-hidden": "true" }, "◷"), effect ?? signal,
  h("span.quiet", {}, id !== (effect ?? signal) && ` ${id}`),
  h("span.quiet", { "data-since": since, "data-due": due }),
  whenIdle && h("span.quiet", {}, ", if the user does nothing"));

/**
 * `nodes` and `before` are the coordinators of this version and of the one before it. With `isNow` it shows what they
 * wait for.
 */
export function treeView(nodes, before, state, stateBefore, marks, isNow) {
  const screens = new Map([...stateBefore ? screensOf(stateBefore) : [], ...screensOf(state)].map(found =>
    [found.key, found]));
  const all = new Map([...before ?? [], ...nodes].map(node => [node.path, { ...node, screens: [...node.screens] }]));
  for (const { path, screens } of before ?? []) {
    for (const key of screens) if (marks.get(key) === "removed"
      && !all.get(path).screens.includes(key)) all.get(path).screens.push(key);
  }
  const has = (list, path) => list.some(node => node.path === path);
  const markOf = path => !before ? undefined : !has(before, path) ? "added" : !has(nodes, path) ? "removed" : undefined;
  const chip = key => {
    const { screen, flow } = screens.get(key) ?? { screen: { name: key } };
    const where = [flow && `${flow.style === "sheet" ? "sheet" : "full screen"} ${flow.key}`, screen.tabs && "tabs"];
    return h(`button.chip${key === state.visible.key ? ".visible" : ""}`, { "data-key": key }, mark(marks.get(key)),
      h("code", {}, key), ` ${screen.name} `, h("span.quiet", {}, where.filter(Boolean).join(", ")));
  };
  const branch = parent => {
    const children = [...all.values()].filter(node => node.parent === parent);
    return children.length > 0 && h("ul", {}, children.map(({ path, name, screens, pending = [] }) => h("li", {},
      h(`button.owner${markOf(path) === "removed" ? ".gone" : ""}`,
        { "data-owner": path, "data-keys": screens.join(" ") },
        mark(markOf(path)), name),
      screens.map(chip), isNow && pending.map(workView), branch(path))));
  };
  return h(".tree", {}, branch(undefined));
}

/** The screens in perspective: what the user looks at from behind to the front, then the stacks in the other tabs. */
export function layersView(state, marks) {
  const screens = screensOf(state), others = Map.groupBy(screens.filter(({ isShown }) => !isShown),
    ({ stack }) => stack);
  const plane = ({ screen, key, flow }) =>
    h(`button.plane${key === state.visible.key ? ".visible" : ""}${flow ? `.${flow.style}` : ""}`,
    { "data-key": key }, h("code", {}, key, " ", mark(marks.get(key))), h("span", {}, screen.title || screen.name),
    h("span.quiet", {}, flow ? `${flow.style === "sheet" ? "sheet" : "full screen"} ${flow.key}` : screen.tabs
      && "tabs"));
  const alert = state.alert && h("button.plane.alerted", { "data-key": state.alert.key },
    h("code", {}, state.alert.key), h("span", {}, state.alert.title), h("span.quiet", {}, "alert"));
  return h(".layers", {}, h(".planes", {}, screens.filter(({ isShown }) => isShown).map(plane), alert),
    others.size > 0 && h("h3", {}, "In the other tabs"), h(".lanes", {}, [...others].map(([name, screens]) =>
      h(".planes.small", {}, h("span.quiet", {}, name), screens.map(plane)))));
}
