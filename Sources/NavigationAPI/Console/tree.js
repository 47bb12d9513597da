/** The coordinators as a tree, and their screens as layers. */
import { h, titleOf } from "./dom.js";
import { markNames, screensOf, symbols } from "./state.js";

const mark = name => name && h(`span.mark.${name}`, { "aria-label": markNames[name], title: markNames[name] }, symbols[name]);

/** `nodes` and `before` are the coordinators of this version and of the one before it. */
export function treeView(nodes, before, state, stateBefore, marks) {
  const screens = new Map([...stateBefore ? screensOf(stateBefore) : [], ...screensOf(state)].map(found => [found.key, found]));
  const all = new Map([...before ?? [], ...nodes].map(node => [node.path, { ...node, screens: [...node.screens] }]));
  for (const { path, screens } of before ?? []) {
    for (const key of screens) if (marks.get(key) === "removed" && !all.get(path).screens.includes(key)) all.get(path).screens.push(key);
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
    return children.length > 0 && h("ul", {}, children.map(({ path, name, screens }) => h("li", {},
      h(`button.owner${markOf(path) === "removed" ? ".gone" : ""}`, { "data-owner": path, "data-keys": screens.join(" ") },
        mark(markOf(path)), name),
      screens.map(chip), branch(path))));
  };
  return h(".tree", {}, branch(undefined));
}

/** Each stack as a row of layers, the front one on top; what the user does not see is paler. */
export function layersView(state, marks) {
  const rows = new Map();
  for (const found of screensOf(state)) {
    if (!rows.has(found.stack)) rows.set(found.stack, []);
    rows.get(found.stack).push(found);
  }
  const alert = state.alert && h("button.plane.alerted", { "data-key": state.alert.key },
    h("code", {}, state.alert.key), h("span", {}, state.alert.title));
  return h(".layers", {}, alert && h(".lane", {}, h("h3", {}, "alert"), h(".planes", {}, alert)),
    [...rows].reverse().map(([name, screens]) => h(`.lane${screens[0].isShown ? "" : ".hidden"}`, {},
      h("h3", {}, name, " ", h("span.quiet", {}, screens[0].flow?.style === "fullScreen" ? "full screen" : screens[0].flow?.style)),
      h(".planes", {}, screens.map(({ screen, key }) =>
        h(`button.plane${key === state.visible.key ? ".visible" : ""}`, { "data-key": key },
          h("code", {}, key, " ", mark(marks.get(key))), h("span", {}, screen.tabs ? `${screen.name} (tabs)` : titleOf(screen))))))));
}
