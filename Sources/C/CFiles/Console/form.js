/** A form for an event's payload, made from its JSON Schema. The server judges what is typed. */
import { parse, stringify } from "../client.js";
import { h, isObject, plain, words } from "./dom.js";

/** An example in an empty field, which does not look as if it were filled in. */
const hint = example => example === undefined || example === "" ? "" : `e.g. ${example}`;

/** What a field begins with: its example if it must be filled in, so that a form works as it stands. */
const first = ({ writeOnly }, { isRequired, initial, example }) =>
  writeOnly ? "" : initial ?? (isRequired ? example ?? "" : "");

const typeOf = ({ type }) => Array.isArray(type) ? type.find(name => name !== "null") : type;
const pointerTo = name => name.replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * The form of a control; `post(payload)` is called with what is typed. `show(faults)` shows each fault at its field.
 */
export function formView({ type, title, role, schema, example }, post) {
  const isObject = typeOf(schema) === "object";
  const payload = field(schema, { label: isObject ? undefined : schema.title ?? title, pointer: "/payload", example,
    isRequired: true });
  const form = h("form", { noValidate: true }, payload.element,
    h(`button.button.${role}`, { "data-event": type }, title));
  form.show = faults => {
    form.querySelectorAll(".fault").forEach(element => element.remove());
    form.querySelectorAll("[aria-invalid]").forEach(input => input.removeAttribute("aria-invalid"));
    for (const { pointer, detail } of faults) {
      const at = [...form.querySelectorAll("[data-pointer]")]
        .filter(({ dataset }) => `${pointer}/`.startsWith(`${dataset.pointer}/`)).at(-1) ?? form;
      const inputs = at.querySelectorAll("input, select, textarea");
      if (inputs.length === 1) inputs[0].ariaInvalid = "true";
      at.append(h("p.fault", { role: "alert" }, detail));
    }
    form.querySelector("[aria-invalid]")?.focus();
  };
  form.onsubmit = event => {
    event.preventDefault();
    post(payload.read(), form);
    form.querySelectorAll("[type=password]").forEach(input => { input.value = ""; });
  };
  return form;
}

/** The payload without what its schema calls `writeOnly`, and the pointers of what was left out. */
export function withoutSecrets(value, schema = {}, pointer = "") {
  if (schema.writeOnly) return { value: undefined, left: [pointer] };
  if (!isObject(value)) return { value, left: [] };
  const parts = Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner,
    Array.isArray(value) ? schema.items : schema.properties?.[name] ?? schema.additionalProperties, `${pointer}/${pointerTo(name)}`)]);
  const rest = parts.filter(([, part]) => part.value !== undefined).map(([name, part]) => [name, part.value]);
  return { value: Array.isArray(value) ? rest.map(([, inner]) => inner) : Object.fromEntries(rest),
    left: parts.flatMap(([, part]) => part.left) };
}

/** The number that is typed, with all its digits. */
const numberFrom = text => { try { return parse(text); } catch { return Number(text); } };

/** The members of an object, by name: of a dictionary, those whose names can be listed. */
const membersOf = ({ properties, propertyNames, additionalProperties }) => properties
  ?? (propertyNames && Object.fromEntries(propertyNames.enum.map(name => [name, additionalProperties])));

/** A field for a schema: its element, and `read()`, which returns a value, or undefined if there is none. */
function field(schema, options) {
  const type = schema.enum ? "enum" : typeOf(schema) === "object" && !membersOf(schema) ? "other" : typeOf(schema);
  const make = fields[type] ?? fields.other;
  return make(schema, { ...options, label: schema.title ?? options.label, initial: options.initial ?? schema.default });
}

function labelled(input, read, { description }, { label, pointer, isRequired }, style = "") {
  return { read, element: h(`label.field${style}`, { "data-pointer": pointer },
    label !== undefined && h("span.label", {}, label, !isRequired && " (optional)"), input,
    description !== undefined && h("span.hint", {}, description)) };
}

const group = ({ label, pointer, isRequired }, ...children) => h("fieldset", { "data-pointer": pointer },
  label !== undefined && h("legend.label", {}, label, !isRequired && " (optional)"), ...children);

const inputTypes = { email: "email", uri: "url", date: "date", time: "time" };

const fields = {
  string(schema, options) {
    const hasLines = String(options.initial ?? "").includes("\n");
    const isLong = (schema.maxLength > 200 || hasLines) && !schema.writeOnly, isRequired = options.isRequired;
    const input = h(isLong ? "textarea" : "input", { name: options.pointer, autocomplete: "off",
      value: first(schema, options),
      placeholder: schema.writeOnly ? "" : hint(options.example) });
    if (!isLong) input.type = schema.writeOnly ? "password" : inputTypes[schema.format] ?? "text";
    return labelled(input, () => input.value || (isRequired ? "" : undefined), schema, options);
  },
  number(schema, options) {
    const isInteger = typeOf(schema) === "integer";
    const input = h("input", { name: options.pointer, type: "number", placeholder: hint(options.example),
      value: first(schema, options), min: schema.minimum, max: schema.maximum, step: schema.multipleOf ?? (isInteger ? 1 : "any") });
    return labelled(input, () => input.value === "" ? undefined : numberFrom(input.value), schema, options);
  },
  boolean(schema, options) {
    let isSet = options.isRequired || options.initial !== undefined;
    const input = h("input", { type: "checkbox", checked: options.initial === true, onchange: () => { isSet = true; } });
    return labelled(input, () => isSet ? input.checked : undefined, schema, options, ".check");
  },
  enum(schema, options) {
    const title = (value) => schema.oneOf?.find(({ const: choice }) => choice === value)?.title
      ?? (typeof value === "string" ? words(value) : plain(value));
    const choices = schema.enum.map((value, index) =>
      h("option", { value: index, selected: value === options.initial }, title(value)));
    const input = h("select", {}, !options.isRequired && h("option", { value: "" }, "None"), choices);
    return labelled(input, () => input.value === "" ? undefined : schema.enum[input.value], schema, options);
  },
  object(schema, options) {
    const { pointer, isRequired, initial, example } = options, required = new Set(isRequired ? schema.required : []);
    const members = Object.entries(membersOf(schema)).map(([name, inner]) => [name, field(inner, {
      label: words(name), pointer: `${pointer}/${pointerTo(name)}`, isRequired: required.has(name),
      initial: initial?.[name], example: example?.[name] })]);
    const read = () => {
      const values = members.map(([name, member]) => [name, member.read()]).filter(([, value]) => value !== undefined);
      return values.length || isRequired ? Object.fromEntries(values) : undefined;
    };
    return { read, element: group(options, members.map(([, member]) => member.element)) };
  },
  array(schema, options) {
    const { label = "Item", pointer, isRequired, initial, example } = options, items = h(".items");
    let rows = [];
    const number = () => rows.forEach(({ row, item }, index) => {
      item.element.dataset.pointer = `${pointer}/${index}`;
      row.lastChild.ariaLabel = `Remove ${label} ${index + 1}`;
    });
    const add = () => {
      const index = rows.length, item = field(schema.items ?? {}, { label: `${label} ${index + 1}`,
        pointer: `${pointer}/${index}`, isRequired: true, initial: initial?.[index], example: example?.[index] });
      const remove = () => { rows = rows.filter(other => other.row !== row); row.remove(); number(); };
      const row = h(".item", {}, item.element, h("button.plain", { type: "button", onclick: remove }, "Remove"));
      rows.push({ row, item });
      items.append(row);
      number();
      return row.querySelector("input, select, textarea");
    };
    for (const _ of initial ?? (isRequired ? [0] : [])) add();
    return { element: group(options, items, h("button.plain", { type: "button", onclick: () => add()?.focus() },
      "Add")),
      read: () => rows.length || isRequired ? rows.map(({ item }) => item.read() ?? null) : undefined };
  },
  /** Anything else is typed as JSON. */
  other(schema, options) {
    const input = h("textarea", { placeholder: hint(stringify(options.example)),
      value: options.initial === undefined ? "" : stringify(options.initial) });
    const nothing = options.isRequired && typeOf(schema) === "object" ? {} : undefined;
    const read = () => { try { return parse(input.value); } catch { return input.value || nothing; } };
    return labelled(input, read, schema, options);
  },
};
fields.integer = fields.number;
