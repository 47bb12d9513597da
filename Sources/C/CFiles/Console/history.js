/** The versions of a session as a line to drag along, and as a script that makes them again. */
import { stringify } from "../client.js";
import { clock, h, titleOf } from "./dom.js";
import { causeText } from "./state.js";

/**
 * The line. `versions` are those of the history, oldest first; `shown` is the version that is drawn, and `newest` the
 * session's. Of the versions those in `open` can be shown. `onShow` gets one of them, or undefined for “now”.
 */
export function historyView({ versions, open, shown, newest, onShow, onFork, whyNoFork }) {
  const first = versions[0]?.version ?? newest, at = shown ?? newest,
    entry = versions.find(({ version }) => version === at);
  const text = entry ? [causeText(entry), titleOf(entry.visible), clock(entry.time)] : [];
  const before = open.findLast(version => version < at), after = open.find(version => version > at);
  const go = version => onShow(version >= newest ? undefined : version);
  const range = h("input", { type: "range", min: first, max: newest, value: at, step: 1, "data-focus": "range",
    "aria-label": "Version", "aria-valuetext": `${at} of ${newest}: ${text.join(", ")}`,
    oninput: () => {
      const to = Number(range.value), nearest = to < at ? open.find(version => version >= to)
        : open.findLast(version => version <= to);
      if (nearest === at) range.value = at; else go(nearest ?? newest);
    }, disabled: !before && !after });
  const dots = versions.map(({ version, event, cause = "event", visible }) => {
    const isClosed = version !== at && !open.includes(version);
    const style = [version === at ? ".at" : version > at ? ".later" : "", !event ? ".start" : cause === "event" ? ""
      : ".signal"].join("");
    const name = `${version} ${causeText({ event, cause })}, ${titleOf(visible)}${isClosed ? ", cannot be shown" : ""}`;
    const dot = h(`i${style}${isClosed ? ".closed" : ""}`, { title: name });
    dot.style.setProperty("--at", newest === first ? 1 : (version - first) / (newest - first));
    return dot;
  });
  return h(".line", {},
    h("button.plain", { onclick: () => go(before), disabled: !before, "aria-label": "One version back",
      "data-focus": "less" }, "‹"),
    h(".track", {}, h(".dots", { "aria-hidden": "true" }, dots), range),
    h("button.plain", { onclick: () => go(after ?? newest), disabled: at >= newest, "aria-label": "One version on",
      "data-focus": "more" }, "›"),
    h("p.readout", {}, h("b", {}, `v${at}`), h("span.quiet", {}, ` of ${newest}`),
      ...text.map(part => h("span", {}, part))),
    shown !== undefined && h(".actions", {}, onFork && whyNoFork && h("span.quiet", { id: "why-no-fork" }, whyNoFork),
      onFork && h("button", { onclick: onFork, "data-focus": "fork", disabled: !!whyNoFork,
        "aria-describedby": whyNoFork && "why-no-fork" }, "Fork from here"),
      h("button.primary", { onclick: () => onShow(undefined), "data-focus": "now" }, "Now")));
}

/** What a client does not post. */
const elsewhere = { effect: "the end of work in the background", timer: "a timer", signal: "a signal" };

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The walk as a script with curl and jq. The history has no payloads: `typed` maps versions to what was posted from
 * this console, and `schemas` events to whether they need one. What is missing is an environment variable, which the
 * script demands before it does anything.
 */
export function scriptOf({ app, id, body: opening, versions, typed, schemas, server }) {
  const isWhole = versions[0]?.version === 1, needs = [];
  const steps = versions.filter(({ event }) => event && event !== "migrate");
  const posts = steps.map(({ version, event, cause, visible }) => {
    if (elsewhere[cause]) return `# ${version}: ${event.replace(/[^\w-]/g, "")}, ${elsewhere[cause]}. Not posted here.`;
    const known = typed[version], left = known?.left ?? [],
      comment = `# ${version}: ${titleOf(visible).replace(/[\r\n]+/g, " ")}`;
    const whole = payload => `${comment}\npost ${quoted(stringify({ type: event, payload }))}`;
    if (known && !left.length) return whole(known.payload);
    if (!known && schemas.has(event)
      && !schemas.get(event)) return `${comment}\npost ${quoted(stringify({ type: event }))}`;
    const body = stringify({ type: event }).slice(0, -1);
    const why = known ? `secret at ${left.join(", ")}, beside ${stringify(known.payload)}`
      : "the history keeps no payloads";
    needs.push(`: "\${PAYLOAD_${version}:?is missing: the payload of ${event.replace(/[^\w-]/g, "")}, as JSON}"`);
    return `${comment}\n# Gap: ${why}.\npost ${quoted(`${body},"payload":`)}"$PAYLOAD_${version}"'}'`;
  });
  return `#!/usr/bin/env bash
# Makes the walk of session ${id} again, in a new session of ${app}.${isWhole ? "" : `
# Incomplete: the versions before ${versions[0]?.version} are not kept any more.`}
set -euo pipefail${needs.length ? `
# Needs these environment variables.
${needs.join("\n")}` : ""}
server=\${1:-${quoted(server)}}
state=$(curl -fsS --json ${quoted(stringify(opening))} "$server/v1/sessions")
url=$server/v1/sessions/$(jq -r .session.id <<< "$state")
token=$(jq -r .token <<< "$state")
show() { jq -r '"\\(.session.version)  \\(.visible.title // .visible.name)"' <<< "$state"; }
post() {
    state=$(curl -fsS -H "Authorization: Bearer $token" -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
        --json "$1" "$url/events")
    token=$(jq -r --arg token "$token" '.token // $token' <<< "$state")
    show
}
show

${posts.join("\n")}
`;
}
