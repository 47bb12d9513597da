public import Coordinators
public import FoundationEssentials
public import Sodium

/// Where sessions are kept. It holds ids, versions and bytes, and knows no coordinators.
///
/// Several servers may share one: a commit states the version that it was made from, and one that comes too late is a
/// conflict, never an overwrite.
public protocol SessionStore: Sendable {
    /// What the store is, for start-up and `/readyz`: `memory`.
    var name: String { get }

    /// The last committed form; `nil` where there is none, or none any more.
    func load(_ id: SessionID) async throws(StoreError) -> StoredSession?

    /// Commits each change that fits, all at once, and returns when they are as safe as the store makes them. A store
    /// that writes to disk gathers what several callers commit at the same time.
    ///
    /// - Returns: one result for each change, in the same order.
    func commit(_ changes: [SessionChange]) async throws(StoreError) -> [CommitResult]

    /// Forgets up to `limit` sessions that need not be kept any longer at `now`.
    ///
    /// - Returns: the ids of those that were forgotten.
    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID]
}

/// A session as it is stored.
public struct StoredSession: Sendable, Equatable {
    public let id: SessionID
    /// 1 when it was created, one more with every transition that changed it, and with its end.
    public var version: Int
    public let token: SHA256Digest
    /// When it may be forgotten: expired and ended sessions are known for a while, so that their clients can be told.
    public var keptUntil: Date
    /// `nil` once it has ended.
    public var content: Content?

    /// What a session has until it ends.
    public struct Content: Sendable, Equatable {
        /// The name of its app.
        public let app: String
        public let createdAt: Date
        public let expiresAt: Date
        public let state: SavedState
    }
}

/// A navigation state on its way into a store, or out of it. It is turned into text when a store asks, which one that
/// writes to disk does on its own thread.
public enum SavedState: Sendable {
    case navigation(NavigationState)
    case text([UInt8])

    /// JSON text.
    public var text: [UInt8] {
        switch self {
        case .navigation(let navigation): navigation.encoded
        case .text(let text): text
        }
    }
}

extension SavedState: Equatable {
    public static func == (left: SavedState, right: SavedState) -> Bool { left.text == right.text }
}

/// A new form of a session, and the version that it replaces.
public struct SessionChange: Sendable {
    /// 0 for a session that is new.
    public let expectedVersion: Int
    public let session: StoredSession
    /// The type of the event that led here; `nil` for the first state and for the end.
    public let event: String?

    public init(expectedVersion: Int, session: StoredSession, event: String?) {
        self.expectedVersion = expectedVersion
        self.session = session
        self.event = event
    }
}

public enum CommitResult: Sendable, Equatable {
    case committed
    /// The stored version is another one; 0 where there is no such session. The change was not made.
    case conflict(current: Int)
}

/// Why a store cannot do its work.
public enum StoreError: Error, Equatable, Sendable {
    /// Nothing was changed; it may work later.
    case unavailable(reason: String)
    /// It cannot be told whether the change was made.
    case unknownOutcome(reason: String)
}
