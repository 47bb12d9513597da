/**
 * An app's map: its screens and alerts, and the events that lead from one to another, in layers from the start: from
 * left to right, or from the top down where the window is narrow.
 */
import { ask, count, draw, h, kept, loading, notice, pages, render } from "./dom.js";
import { askForOperator } from "./server.js";

/**
 * The size of a node; its size along the way from the start and across it; the steps between nodes in these directions.
 * `x` and `y` are exchanged in the end if the way leads down.
 */
const shapes = {
  right: { wide: 152, high: 44, length: 152, breadth: 44, across: 224, down: 104 },
  down: { wide: 106, high: 44, length: 44, breadth: 106, across: 120, down: 114, isTurned: true },
};

export async function mapPage(main, app, config) {
  const operator = kept.get("operator"), session = new URLSearchParams(location.search).get("session");
  let map, way = [], counts = new Map(), withBuiltIn = false;
  const wait = setTimeout(() => render(main, loading("Exploring the app")), 300);
  try {
    map = graph(app, await ask(`console/api/apps/${encodeURIComponent(app)}/map`, { token: operator }));
  } catch (problem) {
    return render(main, [401, 403].includes(problem.status) ? askForOperator(config, () => mapPage(main, app, config))
      : notice("There is no map", problem.status !== 404 ? problem.message : config.development
        ? "The server has no app with this name."
        : "It is drawn with --development only: drawing it calls the app's handlers.",
      h("a", { href: pages.all }, "All sessions")));
  } finally { clearTimeout(wait); }
  const token = session && (kept.get(`token ${session}`) ?? operator);
  if (token) {
    const path = token === operator ? "console/api" : "v1";
    await ask(`${path}/sessions/${session}/history?limit=100`, { token }).then(({ history }) => {
      const older = (kept.get(`way ${session}`) ?? []).filter(({ version }) => version < history.at(-1)?.version);
      way = [...older, ...history.reverse()].map(({ visible, event }) => ({ ...visible, event }));
    }, () => {});
  }
  if (operator) {
    await ask("console/api/server", { token: operator }).then(answer => {
      const found = answer.sessions.byApp.find(entry => entry.app === app);
      counts = new Map(found?.screens.map(({ screen, count }) => [screen, count]));
    }, () => {});
  }
  const check = h("input", { type: "checkbox", onchange: () => { withBuiltIn = check.checked; show(); } });
  const view = h(".mapview", { tabIndex: 0, role: "region",
    "aria-label": `The map of ${app}: + and − zoom, arrows move` });
  const list = h("details"), lens = new Lens(view);
  const button = (text, name, act) => h("button.plain", { "aria-label": name, title: name, onclick: act }, text);
  render(main, h(".maphead", {}, h("label.check", {}, check, "Built-in events"),
    session ? h("span", {}, "The way of ", h("a", { href: pages.session(session) }, session), way.length ? ""
      : " is not known in this tab")
      : h("span.quiet", {}, `${count(map.nodes.length - 1, "node")}. A session's page leads here with its way drawn in.`),
    h("span.zoom", {}, button("−", "Zoom out", () => lens.zoom(1 / 1.4)), button("+", "Zoom in", () => lens.zoom(1.4)),
      button("Whole map", "Show the whole map", () => lens.fit()))),
  h(".mapside", {}, view, list));
  let shape;
  new ResizeObserver(() => {
    if (shape === chosenShape()) lens.resize(); else show();
  }).observe(view);

  function chosenShape() { return view.clientWidth < 700 ? shapes.down : shapes.right; }

  function show() {
    shape = chosenShape();
    lens.show(...drawing(map, { way, counts, withBuiltIn, shape }));
    render(list, h("summary", {}, "The same as a list"),
      h("ul.plain", {},
      map.nodes.map(node => h("li", {}, h("b", {}, node.name),
        h("span.quiet", {}, ` ${node.kind}, ${node.coordinator ?? app}: `),
        map.edges.filter(({ from, builtIn }) => from === node.id && (withBuiltIn || !builtIn))
          .map(({ event, to }) => `${event} → ${map.nodes.find(({ id }) => id === to).name}`).join(", ")
          || "–"))));
  }
}

/** What of a drawing is seen: all of it as long as that can be read; wheel, pinch, drag and keys change it. */
class Lens {
  #host; #svg; #box; #first; #at; #scale; #isWhole = false; #isChosen = false; #pointers = new Map();

  constructor(host) {
    this.#host = host;
    host.addEventListener("wheel", event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), event);
    }, { passive: false });
    host.addEventListener("pointerdown", event => {
      host.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, event);
    });
    host.addEventListener("pointermove", event => this.#drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      host.addEventListener(end, ({ pointerId }) => this.#pointers.delete(pointerId));
    }
    host.addEventListener("keydown", event => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (moves) this.#move(...moves);
      else if ("+=".includes(event.key)) this.zoom(1.4);
      else if (event.key === "-") this.zoom(1 / 1.4);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }

  /** `box`: left, top, width and height of what is drawn; `first`: of the nodes alone. */
  show(svg, box, first) {
    this.#svg = svg;
    this.#box = box;
    this.#first = first;
    this.#host.replaceChildren(svg);
    this.#isWhole = this.#isChosen = false;
    this.resize();
  }

  /** Until the user has chosen what to see: all of it, if that can be read; if not, where it begins. */
  resize() {
    if (this.#isChosen) return this.#draw();
    if (this.#isWhole || this.#whole >= 0.66) return this.#show(this.#box, this.#whole);
    this.#show(this.#first, Math.min(1, Math.max(0.66, this.#scaleOf(this.#first))));
  }

  fit() {
    this.#isWhole = true;
    this.#isChosen = false;
    this.resize();
  }

  /** Shows a part in the middle, or its beginning where it is larger than the window. */
  #show([left, top, wide, high], scale) {
    const [width, height] = this.#size, begin = (start, size, seen) => start - Math.max(0, seen - size) / 2;
    this.#scale = scale;
    this.#at = [begin(left, wide, width / scale), begin(top, high, height / scale)];
    this.#draw();
  }

  /** The point under the pointer stays where it is; without a pointer, the middle. */
  zoom(factor, pointer) {
    const { left, top, width, height } = this.#host.getBoundingClientRect();
    const [x, y] = pointer ? [pointer.clientX - left, pointer.clientY - top] : [width / 2, height / 2];
    const scale = Math.min(3, Math.max(this.#whole / 2, this.#scale * factor));
    this.#at = [this.#at[0] + x / this.#scale - x / scale, this.#at[1] + y / this.#scale - y / scale];
    this.#scale = scale;
    this.#isChosen = true;
    this.#draw();
  }

  get #size() { return [this.#host.clientWidth || 1, this.#host.clientHeight || 1]; }

  #scaleOf([, , wide, high]) {
    const [width, height] = this.#size;
    return Math.min(1.2, width / wide, height / high);
  }

  get #whole() { return this.#scaleOf(this.#box); }

  #move(x, y) {
    this.#at = [this.#at[0] - x / this.#scale, this.#at[1] - y / this.#scale];
    this.#isChosen = true;
    this.#draw();
  }

  #drag(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, event);
    const distance = ({ clientX, clientY }) => Math.hypot(clientX - other.clientX, clientY - other.clientY);
    const [x, y] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (!other) return this.#move(x, y);
    this.#move(x / 2, y / 2);
    this.zoom(distance(event) / Math.max(1, distance(before)),
      { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 });
  }

  #draw() {
    const [width, height] = this.#size;
    this.#svg.setAttribute("viewBox", [...this.#at, width / this.#scale, height / this.#scale].join(" "));
  }
}

/** The map from what `coordinatord graph` writes: with the start as a node, and an edge for each event. */
function graph(app, { nodes, edges }) {
  return { nodes: [{ id: "start", name: app, coordinator: "", kind: "start" }, ...nodes.map(({ id, screen, alert,
    coordinator }) => ({ id, name: screen ?? alert, coordinator, kind: screen === undefined ? "alert" : "screen" }))],
  edges: [...nodes.slice(0, 1).map(({ id }) => ({ from: "start", to: id, event: "start", builtIn: false })),
    ...edges.flatMap(({ from, to, events, signals, isBuiltIn }) => (events ?? signals).map(event => ({ from, to, event,
      builtIn: isBuiltIn })))] };
}

/**
 * What is drawn of a map: edges with the same ends as one edge with all their events; an event that leads from many
 * screens to one as a note at that one; events that stay on a screen as a note at it. Of the built-in events, only
 * those are drawn that alone lead to a screen, and those of the session's way. `layer` has each node's distance from
 * the start, on the way that a user would prefer.
 */
export function simplified({ nodes, edges }, withBuiltIn, isWay) {
  const start = nodes.find(({ kind }) => kind === "start") ?? nodes[0], layer = new Map([[start.id, 0]]);
  const costs = new Map([[start.id, 0]]), first = new Map(), open = new Set([start.id]);
  while (open.size) {
    const from = [...open].sort((a, b) => costs.get(a) - costs.get(b))[0];
    open.delete(from);
    for (const edge of edges.filter(edge => edge.from === from)) {
      const cost = costs.get(from) + (!edge.builtIn ? 1 : edge.event.startsWith("/") ? 4 : 1.5);
      if (cost >= (costs.get(edge.to) ?? Infinity)) continue;
      costs.set(edge.to, cost);
      layer.set(edge.to, layer.get(from) + 1);
      first.set(edge.to, edge);
      open.add(edge.to);
    }
  }
  const isFirst = edge => first.get(edge.to) === edge, notes = new Map(), drawn = new Map();
  const kept = edges.filter(edge => withBuiltIn || !edge.builtIn || isFirst(edge) || isWay(edge));
  const note = (id, text) => notes.set(id, [...notes.get(id) ?? [], text]);
  for (const [from, group] of Map.groupBy(kept.filter(({ from, to }) => from === to), ({ from }) => from)) {
    note(from, `↻ ${[...new Set(group.map(({ event }) => event))].join(", ")}`);
  }
  for (const [, group] of Map.groupBy(kept.filter(({ from, to }) => from !== to),
    ({ event, to }) => `${event} ${to}`)) {
    const isMany = group.filter(edge => !isFirst(edge)).length > 2;
    if (isMany) note(group[0].to, `${group[0].event} from ${group.length}`);
    for (const { from, to, event, builtIn } of isMany ? group.filter(edge => isFirst(edge) || isWay(edge)) : group) {
      const key = `${from} ${to}`, known = drawn.get(key) ?? { from, to, events: [], builtIn: true };
      if (!known.events.includes(event)) known.events.push(event);
      known.builtIn &&= builtIn;
      drawn.set(key, known);
    }
  }
  return { edges: [...drawn.values()], notes, layer };
}

/** The place of each node: in its layer, at the mean height of its neighbours. */
function placed(nodes, edges, layer, { across, down }) {
  const layers = [], row = new Map();
  for (const { id } of nodes) (layers[layer.get(id) ?? 0] ??= []).push(id);
  const centre = ids => ids.forEach((id, index) => row.set(id, index - (ids.length - 1) / 2));
  layers.forEach(centre);
  for (let pass = 0; pass < 8; pass++) {
    for (const ids of pass % 2 ? layers.toReversed() : layers) {
      const mean = id => {
        const near = edges.filter(({ from, to }) => from === id || to === id).map(({ from, to }) =>
          row.get(from === id ? to : from));
        return near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : row.get(id);
      };
      const means = new Map(ids.map(id => [id, mean(id)]));
      centre(ids.sort((a, b) => means.get(a) - means.get(b)));
    }
  }
  return new Map(nodes.map(({ id }) =>
    [id, { x: (layer.get(id) ?? 0) * across, y: row.get(id) * down, layer: layer.get(id) ?? 0 }]));
}

/** Each edge as a cubic curve: forward from side to side, within a layer beside it, back around what is between. */
function curved(edges, places, { length: wide, breadth: high, down }) {
  const used = new Map(), lanes = [0, 0];
  const port = (id, side) => {
    const key = `${id} ${side}`, number = used.get(key) ?? 0;
    used.set(key, number + 1);
    return [0, 10, -10, 17, -17][number % 5];
  };
  return edges.map(({ from, to }) => {
    const a = places.get(from), b = places.get(to), middle = high / 2;
    if (b.layer > a.layer) {
      const [x1, y1, x2, y2] = [a.x + wide, a.y + middle + port(from, "right"), b.x - 4,
        b.y + middle + port(to, "left")];
      return [x1, y1, (x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2];
    }
    if (b.layer === a.layer) {
      const isDown = b.y > a.y, isNear = Math.abs(b.y - a.y) <= down, x = isNear
        ? a.x + wide * 0.8 + port(from, "beside") : a.x + wide;
      if (isNear) return isDown ? [x, a.y + high, x, a.y + high + 20, x, b.y - 20, x, b.y - 4]
        : [x, a.y, x, a.y - 20, x, b.y + high + 20, x, b.y + high + 4];
      const bow = x + Math.min(80, 24 + Math.abs(b.y - a.y) / 4);
      return [x, a.y + middle + port(from, "right"), bow, a.y + middle, bow, b.y + middle, x + 4,
        b.y + middle + port(to, "right")];
    }
    const between = [...places.values()].filter(({ layer }) => layer >= b.layer && layer <= a.layer).map(({ y }) => y);
    const isBelow = a.y + b.y >= 0, side = isBelow ? "under" : "over", edge = isBelow ? Math.max(...between) + high
      : Math.min(...between);
    const lane = lanes[Number(isBelow)]++, far = edge + (isBelow ? 28 + 14 * lane : -48 - 14 * lane);
    const [y1, y2] = isBelow ? [a.y + high, b.y + high + 4] : [a.y, b.y - 4], turn = y => y + (far - y) * 4 / 3;
    const x1 = a.x + wide / 2 + 2 * port(from, side), x2 = b.x + wide * 0.8 + port(to, side);
    const isFree = ![...places.values()].some(({ layer, y }) => layer === b.layer && (isBelow ? y > b.y : y < b.y));
    return isFree ? [x1, y1, x1, turn(y1), x2, turn(y2), x2, y2]
      : [x1, y1, x1, turn(y1), b.x + wide + 56, turn(y1), b.x + wide + 4, b.y + middle + port(to, "right")];
  });
}

const pointOn = ([x1, y1, x2, y2, x3, y3, x4, y4], t) => [[x1, x2, x3, x4], [y1, y2, y3, y4]].map(([a, b, c, d]) =>
  a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t * t * (1 - t) + d * t ** 3);

/** Measures and shortens text in a font of this size. */
function typesetter() {
  const pen = document.createElement("canvas").getContext("2d"), { fontFamily } = getComputedStyle(document.body);
  const width = (text, size) => {
    pen.font = `${size}px ${fontFamily}`;
    return pen.measureText(text).width;
  };
  const short = (text, size, room) => {
    let length = text.length;
    while (length && width(`${text.slice(0, length)}…`, size) > room) length--;
    return width(text, size) <= room ? text : `${text.slice(0, length)}…`;
  };
  return { width, short };
}

/** Where a label may be from a point of its line, the best first: half of its width, half of its height. */
const besides = half => [[0, 0], [half, 0], [-half, 0], [0, 12], [0, -12], [half, 12], [half, -12], [-half, 12],
  [-half, -12]];

/**
 * The place of each edge's label: on its line or beside it, where it covers no box and no other label, and as few other
 * lines as can be. A text that fits nowhere is shortened, and left out if that does not help.
 */
function labelled(edges, curves, taken, width) {
  const isFree = ([a, b, c, d]) => !taken.some(([e, f, g, h]) => a < g && e < c && b < h && f < d);
  const steps = [...Array(19).keys()].map(index => 0.5 + (index % 2 ? -1 : 1) * Math.ceil(index / 2) * 0.045);
  const lines = curves.map(curve => [...Array(33).keys()].map(index => pointOn(curve, index / 32)));
  return edges.map(({ events }, index) => {
    const others = lines.filter((_, other) => other !== index), more = shown =>
      events.length > shown ? ` +${events.length - shown}` : "";
    for (const text of new Set([events.slice(0, 2).join(", ") + more(2), events[0] + more(1)])) {
      const half = width(text) / 2 + 3;
      let best;
      for (const [right, down] of besides(half)) {
        for (const t of steps) {
          const [x, y] = pointOn(curves[index], t), at = [x + right, y + down];
          const box = [at[0] - half, at[1] - 9, at[0] + half, at[1] + 9], [a, b, c, d] = box;
          if (!isFree(box)) continue;
          const crossed = others.filter(line => line.some(([x, y]) => a < x && x < c && b < y && y < d)).length;
          if (!best || crossed < best.crossed) best = { crossed, box, at };
        }
      }
      if (!best) continue;
      taken.push(best.box);
      return { text, x: best.at[0], y: best.at[1] };
    }
  });
}

/** The drawing, where it is (left, top, width and height), and where its nodes are. */
function drawing(map, { way, counts, withBuiltIn, shape }) {
  const { wide, high, isTurned } = shape;
  const node = new Map(map.nodes.map(node => [node.id, node]));
  const same = (screen, { name, coordinator }) => screen?.name === name && screen.coordinator === coordinator;
  const isOn = node => way.length > 0 && (node.kind === "start" || way.some(screen => same(screen, node)));
  const isWay = ({ from, to, event, events = [event] }) => node.get(from).kind === "start" ? same(way[0], node.get(to))
    : way.some((screen, index) => same(way[index - 1], node.get(from)) && same(screen, node.get(to))
      && events.includes(screen.event));
  const { edges, notes, layer } = simplified(map, withBuiltIn, isWay);
  const places = placed(map.nodes, edges, layer, shape), curves = curved(edges, places, shape);
  if (isTurned) {
    for (const place of places.values()) [place.x, place.y] = [place.y, place.x];
    for (const curve of curves) for (let at = 0; at < 8; at += 2) curve.splice(at, 2, curve[at + 1], curve[at]);
  }
  const { width, short } = typesetter(), [small, leading] = isTurned ? [13.5, 18] : [12, 16];
  const largest = Math.max(1, ...counts.values());
  const lives = ({ kind, name }) => kind === "screen" ? counts.get(name) ?? 0 : 0;
  const grown = found => lives(found) && 2 + 8 * Math.sqrt(lives(found) / largest);
  const taken = map.nodes.map(found => {
    const { x, y } = places.get(found.id), edge = grown(found) + 3;
    return [x - edge, y - edge, x + wide + edge, y + high + edge];
  });
  const room = (isTurned ? shape.down : shape.across) - 8;
  for (const [id, all] of notes) {
    const lines = all.length > 3 ? [...all.slice(0, 2), `and ${all.length - 2} more`] : all;
    notes.set(id, lines.map(text => short(text, small, room)));
    const { x, y } = places.get(id), half = Math.max(...notes.get(id).map(text => width(text, small))) / 2 + 3;
    const bottom = y - grown(node.get(id));
    taken.push([x + wide / 2 - half, bottom - 6 - leading * lines.length, x + wide / 2 + half, bottom]);
  }
  const labels = labelled(edges, curves, taken, text => width(text, small));
  const ends = [...taken, ...curves.flatMap(curve => [0.25, 0.5, 0.75].map(t => pointOn(curve, t)).map(([x, y]) =>
    [x, y, x, y]))];
  const [left, top, right, bottom] = [0, 1, 2,
    3].map(side => (side < 2 ? Math.min : Math.max)(...ends.map(box => box[side])) + (side < 2 ? -16 : 16));
  const marker = id => draw(`marker.${id}`, { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8,
    markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, draw("path", { d: "M0 0L8 4L0 8z" }));
  const style = (tag, edge) => `${tag}${edge.builtIn ? ".builtin" : ""}${isWay(edge) ? ".way" : ""}`;
  const svg = draw(isTurned ? "svg.map.turned" : "svg.map", { role: "img",
    "aria-label": "Screens as nodes, events as edges; the same is below as a list" },
  draw("defs", {}, marker("e"), marker("w")),
  edges.map((edge, index) => draw(style("path.edge", edge),
    { d: "M# #C# # # # # #".replaceAll("#", () => curves[index].shift().toFixed(1)),
    "marker-end": `url(#${isWay(edge) ? "w" : "e"})` })),
  map.nodes.map(found => {
    const { id, name, kind, coordinator } = found, { x, y } = places.get(id), grow = grown(found), corner = 14,
      far = x + wide, inside = wide - (kind === "alert" ? 24 : 12);
    const owner = lives(found) ? `${coordinator} · ${lives(found)} now` : coordinator;
    const shape = kind === "alert"
      ? draw("path", { d: `M${x + corner} ${y}H${far - corner}l14 22l-14 22H${x + corner}l-14 -22z` })
      : draw("rect", { x: x - grow, y: y - grow, width: wide + 2 * grow, height: high + 2 * grow, rx: kind === "start"
        ? 22 : 8 });
    const line = (style, offset, text, drawn = text) => draw(style, { x: x + wide / 2, y: y + offset }, drawn,
      draw("title", {}, text));
    return draw(`g.node.${kind}${isOn(found) ? ".way" : ""}`, {}, shape,
      line("text", kind === "start" ? 27 : 19, name, short(name, isTurned ? 15 : 13, inside)),
      kind !== "start" && line("text.quiet", 35, owner, short(owner, small, inside)),
      (notes.get(id) ?? []).map((text, index) => line("text.note", -8 - grow - leading * index, text)));
  }),
  labels.map((label, index) => label
    && draw(style("text.label", edges[index]), { x: label.x, y: label.y + 4 }, label.text)));
  const xs = [...places.values()].map(({ x }) => x), ys = [...places.values()].map(({ y }) => y);
  const [firstLeft, firstTop] = [Math.min(...xs) - 8, Math.min(...ys) - 24];
  return [svg, [left, top, right - left, bottom - top],
    [firstLeft, firstTop, Math.max(...xs) + wide + 8 - firstLeft, Math.max(...ys) + high + 24 - firstTop]];
}
