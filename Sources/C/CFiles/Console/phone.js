/** The phone: a state as its user sees it. It is drawn as a whole each time; only forms stay, with what is typed. */
import { draw, h, isObject, plain, spinner, titleOf, words } from "./dom.js";
import { formView } from "./form.js";
import { markNames, screensOf, symbols } from "./state.js";

const stillness = matchMedia("(prefers-reduced-motion: reduce)");

const icons = new Map(Object.entries({
  home: "M4 11l8-7 8 7M6 9.5V20h12V9.5", search: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M15.3 15.3L21 21",
  cart: "M3 4h2.5l2.3 11h10.4L20.5 7H6.2M9 19.5h.01M17 19.5h.01", plus: "M12 5v14M5 12h14",
  person: "M12 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8M4.5 20.5c.8-4 3.8-6 7.5-6s6.7 2 7.5 6", list: "M5 6h14M5 12h14M5 18h14",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4", back: "M15 5l-7 7 7 7", forward: "M9 5l7 7-7 7",
  close: "M7 7l10 10M17 7L7 17", check: "M5 12.5l4.5 4.5L19 7.5",
}));
const otherNames = new Map(Object.entries(
  { house: "home", magnifyingglass: "search", gear: "settings", myPage: "person", profile: "person" }));

function icon(name) {
  const path = icons.get(otherNames.get(name) ?? name);
  return path && draw("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, draw("path", { d: path }));
}

export class Phone {
  #host; #post; #forms = new Map(); #picture; #layers = new Map(); #controls = new Map();

  /** `post(type, payload, form)` is called when a control is used. */
  constructor(host, post) { this.#host = host; this.#post = post; }

  /**
   * Draws a state. `operations` are the changes since what is drawn now, if it directly follows. With `isPast` nothing
   * can be posted; `declared` has the app's events, for a state of which the controls are not known. `marks` says what
   * became of each screen; `contents` has what screens show beside the state, by their keys, and `pending` the work that
   * is under way.
   */
  show(state, { operations = [], isPast = false, declared = [], marks = new Map(),
    contents = new Map(), pending } = {}) {
    const picture = JSON.stringify([{ ...state, session: state.session.id, transition: 0 }, isPast, [...marks],
      [...contents], pending]);
    if (picture === this.#picture) return;
    this.#picture = picture;
    const active = this.#host.contains(document.activeElement) ? document.activeElement : undefined;
    const old = this.#layers, make = { state, isPast, declared, marks, contents, pending, forms: new Map() };
    this.#layers = new Map([{ key: "main", stack: state.stack }, ...state.presented ?? []]
      .map(flow => [flow.key, this.#layer(flow, make)]));
    this.#forms = make.forms;
    const layers = [...this.#layers.values()];
    for (const layer of layers.slice(0, -1)) layer.element.inert = true;
    const alert = state.alert && this.#alert(state.alert, isPast);
    if (alert) layers.at(-1).element.inert = true;
    this.#host.replaceChildren(...layers.map(({ element }) => element), ...alert ? [alert] : []);
    if (!stillness.matches) this.#move(operations, old, alert);
    this.#focus(active, alert);
  }

  #layer(flow, make) {
    let top = flow.stack.at(-1);
    const bars = [];
    while (top.tabs) {
      const { selected, items } = top.tabs;
      bars.unshift(this.#tabBar(top, make));
      top = items.find(({ id }) => id === selected).stack.at(-1);
    }
    const screen = this.#screen(top, make), style = flow.style ? `.${flow.style}` : "", detent = flow.detent ?? "large";
    const panel = h(".panel", {}, flow.style === "sheet" && h(".grip"), screen, bars);
    return { element: h(`.layer${style}.${detent}`, { "data-flow": flow.key }, panel), screen, key: top.key };
  }

  #tabBar(screen, { isPast }) {
    return h("nav.tabbar", { "aria-label": "Tabs", "data-key": screen.key }, screen.tabs.items.map(item => {
      const { id, title = words(id), icon: name = id, badge } = item, isSelected = id === screen.tabs.selected;
      return h("button", { onclick: () => this.#post("selectTab", { tab: id }), disabled: isPast,
        "aria-current": isSelected ? "page" : undefined, "data-event": `tab ${id}`,
        "aria-label": badge === undefined ? title : `${title}, ${badge}` },
        h("span.glyph", {}, icon(name) ?? [...title][0], badge !== undefined && h("i", {}, badge)),
          h("span", {}, title));
    }));
  }

  #screen(screen, make) {
    const { state, isPast, declared, marks, contents, pending } = make, isVisible = screen.key === state.visible.key;
    const mark = marks.get(screen.key), isInFront = isVisible && !state.alert;
    const known = isInFront && state.controls?.filter(({ place, coordinator }) => place === "screen"
      && coordinator !== undefined);
    if (known && !isPast) this.#controls.set(screen.key, known);
    const own = isPast ? known || pastControls(screen, isVisible ? state.events : [], declared)
      : this.#controls.get(screen.key) ?? []; // What is covered keeps the controls that it had.
    const row = isPast ? [] : own.filter(({ schema, role }) => role !== "destructive"
      && Object.keys(schema?.properties ?? {}).join() === "id");
    const select = row.length === 1 && (id => this.#post(row[0].type, { id }));
    const canBack = isVisible && ["pop", "selectTab"].includes(state.back?.effect);
    const below = canBack && screensOf(state).find(({ key }) => key === state.back.to)?.screen;
    const back = below && titleOf(below), title = h("h3", { tabIndex: -1 }, titleOf(screen));
    const canClose = isVisible && state.events.includes("dismiss");
    const pressed = type => ({ onclick: () => this.#post(type), "data-event": type, disabled: isPast });
    return h(`.screen${screen.hidesNavigationBar ? ".bare" : ""}`,
      { "data-key": screen.key, "data-screen": screen.name },
      h("header", {},
        back ? h("button.back", { ...pressed("back"), "aria-label": `Back to ${back}` }, icon("back"),
          h("span", {}, back))
          : h("span"),
        title,
        canClose ? h("button", { ...pressed("dismiss"), "aria-label": "Close" }, icon("close")) : h("span")),
      isVisible && pending && h("p.working.quiet", { role: "status" }, spinner(),
        `Working: ${[...new Set(pending.map(({ effect }) => words(effect)))].join(", ")}`),
      h(".content", {},
        mark && h(`p.mark.${mark}`, {}, `${symbols[mark]} ${markNames[mark]} in this version`),
        paramsView({ ...screen.params, ...contents.get(screen.key) }, select) ?? (!screen.rows && !screen.hasContent
          && h("p.kind", { "aria-hidden": "true" }, icon(screen.name) ?? [...titleOf(screen)][0])),
        screen.rows && h(".params.rows", {}, screen.rows.map(row => this.#row(row, isPast))),
        own.map(control => isPast ? disabled(this.#control(control, { forms: new Map() }, screen.key))
          : this.#control(control, make, screen.key))));
  }

  /** A row of a list. What it sends is in it, and nothing is entered. */
  #row({ title, detail, isSelected, type, payload, role = "navigation", isEnabled }, isPast) {
    const content = [h("span", {}, title), detail !== undefined && h("span.quiet", {}, detail)];
    if (type === undefined) return h("span.item", {}, content);
    return h(`button.item.${role}`, { onclick: () => this.#post(type, payload), disabled: isPast || isEnabled === false,
      "data-event": `${type} ${plain(payload)}`, "aria-pressed": isSelected === undefined ? undefined : `${isSelected}` },
      content, isSelected ? icon("check") : role === "navigation" && isEnabled !== false && icon("forward"));
  }

  #control(control, { forms }, screen, post = this.#post) {
    const { type, title, role, schema, payload } = control;
    if (!schema) {
      const name = payload === undefined ? type : `${type} ${plain(payload)}`;
      return h(`button.button.${role}`, { onclick: () => post(type, payload), "data-event": name }, title,
        role === "navigation" && icon("forward"));
    }
    const name = `${screen} ${JSON.stringify(control)}`;
    const form = this.#forms.get(name) ?? formView(control, (payload, form) => post(type, payload, form));
    forms.set(name, form);
    return form;
  }

  /** Controls beside the phone: of the app, the built-in ones, or those of signals, which `post` sends elsewhere. */
  drawControls(host, controls, post) {
    host.replaceChildren(...controls.map(control => this.#control(control, { forms: new Map() }, "", post)));
  }

  #alert({ key, title, message, buttons }, isPast) {
    return h(".over", { "data-key": key }, h(".alert", { role: "alertdialog", "aria-label": title },
      h("h3", {}, title), message && h("p", {}, message), buttons.map(({ id, title, role = "primary", isEnabled }) =>
        h(`button.button.${role}`, { onclick: () => this.#post("answer", { button: id, alert: key }),
          disabled: isPast || isEnabled === false }, title))));
  }

  /** The animations that the operations describe. What leaves is drawn until it has moved away, but cannot be used. */
  #move(operations, old, alert) {
    const has = (name, key) => operations.some(operation => operation.op === name && operation.key === key);
    const run = (element, from, to) => element.animate([from, to],
      { duration: 180, easing: "cubic-bezier(.2, .7, .2, 1)" });
    const leave = (element, host, to, isBehind) => {
      element.inert = true;
      element.classList.add("leaving");
      element.querySelectorAll("form").forEach(form => form.remove());
      isBehind ? host.prepend(element) : host.append(element);
      run(element, {}, to).finished.catch(() => {}).then(() => element.remove());
    };
    const [away, under] = [{ transform: "translateX(100%)" }, { transform: "translateX(-24%)" }];
    const down = { transform: "translateY(100%)" }, clear = { opacity: 0 };
    for (const [key, layer] of this.#layers) {
      const before = old.get(key);
      if (!before && has("present", key)) run(layer.element.firstChild, down, {});
      if (!before || before.key === layer.key) continue;
      const isPush = has("push", layer.key), isPop = !isPush && has("pop", before.key), host = layer.screen.parentNode;
      if (!isPush && !isPop && !has("replace", layer.key) && !operations.some(({ op }) => op === "selectTab")) continue;
      run(layer.screen, isPush ? away : isPop ? under : clear, {});
      leave(before.screen, host, isPush ? under : isPop ? away : clear, isPush);
    }
    for (const [key, { element }] of old) {
      if (!this.#layers.has(key) && has("dismiss", key)) leave(element, this.#host, down);
    }
    if (alert && operations.some(({ op }) => op === "alert")) run(alert, { opacity: 0, transform: "scale(1.06)" }, {});
  }

  /** The focus stays where it is, or where the same control is now, or goes to the alert or the title of the screen. */
  #focus(active, alert) {
    if (!active) return;
    const { element, screen } = [...this.#layers.values()].at(-1), type = active.dataset.event;
    const same = active.isConnected && !active.closest("[inert]") ? active
      : type && element.querySelector(`[data-event="${CSS.escape(type)}"]:enabled`);
    (alert?.querySelector("button") ?? same ?? screen.querySelector("h3")).focus({ preventScroll: true });
  }
}

/** The controls that a screen had, as far as its state and the app's description say. */
function pastControls({ buttons = [], rows = [], eventTitles, coordinator }, events, declared) {
  const own = declared.filter(event => event.coordinator === coordinator), carried = [...buttons, ...rows];
  const found = own.filter(({ type }) => events.includes(type) && !carried.some(other => other.type === type));
  return [...buttons.map(({ type, title, role = "secondary" }) =>
    ({ type, title: title ?? own.find(event => event.type === type)?.title ?? words(type), role })),
  ...found.map(event => ({ ...event, title: eventTitles?.[event.type] ?? event.title,
    role: event.schema ? "input" : "secondary" }))];
}

/** A button or a form that shows what was there. */
function disabled(element) {
  for (const part of element.elements ?? [element]) part.disabled = true;
  return element;
}

/** Parameters as rows; lists and objects as groups of rows. If an event takes an item's id, its row posts it. */
function paramsView(params, select) {
  const rows = Object.entries(params ?? {}).map(([name, value]) => paramView(words(name), value, select));
  return rows.length ? h("dl.params", {}, rows) : undefined;
}

function paramView(label, value, select) {
  if (!isObject(value)) return h(".row", {}, h("dt", {}, label),
    h("dd", {}, valueView(value)));
  const inner = Array.isArray(value) ? value.map(item => h("dd", {}, itemView(item, select)))
    : Object.entries(value).map(([name, part]) => paramView(words(name), part));
  return h(".group", {}, h("dt", {}, label), inner.length ? inner : h("dd", {}, "None"));
}

function itemView(item, select) {
  if (!isObject(item)) return valueView(item);
  const { title, name = title, id, ...rest } = item, head = title ?? name ?? id ?? Object.values(item)[0];
  const others = [head === id ? undefined : id, ...Object.values(rest)]
    .filter(value => value !== undefined && value !== null && !isObject(value));
  const parts = [h("span", {}, plain(head)), others.length > 0 && h("span.quiet", {}, others.map(plain).join(" · "))];
  return select && id !== undefined ? h("button.item", { onclick: () => select(id), "data-event": `item ${id}` },
    parts, icon("forward"))
    : h("span.item", {}, parts);
}

/** A web address as a link, an image that the state itself contains as an image, and anything else as text. */
function valueView(value) {
  const text = plain(value);
  if (/^https?:\/\/\S+$/.test(text)) return h("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, text);
  if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(text)) return h("img", { src: text, alt: "" });
  return text;
}
