import type { Back, NavigationEvent, NavigationState, PresentedFlow, Screen, ScreenOperation, Tab } from "./model.js";

type Stack = readonly Screen[];

/**
 * What the server will most likely answer to `back`, `selectTab` or `dismiss`, from the state alone; undefined where it
 * cannot be known: if the app asks before the screen is left, forbids it, or shows an alert. A prediction has no
 * `controls`, `events` and `back` of its own.
 */
export function predict(state: NavigationState, event: NavigationEvent): NavigationState | undefined {
  if (state.alert || state.back?.asks || !state.events.includes(event.type)) return undefined;
  const payload = (event.payload ?? {}) as Readonly<Record<string, unknown>>;
  switch (event.type) {
    case "back": return state.back && goBack(state, state.back);
    case "selectTab": return selectTab(state, payload);
    case "dismiss": {
      const flows = state.presented ?? [], { key } = payload;
      const position = key === undefined ? flows.length - 1 : flows.findIndex(flow => flow.key === key);
      return position < 0 ? undefined : dismiss(state, position);
    }
    default: return undefined;
  }
}

function goBack(state: NavigationState, back: Back): NavigationState | undefined {
  if (back.effect === "dismissAlert") return undefined;
  const predicted = back.effect === "pop" ? change(state, "back", pop)
    : back.effect === "dismiss" ? dismiss(state, (state.presented ?? []).length - 1, "back")
    : change(state, "back", stack => select(stack, ({ stack }) => visibleIn(stack).key === back.to));
  return predicted?.visible.key === back.to ? predicted : undefined;
}

/** Selects a tab; the one that is selected already is popped to its first screen. */
function selectTab(state: NavigationState, { tab, index }: Readonly<Record<string, unknown>>) {
  return change(state, "selectTab", stack => {
    const { tabs } = stack[stack.length - 1], item = tabs?.items.find(({ id }, at) => id === tab || at === index);
    if (!tabs || !item) return undefined;
    if (item.id !== tabs.selected) return select(stack, other => other === item);
    // Without `back` the screen must not be left; the outer tabs, which may have the same id, do not count.
    if (item.stack.length < 2 || !state.back) return { stack, operations: [] };
    const operations = item.stack.slice(1).reverse().map(({ key }) => ({ op: "pop", key }));
    return { stack: withTab(stack, { ...item, stack: item.stack.slice(0, 1) }), operations };
  });
}

function dismiss(state: NavigationState, position: number, event = "dismiss"): NavigationState | undefined {
  const flows = state.presented ?? [], gone = flows.slice(position);
  if (gone.some(({ isDismissable, asks }) => isDismissable === false || asks)) return undefined;
  const operations = [...gone].reverse().map(({ key }) => ({ op: "dismiss", key }));
  return predicted(state, event, state.stack, flows.slice(0, position), operations);
}

/** What becomes of a stack, and the operations that lead there. */
interface Change { readonly stack: Stack; readonly operations: readonly ScreenOperation[] }

const pop = (stack: Stack): Change | undefined => stack.length < 2 ? undefined
  : { stack: stack.slice(0, -1), operations: [{ op: "pop", key: stack[stack.length - 1].key }] };

/** Selects another tab of the top screen, if it has one like that. */
function select(stack: Stack, isLike: (tab: Tab) => boolean): Change | undefined {
  const top = stack[stack.length - 1], { tabs } = top;
  const tab = tabs?.items.find(item => item.id !== tabs.selected && isLike(item));
  if (!tabs || !tab) return undefined;
  const selected = { ...top, tabs: { ...tabs, selected: tab.id } };
  return { stack: [...stack.slice(0, -1), selected], operations: [{ op: "selectTab", key: top.key, tab: tab.id }] };
}

/** Makes the change in the innermost stack in front where it is possible. */
function change(state: NavigationState, event: string, make: (stack: Stack) => Change | undefined) {
  const inInnermost = (stack: Stack): Change | undefined => {
    const { tabs } = stack[stack.length - 1], tab = tabs?.items.find(({ id }) => id === tabs.selected);
    const inner = tab && inInnermost(tab.stack);
    return inner && tab ? { ...inner, stack: withTab(stack, { ...tab, stack: inner.stack }) } : make(stack);
  };
  const flows = state.presented ?? [], flow = flows[flows.length - 1];
  const made = inInnermost(flow?.stack ?? state.stack);
  if (!made || made.operations.length === 0) return undefined;
  if (!flow) return predicted(state, event, made.stack, flows, made.operations);
  return predicted(state, event, state.stack, [...flows.slice(0, -1), { ...flow, stack: made.stack }], made.operations);
}

/** The stack with another content of a tab of its top screen. */
function withTab(stack: Stack, tab: Tab): Stack {
  const top = stack[stack.length - 1];
  if (!top.tabs) return stack;
  const items = top.tabs.items.map(item => item.id === tab.id ? tab : item);
  return [...stack.slice(0, -1), { ...top, tabs: { ...top.tabs, items } }];
}

/** The screen that the user sees if this is the stack in front. */
function visibleIn(stack: Stack): Screen {
  const top = stack[stack.length - 1], tab = top.tabs?.items.find(({ id }) => id === top.tabs?.selected);
  return tab ? visibleIn(tab.stack) : top;
}

function predicted(
  { back, controls, presented, ...state }: NavigationState, event: string, stack: Stack,
  flows: readonly PresentedFlow[], operations: readonly ScreenOperation[],
): NavigationState {
  const transition = { event, cause: "event", operations, finished: [], dismissed: [] };
  const visible = visibleIn(flows[flows.length - 1]?.stack ?? stack);
  return { ...state, stack, ...flows.length > 0 && { presented: flows }, visible, events: [], transition,
    isPredicted: true };
}
