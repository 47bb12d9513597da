/** An app's map: its screens and alerts, and the events that lead from one to another, in layers from the start. */
import { send } from "../client.js";
import { count, draw, h, kept, loading, notice, pages, render, root } from "./dom.js";
import { askForOperator } from "./server.js";

const [wide, high, across, down] = [136, 44, 240, 104];

export async function mapPage(main, app, config) {
  const operator = kept.get("operator"), session = new URLSearchParams(location.search).get("session");
  let map, way = [], counts = new Map(), withBuiltIn = false;
  const wait = setTimeout(() => render(main, loading("Exploring the app")), 300);
  try {
    map = (await send(`${root}console/api/apps/${encodeURIComponent(app)}/map`, { token: operator })).answer;
  } catch (problem) {
    return render(main, [401, 403].includes(problem.status) ? askForOperator(config, () => mapPage(main, app, config))
      : notice("There is no map", problem.message, h("a", { href: pages.all }, "All sessions")));
  } finally { clearTimeout(wait); }
  const token = session && kept.get(`token ${session}`) || operator;
  if (session && token) {
    const path = kept.get(`token ${session}`) ? "v1" : "console/api";
    await send(`${root}${path}/sessions/${session}/history?limit=100`, { token })
      .then(({ answer }) => { way = answer.history.reverse().map(({ visible, event }) => ({ ...visible, event })); }, () => {});
  }
  if (operator) {
    await send(`${root}console/api/server`, { token: operator }).then(({ answer }) => {
      const found = answer.sessions.byApp.find(entry => entry.app === app);
      counts = new Map(found?.screens.map(({ screen, count }) => [screen, count]));
    }, () => {});
  }
  const check = h("input", { type: "checkbox", onchange: () => { withBuiltIn = check.checked; show(); } });
  const host = h(".mapside", { tabIndex: 0, role: "region", "aria-label": `The map of ${app}` });
  render(main, h(".maphead", {}, h("label.check", {}, check, "Built-in events"),
    session ? h("span", {}, "The way of ", h("a", { href: pages.session(session) }, session), way.length ? "" : " is not known in this tab")
      : h("span.quiet", {}, `${count(map.nodes.length - 1, "node")}. A session's page leads here with its way drawn in.`)), host);
  show();

  function show() {
    render(host, drawing(map, { way, counts, withBuiltIn }), h("details", {}, h("summary", {}, "The same as a list"), h("ul.plain", {},
      map.nodes.map(node => h("li", {}, h("b", {}, node.name), h("span.quiet", {}, ` ${node.kind}, ${node.coordinator ?? app}: `),
        map.edges.filter(({ from, builtIn }) => from === node.id && (withBuiltIn || !builtIn))
          .map(({ event, to }) => `${event} → ${map.nodes.find(({ id }) => id === to).name}`).join(", ") || "–")))));
  }
}

/**
 * What is drawn of a map: edges with the same ends as one, with all events; an event that leads from many screens to one
 * as a note at that one; events that stay on a screen as a note at it. Of the built-in events those stay by which alone
 * a screen is found.
 */
export function simplified({ nodes, edges }, withBuiltIn) {
  const start = nodes.find(({ kind }) => kind === "start") ?? nodes[0], depth = new Map([[start.id, 0]]), first = new Set();
  const queue = [start.id];
  while (queue.length) {
    const from = queue.shift();
    for (const edge of edges.filter(edge => edge.from === from).sort((a, b) => a.builtIn - b.builtIn)) {
      if (depth.has(edge.to)) continue;
      depth.set(edge.to, depth.get(from) + 1);
      first.add(edge);
      queue.push(edge.to);
    }
  }
  const kept = edges.filter(edge => withBuiltIn || !edge.builtIn || first.has(edge)), notes = new Map(), drawn = new Map();
  const note = (id, text) => notes.set(id, [...notes.get(id) ?? [], text]);
  const many = Math.max(4, nodes.length / 3), groups = Map.groupBy(kept.filter(({ from, to }) => from !== to), ({ event, to }) => `${event} ${to}`);
  for (const [, group] of groups) {
    const isMany = group.length >= many && !group.some(edge => first.has(edge));
    if (isMany) note(group[0].to, `${group[0].event} from ${group.length}`);
    for (const { from, to, event, builtIn } of isMany ? [] : group) {
      const key = `${from} ${to}`, known = drawn.get(key) ?? { from, to, events: [], builtIn: true };
      if (!known.events.includes(event)) known.events.push(event);
      known.builtIn &&= builtIn;
      drawn.set(key, known);
    }
  }
  for (const [from, group] of Map.groupBy(kept.filter(({ from, to }) => from === to), ({ from }) => from)) {
    note(from, `↻ ${[...new Set(group.map(({ event }) => event))].join(", ")}`);
  }
  return { edges: [...drawn.values()], notes, depth };
}

/** The place of each node: its layer is its distance from the start, its row the mean of its neighbours' rows. */
function placed(nodes, edges, depth) {
  const layers = [];
  for (const node of nodes) (layers[depth.get(node.id) ?? 0] ??= []).push(node.id);
  const row = new Map(), centre = layer => layer.forEach((id, index) => row.set(id, index - (layer.length - 1) / 2));
  layers.forEach(centre);
  for (let pass = 0; pass < 8; pass++) {
    for (const layer of pass % 2 ? [...layers].reverse() : layers) {
      const weight = id => {
        const near = edges.filter(({ from, to }) => from === id || to === id).map(({ from, to }) => row.get(from === id ? to : from));
        return near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : row.get(id);
      };
      const weights = new Map(layer.map(id => [id, weight(id)]));
      layer.sort((a, b) => weights.get(a) - weights.get(b));
      centre(layer);
    }
  }
  const top = Math.min(...row.values());
  return new Map(nodes.map(({ id }) => [id, { x: 24 + (depth.get(id) ?? 0) * across, y: 48 + (row.get(id) - top) * down, layer: depth.get(id) }]));
}

function drawing(map, { way, counts, withBuiltIn }) {
  const { edges, notes, depth } = simplified(map, withBuiltIn), places = placed(map.nodes, edges, depth);
  const isOn = ({ name, coordinator, kind }) => kind === "start" ? way.length > 0 : way.some(screen => screen.name === name && screen.coordinator === coordinator);
  const nodeOf = id => map.nodes.find(node => node.id === id), steps = way.slice(1).map((screen, index) => [way[index].name, screen.name, screen.event]);
  const isWay = ({ from, to, events }) => nodeOf(from).kind === "start" && isOn(nodeOf(to)) && way[0]?.name === nodeOf(to).name
    || steps.some(([a, b, event]) => a === nodeOf(from).name && b === nodeOf(to).name && (events.includes(event) || !event));
  const largest = Math.max(1, ...counts.values()), right = Math.max(...[...places.values()].map(({ x }) => x)) + wide + 48;
  const bottom = Math.max(...[...places.values()].map(({ y }) => y)) + high + 96, ends = new Map();
  // Several edges at the same side of a node leave it at different heights.
  const port = (id, side) => { const key = `${id} ${side}`, used = ends.get(key) ?? 0; ends.set(key, used + 1); return [0, 10, -10, 18, -18][used % 5]; };
  const lines = edges.map((edge, index) => {
    const a = places.get(edge.from), b = places.get(edge.to), style = `path.edge${edge.builtIn ? ".builtin" : ""}${isWay(edge) ? ".way" : ""}`;
    let path, x, y;
    if (b.layer > a.layer) {
      const y1 = a.y + high / 2 + port(edge.from, "right"), y2 = b.y + high / 2 + port(edge.to, "left"), x1 = a.x + wide, bend = (b.x - x1) / 2;
      path = `M${x1} ${y1}C${x1 + bend} ${y1} ${b.x - bend} ${y2} ${b.x - 4} ${y2}`;
      [x, y] = [x1 + (b.x - x1) / 2, (y1 + y2) / 2];
    } else if (b.layer === a.layer) {
      const isDown = b.y > a.y, x1 = a.x + wide / 2 + port(edge.from, "side") * 2, y1 = isDown ? a.y + high : a.y, y2 = isDown ? b.y - 4 : b.y + high + 4;
      const bow = Math.abs(b.y - a.y) > down ? wide : 0;
      path = `M${x1} ${y1}C${x1 + bow} ${y1 + (y2 - y1) / 3} ${x1 + bow} ${y2 - (y2 - y1) / 3} ${x1} ${y2}`;
      [x, y] = [x1 + bow * 0.75, (y1 + y2) / 2];
    } else {
      const x1 = a.x + wide / 2 + port(edge.from, "under") * 2, x2 = b.x + wide / 2 + 24 + port(edge.to, "under") * 2;
      const low = Math.max(a.y, b.y) + high + 24 + 12 * (a.layer - b.layer) + 6 * (index % 3);
      path = `M${x1} ${a.y + high}C${x1} ${low + 20} ${x2} ${low + 20} ${x2} ${b.y + high + 4}`;
      [x, y] = [(x1 + x2) / 2, low * 0.75 + 0.125 * (a.y + b.y + 2 * high) + 15];
    }
    return { line: draw(style, { d: path, "marker-end": `url(#${isWay(edge) ? "w" : "e"})` }, draw("title", {}, `${nodeOf(edge.from).name}: ${edge.events.join(", ")}`)),
      label: draw(`text.label${isWay(edge) ? ".way" : ""}`, { x, y: y + 4 }, edge.events.slice(0, 2).join(", ") + (edge.events.length > 2 ? ` +${edge.events.length - 2}` : "")) };
  });
  const marker = id => draw(`marker.${id}`, { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, draw("path", { d: "M0 0L8 4L0 8z" }));
  return draw("svg.map", { viewBox: `0 0 ${right} ${bottom}`, width: right, height: bottom, role: "img", "aria-label": "Screens as nodes, events as edges; the same is below as a list" },
    draw("defs", {}, marker("e"), marker("w")), lines.map(({ line }) => line),
    map.nodes.map(node => {
      const { x, y } = places.get(node.id), lives = node.kind === "screen" ? counts.get(node.name) ?? 0 : 0, grow = lives && 4 + 8 * Math.sqrt(lives / largest);
      const shape = node.kind === "alert" ? draw("path", { d: `M${x + 14} ${y}H${x + wide - 14}L${x + wide} ${y + high / 2}L${x + wide - 14} ${y + high}H${x + 14}L${x} ${y + high / 2}z` })
        : draw("rect", { x: x - grow / 2, y: y - grow / 2, width: wide + grow, height: high + grow, rx: node.kind === "start" ? 22 : 8 });
      return draw(`g.node.${node.kind}${isOn(node) ? ".way" : ""}`, {}, shape, draw("title", {}, node.name),
        draw("text", { x: x + wide / 2, y: y + (node.coordinator && node.kind !== "start" ? 19 : 27) }, node.name.length > 18 ? `${node.name.slice(0, 17)}…` : node.name),
        node.kind !== "start" && draw("text.quiet", { x: x + wide / 2, y: y + 35 }, `${node.coordinator}${lives ? ` · ${lives}` : ""}`),
        (notes.get(node.id) ?? []).map((text, index) => draw("text.note", { x: x + wide / 2, y: y - 9 - grow / 2 - 14 * index }, text.length > 30 ? `${text.slice(0, 29)}…` : text, draw("title", {}, text))));
    }), lines.map(({ label }) => label));
}
