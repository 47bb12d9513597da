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
        dismissed: [String] = [],
        tokenRotation: TokenRotation? = nil, pairingRequest: PairingRequest? = nil, revokedDevices: [Int] = [],
        userChange: UserChange? = nil, sessionEndings: [SessionEnding] = []
    ) {
        self.event = event
        self.cause = cause
        self.operations = operations
        self.finished = finished
        self.dismissed = dismissed
        self.tokenRotation = tokenRotation
        self.pairingRequest = pairingRequest
        self.revokedDevices = revokedDevices
        self.userChange = userChange
        self.sessionEndings = sessionEndings
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
            tokenRotation: tokenRotation, pairingRequest: pairingRequest, revokedDevices: revokedDevices,
            userChange: userChange, sessionEndings: sessionEndings)
    }

    /// This transition and the next one as one, which keeps this one's event and cause.
    ///
    /// - Parameter original: the state before this one.
    func followed(by next: TransitionResult, since original: NavigationState) -> Transition {
        let other = next.transition
        let rotations = [tokenRotation, other.tokenRotation].compactMap(\.self)
        return Transition(
            event: event, cause: cause,
            operations: next.state.operations(
                since: original, replaced: (operations + other.operations).replaced),
            finished: finished + other.finished, dismissed: dismissed + other.dismissed,
            tokenRotation: rotations.first { $0 == .endingOthers } ?? rotations.first,
            pairingRequest: other.pairingRequest ?? pairingRequest,
            revokedDevices: revokedDevices + other.revokedDevices.filter { !revokedDevices.contains($0) },
            userChange: other.userChange ?? userChange,
            sessionEndings: sessionEndings + other.sessionEndings.filter { !sessionEndings.contains($0) })
    }

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
