/// How long the sessions of an app live. `nil` leaves it to the server.
public struct Expiry: Sendable, Equatable {
    /// After the last transition.
    public let idle: Duration?
    /// After the session was created, however much it is used.
    public let absolute: Duration?

    public init(idle: Duration? = nil, absolute: Duration? = nil) {
        self.idle = idle
        self.absolute = absolute
    }
}

/// What becomes of a session that an older version of its app saved, and that there is no way to bring back.
public enum IncompatibleSessions: Sendable, Equatable {
    /// It is started anew, with its `defaults`.
    case relaunched
    /// Its client is told, and has to create another one.
    case refused
}
