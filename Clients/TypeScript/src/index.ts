export { ExactNumber, parse, randomKey, stringify } from "./json.js";
export type {
  Alert, AlertButton, Back, Button, ClientInfo, Control, Device, Fault, Launch, NavigationEvent, NavigationState,
  PairingCode, PendingWork, PresentedFlow, Role, Row, Screen, ScreenOperation, SessionInfo, Tab, Tabs, Transition,
} from "./model.js";
export { screensOf } from "./model.js";
export { predict } from "./prediction.js";
export type { Answer, ProblemBody, RequestOptions, Waiting } from "./request.js";
export { Problem, request, Undecided } from "./request.js";
export type { SavedSession, SessionStorage } from "./storage.js";
export { FileStorage, TabStorage } from "./storage.js";
export type { EndReason, Outcome, PostOptions, SessionOptions, SettledOutcome } from "./session.js";
export { NavigationSession } from "./session.js";
