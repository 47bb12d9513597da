public import Coordinators
public import FoundationEssentials

/// A committed state of a session: what every answer shows. Immutable, and shared by all who look at it.
public final class SessionState: Sendable {
    public let id: SessionID
    public let app: String
    /// 1, 2, 3 … without a gap.
    public let version: Int
    public let expiresAt: Date
    public let navigation: NavigationState

    init(id: SessionID, app: String, version: Int, expiresAt: Date, navigation: NavigationState) {
        self.id = id
        self.app = app
        self.version = version
        self.expiresAt = expiresAt
        self.navigation = navigation
    }
}

extension SessionState: Equatable {
    public static func == (left: SessionState, right: SessionState) -> Bool {
        left.id == right.id && left.app == right.app && left.version == right.version
            && left.expiresAt == right.expiresAt && left.navigation == right.navigation
    }
}

/// What came of one event.
public struct AppliedEvent: Sendable {
    /// The state after the event; of the version before, when the event changed nothing.
    public let state: SessionState
    public let transition: Transition
}

/// A session that was just created.
public struct CreatedSession: Sendable {
    public let state: SessionState
    public let transition: Transition
    /// Told this once.
    public let token: SessionToken
}

public struct SessionSettings: Sendable {
    /// How long a session lives after its last transition.
    public var idleLifetime: TimeInterval = 24 * 60 * 60
    /// How long it lives at most.
    public var absoluteLifetime: TimeInterval = 30 * 24 * 60 * 60
    /// How long an ended or expired session is known, so that its client can be told.
    public var graveTime: TimeInterval = 24 * 60 * 60
    /// After this a handler has failed.
    public var handlerDeadline: Duration = .seconds(10)
    /// Events of one session that may wait for their turn.
    public var waitingLimit = 32

    public init() {}
}
