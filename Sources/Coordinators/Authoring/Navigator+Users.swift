public import JSONCoding

/// A session that a user is signed in to, as the app may show it to that user.
public struct UserSession: Sendable, Equatable {
    public let id: String
    /// The name of its app.
    public let app: String
    public let createdAt: Date
    /// When a device last used it, to the minute.
    public let lastUsedAt: Date
    public let expiresAt: Date
    /// What its devices are called, those that were given a label.
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

/// Knows the sessions of all users.
public protocol SessionDirectory: Sendable {
    /// See `Navigator.sessions(ofUser:)`.
    func sessions(ofUser user: String) async throws -> [UserSession]
}

/// Some of a user's sessions.
public enum UserSessions: Sendable, Equatable {
    case all
    /// All but the session that asks.
    case others
    /// The session with that id, if it is the user's.
    case one(String)
}

/// A transition signs a user in or out.
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

/// A transition ends sessions of a user.
public struct SessionEnding: Sendable, Equatable {
    public let user: String
    public let sessions: UserSessions

    public init(user: String, sessions: UserSessions) {
        self.user = user
        self.sessions = sessions
    }
}

extension Navigator {
    /// Ties the session to a user with this transition, until `signOut`: it is then one of `sessions(ofUser:)`, and so
    /// are its forks from then on. It gives no rights, and replaces no token: call `rotateToken`, too.
    ///
    /// - Parameter user: the app's own name for the user, of 1 to `UserID.limit` bytes. The operator sees it.
    public mutating func signIn(user: String) {
        requests.append(.changeUser(.signIn(user: user)))
    }

    /// The session is nobody's from then on. Call `rotateToken`, too.
    public mutating func signOut() {
        requests.append(.changeUser(.signOut))
    }

    /// Ends sessions of a user, in all apps, for good: their clients get 410. They end after the transition is
    /// committed and before its event is answered. If that fails, the answer is 503 `unknown`; posted again under its
    /// `Idempotency-Key`, the event is not applied again, but the sessions are ended.
    ///
    /// The first transition of a session ends none. An app should ask for the user's password before (OWASP ASVS 5.0, 7.5.2).
    public mutating func endSessions(ofUser user: String, _ sessions: UserSessions = .others) {
        requests.append(.endSessions(SessionEnding(user: user, sessions: sessions)))
    }

    /// The sessions that a user is signed in to, in all apps, as they are now; at most a hundred. Those last used come
    /// first.
    ///
    /// - Throws: if the store cannot be read.
    public func sessions(ofUser user: String) async throws -> [UserSession] {
        try await origin.directory?.sessions(ofUser: user) ?? []
    }
}
