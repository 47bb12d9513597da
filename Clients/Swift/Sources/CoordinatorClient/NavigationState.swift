public import Foundation

/// What the user sees, and what may happen next. Draw it as a whole; a client keeps no navigation of its own.
public struct NavigationState: Decodable, Sendable, Equatable {
    /// The session that the state belongs to.
    public let session: SessionInfo
    /// The screen in front.
    public internal(set) var visible: Screen
    /// The screens of the main stack, bottom first.
    public internal(set) var stack: [Screen]
    /// The flows over `stack`, the last one in front.
    public internal(set) var presented: [PresentedFlow]
    /// The alert over everything else.
    public internal(set) var alert: Alert?
    /// What `back` would do; `nil`: draw no back button.
    public internal(set) var back: Back?
    /// The types of the events that are accepted now.
    public internal(set) var events: [String]
    /// The same events with what is needed to draw buttons and forms for them.
    public internal(set) var controls: [Control]
    /// The work under way in the background: draw a spinner, and let the user go on.
    public let pending: [Pending]
    /// What has changed since the version before, for animations; `nil` if that is not known.
    public internal(set) var transition: Transition?
    /// A code for another device that the app asked for. Only the answer to the event has it.
    public let pairing: PairingCode?
    /// The state is what the client expects an event to lead to; the server's answer follows. See
    /// `predicted(after:)`.
    public internal(set) var isEarly = false
    /// A new token, which replaces the one before.
    let token: Secret?

    private enum Members: CodingKey {
        case session, visible, stack, presented, alert, back, events, controls, pending, transition, pairing, token
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Members.self)
        session = try members.decode(SessionInfo.self, forKey: .session)
        visible = try members.decode(Screen.self, forKey: .visible)
        stack = try members.decode([Screen].self, forKey: .stack)
        presented = try members.decodeIfPresent([PresentedFlow].self, forKey: .presented) ?? []
        alert = try members.decodeIfPresent(Alert.self, forKey: .alert)
        back = try members.decodeIfPresent(Back.self, forKey: .back)
        events = try members.decode([String].self, forKey: .events)
        controls = try members.decodeIfPresent([Control].self, forKey: .controls) ?? []
        pending = try members.decodeIfPresent([Pending].self, forKey: .pending) ?? []
        // Only for animations: one that a later server describes differently must not cost the state.
        transition = try? members.decodeIfPresent(Transition.self, forKey: .transition)
        pairing = try members.decodeIfPresent(PairingCode.self, forKey: .pairing)
        token = try members.decodeIfPresent(Secret.self, forKey: .token)
    }
}

/// A text that is neither printed nor dumped.
struct Secret: Codable, Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    var description: String { "•••" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// Which session a state belongs to, and which version of it this is.
public struct SessionInfo: Decodable, Sendable, Equatable {
    public let id: String
    /// The app's name.
    public let app: String
    /// 1 for the first state, and one more for each change.
    public let version: Int
    /// When the session ends if nobody uses it.
    public let expiresAt: Date
}

/// A screen to draw. A client that knows its `name` draws it specially, any other one from `params`, `rows` and the
/// state's `controls`.
public struct Screen: Decodable, Sendable, Equatable, Identifiable {
    /// Unique in the session, and never used again.
    public let key: String
    /// The kind of screen.
    public let name: String
    public let title: String?
    /// The screen's data.
    public let params: JSONValue?
    /// The path that opens this screen again.
    public let link: String?
    /// Buttons with payloads. `controls` has them, too.
    public let buttons: [ScreenButton]?
    /// A list.
    public let rows: [Row]?
    /// Whether the screen is drawn without a navigation bar.
    public let hidesNavigationBar: Bool?
    /// Whether `NavigationSession.content(of:)` has more to show.
    public let hasContent: Bool?
    /// Fetch the content again when this differs.
    public let contentVersion: Int?
    /// The name of the coordinator that the screen belongs to.
    public let coordinator: String
    /// The tabs of a screen that has some, each with its own stack.
    public internal(set) var tabs: Tabs?

    public var id: String { key }

    /// The screen's data as a type of the app's own; `nil` if it does not fit.
    public func params<T: Decodable>(as type: T.Type) -> T? {
        try? (params ?? .object([:])).decoded(as: type)
    }
}

/// The tabs of a screen.
public struct Tabs: Decodable, Sendable, Equatable {
    /// The id of the selected tab.
    public internal(set) var selected: String
    /// In the order in which they are drawn.
    public internal(set) var items: [Tab]

    /// The position of the selected tab; `nil` only if the server has sent a state without it.
    var selection: Int? { items.firstIndex { $0.id == selected } }

    /// A tab and its stack of screens.
    public struct Tab: Decodable, Sendable, Equatable, Identifiable {
        public let id: String
        public let title: String?
        /// The name of an icon.
        public let icon: String?
        /// Such as a number.
        public let badge: String?
        public internal(set) var stack: [Screen]
    }
}

/// A flow over everything below it.
public struct PresentedFlow: Decodable, Sendable, Equatable, Identifiable {
    public let key: String
    public let style: Style
    /// How high a sheet opens: `medium`, `large`, or up to the client.
    public let detent: String?
    /// `false` if the user cannot dismiss the flow.
    public let isDismissable: Bool?
    /// Whether the app asks the user before the flow is dismissed.
    public let asks: Bool?
    public internal(set) var stack: [Screen]

    public var id: String { key }

    /// How much a flow covers.
    public enum Style: String, OpenEnum { case sheet, fullScreen, unknown }
}

/// A question or a message over everything else.
public struct Alert: Decodable, Sendable, Equatable, Identifiable {
    public let key: String
    public let title: String
    public let message: String?
    public let buttons: [Button]

    public var id: String { key }

    /// A button, which `NavigationEvent.answer(_:_:)` presses.
    public struct Button: Decodable, Sendable, Equatable, Identifiable {
        public let id: String
        public let title: String
        public let role: Role?
        /// `false` if it is not for the role of this device.
        public let isEnabled: Bool?
    }

    /// What a button is for.
    public enum Role: String, OpenEnum { case cancel, destructive, unknown }
}

/// What `back` would do.
public struct Back: Decodable, Sendable, Equatable {
    public let effect: Effect
    /// The key of the screen that is visible then.
    public let to: String?
    /// Whether an alert asks the user first, so that the screens stay.
    public let asks: Bool?

    public enum Effect: String, OpenEnum { case pop, dismiss, selectTab, dismissAlert, unknown }
}

/// What a button, a row or a control is for.
public enum Role: String, OpenEnum { case primary, secondary, destructive, navigation, input, unknown }

/// An event that is accepted now, as a button or a form.
public struct Control: Decodable, Sendable, Equatable {
    /// The event's name.
    public let type: String
    /// What is sent, as it stands.
    public let payload: JSONValue?
    /// Absent for the events that every app has.
    public let coordinator: String?
    public let title: String
    public let role: Role
    public let place: Place
    /// The JSON Schema of the payload: then this is a form, see `fields`.
    public let schema: JSONValue?
    /// A payload that would be accepted.
    public let example: JSONValue?

    /// Where a control belongs: to the screen, to the tab bar, to the alert, or to a menu of the app.
    public enum Place: String, OpenEnum { case screen, tabBar, alert, app, unknown }
}

/// A button of a screen that sends its payload as it stands.
public struct ScreenButton: Decodable, Sendable, Equatable {
    public let type: String
    public let payload: JSONValue
    public let role: Role?
    public let title: String?
    /// `false` if it cannot be tapped now.
    public let isEnabled: Bool?
}

/// A row of a list.
public struct Row: Decodable, Sendable, Equatable {
    public let title: String
    public let detail: String?
    /// Whether the row has a check mark; `nil` in a list without any.
    public let isSelected: Bool?
    /// The event that a tap sends; `nil`: the row is only text.
    public let type: String?
    public let payload: JSONValue?
    public let role: Role?
    /// `false` if it cannot be tapped now.
    public let isEnabled: Bool?
}

/// Work of the app in the background.
public struct Pending: Decodable, Sendable, Equatable, Identifiable {
    public let id: String
    /// What kind of work it is, in the app's words.
    public let effect: String
    public let coordinator: String
    public let since: Date
}

/// What led to a state.
public struct Transition: Decodable, Sendable, Equatable {
    public let event: String?
    public let cause: Cause?
    /// The visible changes, in order.
    public let operations: [ScreenOperation]
    /// The names of the coordinators that finished, and of those that were removed without finishing.
    public let finished, dismissed: [String]

    public enum Cause: String, OpenEnum { case event, effect, timer, signal, unknown }
}

/// A visible change, for an animation. Ignore an `op` that you do not know, and draw the state.
public struct ScreenOperation: Decodable, Sendable, Equatable {
    /// `push`, `pop`, `update`, `replace`, `present`, `dismiss`, `selectTab`, `alert` or `dismissAlert`.
    public let op: String
    public let key: String
    public let stack, replaced, style, tab: String?
}

/// A code that a second device redeems, see `NavigationSession.redeem(_:label:client:)`.
public struct PairingCode: Decodable, Sendable, Equatable {
    public let code: String
    public let expiresAt: Date
}

/// A set of names that later versions of the server may extend: a name that is not known is `unknown`.
public protocol OpenEnum: RawRepresentable<String>, Decodable, Sendable {
    static var unknown: Self { get }
}

extension OpenEnum {
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
