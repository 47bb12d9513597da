/// How long the sessions of an app live. `nil` leaves it to the server.
public struct Expiry: Sendable, Equatable {
    /// How long a session lives after its last transition.
    public let idle: Duration?
    /// How long a session lives after it was created, however much it is used.
    public let absolute: Duration?

    public init(idle: Duration? = nil, absolute: Duration? = nil) {
        self.idle = idle
        self.absolute = absolute
    }
}

/// What happens to a session that an older version of its app saved and that cannot be restored.
public enum IncompatibleSessions: Sendable, Equatable {
    /// It is relaunched, with its `defaults`.
    case relaunched
    /// Its client gets an error, and has to create another session.
    case refused
}
