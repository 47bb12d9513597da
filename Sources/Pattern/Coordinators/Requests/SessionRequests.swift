// The session.
extension Navigator {
    /// Replaces the token of the acting device with this transition. Call it when the user signs in or gains rights, so that the
    /// old token is useless to anyone who has seen it (session fixation), and when the user signs out. The answer gives
    /// the client the new token; the old one is invalid from then on. See `docs/sign-in.md`.
    ///
    /// - Parameter endingOthers: whether the tokens of the session's other devices, which were paired with it, become invalid,
    ///   too: right at a sign-in and a sign-out, unless these devices may see what the user sees. If not, they keep access to
    ///   the session, but no longer to its earlier versions.
    public mutating func rotateToken(endingOthers: Bool = false) {
        let name = endingOthers ? "rotateToken(endingOthers: true)" : "rotateToken()"
        let rotation = endingOthers ? TokenRotation.endingOthers : .keepingOthers
        record(ChangeSession(name: name, changes: SessionChanges(tokenRotation: rotation)))
    }

    /// Revokes the token of one of the session's devices with this transition, see `devices`. It may be the acting one, whose
    /// event is still answered. If there is none of that number, or no other device, nothing happens.
    public mutating func revokeDevice(_ number: Int) {
        record(ChangeSession(name: "revokeDevice(_:)", changes: SessionChanges(revokedDevices: [number])))
    }

    /// Asks for a code that pairs another device with the session. Only the client that posted the event gets it, beside
    /// the state in its answer: the code is neither in the session nor in what other devices see. It works once, for two
    /// minutes, and an earlier one of the same client no longer does. `Coordinator.deviceDidPair` is called when a device
    /// has used it. If no code can be had now, the event is refused, and has changed nothing; a dry run asks for none.
    ///
    /// Only an event has a client: in the first transition, for a signal, an effect or a timer, and in `deviceDidPair`, the
    /// request is refused as an error of the app.
    ///
    /// - Parameters:
    ///   - label: what the other device is to be called, in 1 to 64 characters.
    ///   - role: what it may do, one of the app's roles; `nil` for the role of the acting device, or another one that this may
    ///     give and the new device asks for.
    public mutating func requestPairingCode(label: String? = nil, role: DeviceRole? = nil) {
        let pairing = PairingRequest(label: label, role: role?.name)
        record(ChangeSession(name: "requestPairingCode()", changes: SessionChanges(pairingRequest: pairing)))
    }
}

/// A session that a user is signed in to, as the app may show it to that user.
public struct UserSession: Sendable, Equatable {
    public let id: String
    /// The name of its app.
    public let app: String
    public let createdAt: Date
    /// When a device last used it, to the minute.
    public let lastUsedAt: Date
    public let expiresAt: Date
    /// The labels of its devices; a device without a label is left out.
    public let devices: [String]

    public init(
        id: String, app: String, createdAt: Date, lastUsedAt: Date, expiresAt: Date, devices: [String] = []
    ) {
        self.id = id
        self.app = app
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.devices = devices
    }
}

/// Some of a user's sessions.
public enum UserSessions: Sendable, Equatable {
    case all
    /// All but the session whose handler makes the request.
    case others
    /// The session with that id, if it is the user's.
    case one(String)
}

/// How a transition changes who is signed in to the session.
public enum UserChange: Sendable, Equatable {
    case signIn(user: String)
    case signOut

    /// Who is signed in afterwards.
    public var user: String? {
        switch self {
        case .signIn(let user): user
        case .signOut: nil
        }
    }
}

/// Which sessions of a user a transition ends.
public struct SessionEnding: Sendable, Equatable {
    public let user: String
    public let sessions: UserSessions

    public init(user: String, sessions: UserSessions) {
        self.user = user
        self.sessions = sessions
    }
}

extension Navigator {
    /// Assigns the session to a user with this transition, until `signOut`: `sessions(ofUser:)` then lists the session,
    /// and every fork made of it later. It gives no rights and replaces no token: call `rotateToken`, too.
    ///
    /// - Parameter user: the app's own name for the user, of 1 to `UserID.limit` bytes. The operator sees it.
    public mutating func signIn(user: String) {
        record(ChangeSession(name: "signIn(user:)", changes: SessionChanges(userChange: .signIn(user: user))))
    }

    /// Assigns the session to no user with this transition. Call `rotateToken`, too.
    public mutating func signOut() {
        record(ChangeSession(name: "signOut()", changes: SessionChanges(userChange: .signOut)))
    }

    /// Ends sessions of a user in all apps, for good: their clients get 410. They end after the transition is committed
    /// and before its event is answered. If ending them fails, the answer is 503 `unknown`. A client that then posts
    /// the event again under the same `Idempotency-Key` ends the sessions without applying the event a second time.
    ///
    /// The first transition of a session ends none. An app should ask for the user's password first (OWASP ASVS 5.0,
    /// 7.5.2).
    public mutating func endSessions(ofUser user: String, _ sessions: UserSessions = .others) {
        let ending = SessionEnding(user: user, sessions: sessions)
        record(ChangeSession(name: "endSessions(ofUser:)", changes: SessionChanges(sessionEndings: [ending])))
    }

    /// The sessions that a user is signed in to, in all apps, as they are now; at most a hundred. Those last used come
    /// first.
    ///
    /// - Throws: if the store cannot be read.
    public func sessions(ofUser user: String) async throws -> [UserSession] {
        try await origin.sessions(ofUser: user)
    }
}

/// Changes the session beside its state.
private struct ChangeSession: Request {
    let name: String
    let changes: SessionChanges
    var outlivesCoordinator: Bool { true }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        if let problem = problem(in: run) { throw run.impossible(problem) }
        run.changes = run.changes?.followed(by: changes) ?? changes
    }

    private func problem(in run: TransitionRun) -> String? {
        if changes.tokenRotation != nil, run.cause != .event { return "there is no client that could get a new token" }
        if let pairing = changes.pairingRequest {
            guard run.isOfEvent else { return "there is no client that could get a code" }
            guard pairing.label.map(PairedDevice.isLabel) ?? true else {
                return "a label has 1 to 64 characters, and no control characters"
            }
            if let role = pairing.role, !run.app.roles.contains(where: { $0.name == role }) {
                return "the app has no role “\(role)”"
            }
        }
        let users = [changes.userChange?.user].compactMap(\.self) + changes.sessionEndings.map(\.user)
        guard !users.allSatisfy(UserID.isValid) else { return nil }
        return "a user's id has 1 to \(UserID.limit) bytes, and no zero byte"
    }
}
