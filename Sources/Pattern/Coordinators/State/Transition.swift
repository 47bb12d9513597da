public import JSONCoding

/// What one event did.
public struct Transition: Sendable, Equatable {
    /// The type of the event; `nil` for the first state of a session. If something else than an event was the cause, the
    /// name of the signal, or that of the effect if there was no signal.
    public let event: String?
    public let cause: Cause
    /// The changes that a client animates, in the order in which it performs them.
    public let operations: [Operation]
    /// The names of the coordinators that finished, in order.
    public let finished: [String]
    /// The names of the coordinators that were removed without finishing, descendants before their ancestors: by
    /// `back`, by `dismiss`, together with an ancestor, or by `relaunch`.
    public let dismissed: [String]
    /// What it changes of the session beside the state; `nil` for nothing, as in most transitions.
    public let changes: SessionChanges?
    /// The transition's members in answers and in the history, as JSON text: `event`, `cause`, `operations`, `finished`,
    /// `dismissed`.
    public let encodedMembers: [UInt8]

    /// What a transition was made for.
    public enum Cause: String, Sendable {
        /// An event of a client, or what the operator did.
        case event
        /// The end of an effect.
        case effect
        case timer
        /// A signal that another system has sent; or another device was paired, and the app was told.
        case signal
    }

    public init(
        event: String?, cause: Cause = .event, operations: [Operation] = [], finished: [String] = [],
        dismissed: [String] = [], changes: SessionChanges? = nil
    ) {
        self.event = event
        self.cause = cause
        self.operations = operations
        self.finished = finished
        self.dismissed = dismissed
        self.changes = changes
        var members = JSONWriter()
        if let event {
            members.member("event", event)
            members.member("cause", word: cause.word)
        }
        members.member("operations", operations)
        members.member("finished", finished)
        members.member("dismissed", dismissed)
        self.encodedMembers = members.bytes
    }

    /// The same with other operations, for a device that sees the states before and after otherwise.
    package func with(_ operations: [Operation]) -> Transition {
        Transition(
            event: event, cause: cause, operations: operations, finished: finished, dismissed: dismissed,
            changes: changes)
    }

    /// This transition and the next one as one, which keeps this one's event and cause.
    ///
    /// - Parameter original: the state before this one.
    func followed(by next: TransitionResult, since original: NavigationState) -> Transition {
        let other = next.transition
        return Transition(
            event: event, cause: cause,
            operations: next.state.operations(
                since: original, replaced: (operations + other.operations).replaced),
            finished: finished + other.finished, dismissed: dismissed + other.dismissed,
            changes: other.changes.map { changes?.followed(by: $0) ?? $0 } ?? changes)
    }
}

/// What a transition changes of its session beside the state: who has access to it, and who is signed in.
public final class SessionChanges: Sendable, Equatable {
    /// How the session's tokens are replaced; `nil` if they are kept. See `Navigator.rotateToken`.
    public let tokenRotation: TokenRotation?
    /// The client gets a pairing code, see `Navigator.requestPairingCode`; `nil` if not.
    public let pairingRequest: PairingRequest?
    /// The numbers of the devices whose tokens are revoked, see `Navigator.revokeDevice`.
    public let revokedDevices: [Int]
    /// Who is signed in to the session from then on; `nil` if that does not change. See `Navigator.signIn`.
    public let userChange: UserChange?
    /// The sessions that end, see `Navigator.endSessions`.
    public let sessionEndings: [SessionEnding]

    package init(
        tokenRotation: TokenRotation? = nil, pairingRequest: PairingRequest? = nil, revokedDevices: [Int] = [],
        userChange: UserChange? = nil, sessionEndings: [SessionEnding] = []
    ) {
        self.tokenRotation = tokenRotation
        self.pairingRequest = pairingRequest
        self.revokedDevices = revokedDevices
        self.userChange = userChange
        self.sessionEndings = sessionEndings
    }

    func followed(by next: SessionChanges) -> SessionChanges {
        SessionChanges(
            tokenRotation: tokenRotation == .endingOthers ? .endingOthers : next.tokenRotation ?? tokenRotation,
            pairingRequest: next.pairingRequest ?? pairingRequest,
            revokedDevices: revokedDevices + next.revokedDevices.filter { !revokedDevices.contains($0) },
            userChange: next.userChange ?? userChange,
            sessionEndings: sessionEndings + next.sessionEndings.filter { !sessionEndings.contains($0) })
    }

    public static func == (left: SessionChanges, right: SessionChanges) -> Bool {
        left.tokenRotation == right.tokenRotation && left.pairingRequest == right.pairingRequest
            && left.revokedDevices == right.revokedDevices && left.userChange == right.userChange
            && left.sessionEndings == right.sessionEndings
    }
}

// What it changes of the session, one by one.
extension Transition {
    public var tokenRotation: TokenRotation? { changes?.tokenRotation }
    public var pairingRequest: PairingRequest? { changes?.pairingRequest }
    public var revokedDevices: [Int] { changes?.revokedDevices ?? [] }
    public var userChange: UserChange? { changes?.userChange }
    public var sessionEndings: [SessionEnding] { changes?.sessionEndings ?? [] }
    /// Whether a coordinator asked for another token.
    public var rotatesToken: Bool { tokenRotation != nil }
}

extension Transition.Cause {
    fileprivate var word: StaticString {
        switch self {
        case .event: "event"
        case .effect: "effect"
        case .timer: "timer"
        case .signal: "signal"
        }
    }
}

/// What happens to a session's other tokens when a transition replaces the token of the client that posted its event.
public enum TokenRotation: Sendable, Equatable {
    /// The other tokens become invalid.
    case endingOthers
    /// The other tokens stay valid, but no longer give access to earlier versions of the session.
    case keepingOthers
}

/// A state and the transition that led to it.
public final class TransitionResult: Sendable {
    public let state: NavigationState
    public let transition: Transition
    /// The error of a coordinator that the app turned into an alert, see `onError` of `App`; without an alert, the reason
    /// why a link that had waited for an answer was dropped; `nil` if there was neither.
    public let caught: NavigationError?
    /// Whether the event was held up without its payload: the state has an alert instead, and the client has to post
    /// the event again when the user has answered.
    public let asksFirst: Bool

    public init(
        state: NavigationState, transition: Transition, caught: NavigationError? = nil, asksFirst: Bool = false
    ) {
        self.state = state
        self.transition = transition
        self.caught = caught
        self.asksFirst = asksFirst
    }
}

// How clients and the history receive a transition.

extension Transition: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { $0.encoded(encodedMembers) }
    }
}
