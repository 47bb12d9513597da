/**
 * Drives the library for Tests/Clients/libraries.py, which says what each command does and prints:
 *
 *   node driver.mjs walk --server URL --storage DIR [--code CODE] [--deadline SECONDS] [--early]
 *   node driver.mjs predict
 *
 * and for Tests/Servers/library.py:
 *
 *   node driver.mjs marks --server URL --storage DIR [--code CODE]
 */
import { createInterface } from "node:readline";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FileStorage, NavigationSession, predict } from "../coordinator-client.js";

const print = line => process.stdout.write(`${JSON.stringify(line)}\n`);

/** What a user does next who wants to buy a product: judged by the screen, the alert and the tabs alone. */
function nextTap({ visible, alert, stack, events, pending }) {
  const has = type => events.includes(type), tabs = stack.at(-1).tabs;
  if (alert) return { type: "answer", payload: { button: alert.buttons[0].id, alert: alert.key } };
  switch (visible.name) {
    case "home": return { type: "product", payload: { id: 42 } };
    case "product": return Number(tabs.items.find(({ id }) => id === "cart").badge ?? 0) > 0
      ? { type: "selectTab", payload: { tab: "cart" } } : { type: "addToCart" };
    case "cart": return has("checkout") && visible.params?.items?.length !== 0 ? { type: "checkout" }
      : { type: "selectTab", payload: { tab: "home" } };
    case "search": return { type: "selectTab", payload: { tab: "home" } };
    case "signIn": return { type: "submit", payload: { email: "ann@example.com", password: "correct horse" } };
    case "address": return { type: "submitAddress", payload: { street: "1 Main Street", city: "Springfield" } };
    case "payment": return pending || !has("pay") ? undefined : { type: "pay", payload: { card: "4242 4242 4242 4242" } };
    default: return undefined;
  }
}

async function walk({ server, storage, code, deadline, early }) {
  const changed = { promise: undefined, resolve() {} };
  const options = {
    server, storage: new FileStorage(join(storage, "session.json")), deadline: Number(deadline ?? 3600), predicts: early,
    onState(state) {
      print({ version: state.session.version, visible: state.visible.name, early: !!state.isPredicted });
      changed.resolve();
    },
    onEnd(reason) { print({ ended: reason }); process.exit(4); },
  };
  const session = await NavigationSession.resume(options)
    ?? (code ? await NavigationSession.pair(code, options) : await NavigationSession.start({ app: "shop" }, options));
  session.follow();
  for (;;) {
    changed.promise = new Promise(resolve => { changed.resolve = resolve; });
    if (session.state.visible.name === "receipt" && !session.state.isPredicted) break;
    const tap = nextTap(session.state);
    if (!tap) { await changed.promise; continue; }
    const outcome = await session.post(tap);
    if (outcome.kind === "withdrawn") print({ withdrawn: outcome.key, outcome: outcome.outcome });
    if (outcome.kind === "failed" || outcome.kind === "invalid") throw outcome.problem;
  }
  print({ done: true, visible: session.state.visible.name, session: session.id });
  process.exit(0);
}

const logs = ({ session, stack }) => {
  const [log, copy] = stack[0].tabs.items.map(tab => tab.stack[0].params.log);
  return { version: session.version, log, copy };
};

/** Posts the events that come line by line, and prints each state that is drawn and each outcome. */
async function marks({ server, storage, code }) {
  const options = {
    server, storage: new FileStorage(join(storage, "session.json")), onState(state) { print({ drawn: logs(state) }); },
    onEnd(reason) { print({ ended: reason }); process.exit(4); },
  };
  const session = await NavigationSession.resume(options) ?? await NavigationSession.pair(code, options);
  print({ ready: session.interrupted ?? "new" });
  session.follow();
  for await (const line of createInterface({ input: process.stdin })) {
    const { deadline, ...event } = JSON.parse(line), outcome = await session.post(event, { deadline });
    print({ outcome: outcome.outcome ?? outcome.kind, problem: outcome.problem?.kind, state: outcome.state && logs(outcome.state) });
  }
  process.exit(0);
}

/** The innermost stack with the visible screen, and the tab that is selected around it. */
function innermost(state) {
  let stack = state.presented?.at(-1).stack ?? state.stack, tab = null;
  for (let { tabs } = stack.at(-1); tabs; { tabs } = stack.at(-1)) {
    tab = tabs.selected;
    stack = tabs.items.find(({ id }) => id === tab).stack;
  }
  return { visible: state.visible.key, stack: stack.map(({ key }) => key), tab };
}

const { values, positionals: [command] } = parseArgs({ allowPositionals: true, options: {
  server: { type: "string" }, storage: { type: "string" }, code: { type: "string" }, deadline: { type: "string" },
  early: { type: "boolean", default: false } } });
try {
  if (command === "walk") await walk(values);
  if (command === "marks") await marks(values);
  for await (const line of createInterface({ input: process.stdin })) {
    const { state, event } = JSON.parse(line), predicted = predict(state, event);
    print(predicted ? innermost(predicted) : null);
  }
} catch (error) {
  print({ failed: error.message });
  console.error(error);
  process.exit(3);
}
