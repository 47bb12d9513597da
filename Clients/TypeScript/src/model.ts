/** An event: something that the user did. `payload` is what its schema describes, or left out. */
export interface NavigationEvent {
  readonly type: string;
  readonly payload?: unknown;
}

/** A state: everything that is drawn. */
export interface NavigationState {
  readonly session: SessionInfo;
  /** The screen that the user sees: the last one of the stack in front, or of its selected tab. */
  readonly visible: Screen;
  /** The stack below all presented flows, bottom first. */
  readonly stack: readonly Screen[];
  /** The flows that are shown over `stack`, each over the one before. */
  readonly presented?: readonly PresentedFlow[];
  /** Over everything else. Only `answer`, `back` and `open` are accepted meanwhile. */
  readonly alert?: Alert;
  /** What `back` would do. Absent: no back button. */
  readonly back?: Back;
  /** The types of the events that are accepted now. */
  readonly events: readonly string[];
  /** Work of the app in the background: draw a spinner, and let the user go on. */
  readonly pending?: readonly PendingWork[];
  /** The same events with what is needed to draw buttons and forms, unless the session was opened without. */
  readonly controls?: readonly Control[];
  /** What led to the state. Absent if the state was read, and does not directly follow the one before. */
  readonly transition?: Transition;
  /** `true` for a state that was drawn before the server's answer, see `SessionOptions.predicts`. */
  readonly isPredicted?: boolean;
}

export interface SessionInfo {
  readonly id: string;
  readonly app: string;
  /** 1 for the first state, and one more for each change. */
  readonly version: number;
  /** When the session expires unless it is used before; ISO 8601. */
  readonly expiresAt: string;
}

export interface Screen {
  /** Unique in the session, never used again. */
  readonly key: string;
  /** The kind of screen, by which a client knows how to draw it. */
  readonly name: string;
  /** The coordinator that the screen belongs to. */
  readonly coordinator: string;
  readonly title?: string;
  /** What the app says about the screen. Numbers beyond JavaScript's digits are an `ExactNumber`. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** The path that opens the screen again. */
  readonly link?: string;
  readonly eventTitles?: Readonly<Record<string, string>>;
  /** What forms show at first, by the event's type, as far as the screen holds it; `default`s in `controls` are all. */
  readonly eventValues?: Readonly<Record<string, unknown>>;
  readonly buttons?: readonly Button[];
  readonly rows?: readonly Row[];
  readonly hidesNavigationBar?: boolean;
  /** `NavigationSession.content` reads what the screen shows beside its parameters. */
  readonly hasContent?: boolean;
  /** Differs from before when the content has changed: read it again. */
  readonly contentVersion?: number;
  readonly tabs?: Tabs;
}

export interface Tabs {
  /** The id of the selected tab. */
  readonly selected: string;
  readonly items: readonly Tab[];
}

export interface Tab {
  readonly id: string;
  readonly title?: string;
  readonly icon?: string;
  readonly badge?: string;
  readonly stack: readonly Screen[];
}

export interface PresentedFlow {
  readonly key: string;
  readonly style: "sheet" | "fullScreen";
  readonly detent?: "medium" | "large";
  /** `false` if the user cannot dismiss the flow; absent otherwise. */
  readonly isDismissable?: boolean;
  /** `true` if an alert comes first when the user dismisses the flow. */
  readonly asks?: boolean;
  readonly stack: readonly Screen[];
}

export interface Alert {
  readonly key: string;
  readonly title: string;
  readonly message?: string;
  readonly buttons: readonly AlertButton[];
}

export interface AlertButton {
  readonly id: string;
  readonly title: string;
  /** `cancel` is what `back` presses; `destructive` is drawn as a warning. */
  readonly role?: "cancel" | "destructive";
  /** `false` if it is not for the role of this device. */
  readonly isEnabled?: false;
}

/** What `back` would do: `to` is visible then. With `asks` an alert comes first. */
export type Back =
  | { readonly effect: "pop" | "dismiss" | "selectTab"; readonly to: string; readonly asks?: boolean }
  | { readonly effect: "dismissAlert"; readonly asks?: undefined };

export interface PendingWork {
  readonly id: string;
  readonly effect: string;
  readonly coordinator: string;
  readonly since: string;
}

export type Role = "primary" | "secondary" | "destructive" | "navigation" | "input";

/** A button with a payload: post both as they stand. */
export interface Button {
  readonly type: string;
  readonly payload: unknown;
  readonly role?: Role;
  readonly isEnabled?: boolean;
  readonly title?: string;
}

/** A row of a list. With `type`, a tap posts it with `payload`; without, it is only text. */
export interface Row {
  readonly title: string;
  readonly detail?: string;
  readonly isSelected?: boolean;
  readonly type?: string;
  readonly payload?: unknown;
  readonly role?: Role;
  readonly isEnabled?: boolean;
}

/** An accepted event, and how it is drawn: with `schema` as a form, otherwise as a button that posts `payload`. */
export interface Control {
  readonly type: string;
  readonly title: string;
  readonly role: Role;
  readonly place: "screen" | "tabBar" | "alert" | "app";
  readonly payload?: unknown;
  /** Absent for a built-in event, such as `back`. */
  readonly coordinator?: string;
  /** The JSON Schema of the payload that the user enters. */
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
}

/** What led to a state, for animations. */
export interface Transition {
  readonly event?: string;
  readonly cause?: string;
  /** In order; ignore an `op` that you do not know. */
  readonly operations: readonly ScreenOperation[];
  readonly finished: readonly string[];
  readonly dismissed: readonly string[];
}

/** A visible change: `push`, `pop`, `update`, `replace`, `present`, `dismiss`, `selectTab`, `alert`, `dismissAlert`. */
export interface ScreenOperation {
  readonly op: string;
  readonly key: string;
  readonly stack?: string;
  readonly replaced?: string;
  readonly style?: string;
  readonly tab?: string;
}

/** A code with which another device joins the session. */
export interface PairingCode {
  readonly code: string;
  readonly expiresAt: string;
}

/** A device's right to the session. */
export interface Device {
  readonly number: number;
  readonly label?: string;
  /** What it may do; absent if the app declares no roles. */
  readonly role?: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly firstVersion: number;
  /** `true` for the token of this client. */
  readonly isOwn?: boolean;
}

/** What a client says about itself; an app may read more members. */
export interface ClientInfo {
  readonly locale?: string;
  readonly platform?: string;
  readonly version?: string;
  readonly [name: string]: unknown;
}

/** What to open: a session of an app, perhaps at a link; or a copy of a session, whose token `SessionOptions` has. */
export type Launch =
  | { readonly app?: string; readonly link?: string; readonly client?: ClientInfo }
  | { readonly forkOf: string; readonly version?: number };

/** One fault of a payload: `pointer` says at which field, such as `/payload/id`, and `detail` what is wrong. */
export interface Fault {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Every screen of a state, also those that are covered or in other tabs. */
export function screensOf(state: NavigationState): Screen[] {
  const within = (screen: Screen): Screen[] =>
    [screen, ...(screen.tabs?.items ?? []).flatMap(({ stack }) => stack.flatMap(within))];
  return [state.stack, ...(state.presented ?? []).map(({ stack }) => stack)].flat().flatMap(within);
}
