internal import JSONCoding

/// What one event did.
public struct Transition: Sendable, Equatable {
    /// The type of the event; `nil` for the first state of a session.
    public let event: String?
    /// What a client animates, in the order in which it was done.
    public let operations: [Operation]
    /// The names of the coordinators that finished, in order.
    public let finished: [String]
    /// The names of the coordinators that were removed without finishing, descendants before their ancestors: by
    /// `back`, by `dismiss`, together with an ancestor, or by `relaunch`.
    public let dismissed: [String]
    /// Whether a coordinator asked for another token, see `Navigator.rotateToken`.
    public let rotatesToken: Bool
    /// The transition's members in answers and in the history, as JSON text: `event`, `operations`, `finished`,
    /// `dismissed`.
    public let encodedMembers: [UInt8]

    public init(
        event: String?, operations: [Operation] = [], finished: [String] = [], dismissed: [String] = [],
        rotatesToken: Bool = false
    ) {
        self.event = event
        self.operations = operations
        self.finished = finished
        self.dismissed = dismissed
        self.rotatesToken = rotatesToken
        var members = JSONWriter()
        members.member("event", ifAny: event)
        members.member("operations", operations)
        members.member("finished", finished)
        members.member("dismissed", dismissed)
        self.encodedMembers = members.bytes
    }
}

/// A change that the user can see.
public enum Operation: Sendable, Equatable {
    case push(key: String)
    case pop(key: String)
    /// The screen `key` took the place of the screen `replaced`.
    case replace(key: String, replaced: String)
    /// The title or the parameters changed.
    case update(key: String)
    /// `key` is that of the flow.
    case present(key: String, style: PresentedFlow.Style)
    case dismiss(key: String)
    /// `key` is that of the screen with the tabs.
    case selectTab(key: String, tab: String)
    case alert(key: String)
    case dismissAlert(key: String)
}

extension Operation {
    var isSelection: Bool {
        if case .selectTab = self { true } else { false }
    }
}

/// A state and the transition that led to it.
public final class TransitionResult: Sendable {
    public let state: NavigationState
    public let transition: Transition

    public init(state: NavigationState, transition: Transition) {
        self.state = state
        self.transition = transition
    }
}
