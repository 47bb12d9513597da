/// The request that a transition carries out, as far as a handler may know it.
public struct TransitionOrigin: Sendable {
    /// The session's id.
    let session: String
    /// Who was signed in to it before.
    let user: String?
    let isDryRun: Bool
    let transitionID: @Sendable () -> String
    let directory: (any SessionDirectory)?

    /// - Parameters:
    ///   - session: the session's id.
    ///   - user: who is signed in to it; `nil` for nobody.
    ///   - isDryRun: whether the result is discarded.
    ///   - directory: knows the other sessions.
    ///   - transitionID: see `Navigator.transitionID`; called only if a handler asks for it.
    public init(
        session: String, user: String? = nil, isDryRun: Bool = false, directory: (any SessionDirectory)? = nil,
        transitionID: @escaping @Sendable () -> String
    ) {
        self.session = session
        self.user = user
        self.isDryRun = isDryRun
        self.directory = directory
        self.transitionID = transitionID
    }

    static let none = TransitionOrigin(session: "") { "" }
}

/// The session that a coordinator belongs to.
public struct SessionInfo: Sendable {
    /// The id by which clients, logs and the operator know the session. Not a secret.
    public let id: String
    /// Who was signed in to it before the transition, see `Navigator.signIn`; `nil` for nobody, and where content is made.
    public let user: String?

    init(id: String, user: String? = nil) {
        self.id = id
        self.user = user
    }
}

extension Navigator {
    public var session: SessionInfo { SessionInfo(id: origin.session, user: origin.user) }

    /// Names this transition to other systems: the same when the same event is tried again, because its answer was lost
    /// or its outcome unknown. So a payment can use it as its idempotency key.
    ///
    /// With an `Idempotency-Key` it depends on the session, the key and the event; without one, on the session's version
    /// and the event. It cannot be guessed, and reveals nothing of the payload.
    public var transitionID: String { origin.transitionID() }

    /// Whether the transition is only tried (`?dryRun=true`) and its result discarded: then a handler should have no
    /// effect outside of the session.
    public var isDryRun: Bool { origin.isDryRun }
}
