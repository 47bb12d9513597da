/** What the other devices of a session see: each on a phone of its own, beside that of this tab, and only to look at. */
import { h, render, titleOf } from "./dom.js";
import { Phone } from "./phone.js";

/** Who sees a drawing, each part in its own direction of writing: “Help desk, TV · agent · de”. */
export function devicesView(devices) {
  const { role, client } = devices[0], apart = text => h("bdi", {}, text);
  const labels = devices.map(({ number, label }) => [apart(label ?? `Device ${number}`), ", "]);
  labels.at(-1).pop();
  return h("b", {}, labels, [role, client.locale].filter(Boolean).map(text => [" · ", apart(text)]));
}

export class OtherDevices {
  #host; #phones = new Map();

  constructor(host) { this.#host = host; }

  /** Draws states, each with the devices that see it: `{ devices, state }`, or `{ devices, problem }` without one. */
  show(drawings, declared) {
    const phones = new Map();
    render(this.#host, drawings.map(({ devices, state, problem }) => {
      const key = devices.map(({ number }) => number).join(), made = this.#phones.get(key) ?? {};
      phones.set(key, made);
      made.element ??= h(".phone.seen", { inert: true });
      made.phone ??= new Phone(made.element, () => {});
      if (state) made.phone.show(state, { declared });
      return h("figure", {}, h("figcaption", {}, devicesView(devices),
        h("span.quiet", {}, state ? `sees “${titleOf(state.visible)}”` : problem.detail)), state && made.element);
    }));
    this.#phones = phones;
  }
}
