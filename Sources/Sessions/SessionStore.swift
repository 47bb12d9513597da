internal import Coordinators
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

    /// Commits each change that fits, all at once. A store that writes to disk gathers what several callers commit at
    /// the same time.
    ///
    /// - Parameter completion: is called when the changes are as safe as the store makes them, on whatever thread; by a
    ///   store that never waits, before this returns.
    func commit(_ changes: [SessionChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void)

    /// Forgets up to `limit` sessions that need not be kept any longer at `now`.
    ///
    /// - Returns: the ids of those that were forgotten.
    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID]
}

/// A session as it is stored. Immutable: a transition puts another one in its place.
public final class StoredSession: Sendable {
    public let id: SessionID
    /// 1 when it was created, one more with every transition that changed it, and with its end.
    public let version: Int
    public let token: SHA256Digest
    /// When it may be forgotten: expired and ended sessions are known for a while, so that their clients can be told.
    public let keptUntil: Date
    /// `nil` once it has ended.
    public let content: Content?

    /// What a session has until it ends.
    public struct Content: Sendable {
        /// The name of its app.
        public let app: String
        public let createdAt: Date
        public let expiresAt: Date
        public let state: SavedState

        public init(app: String, createdAt: Date, expiresAt: Date, state: SavedState) {
            self.app = app
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.state = state
        }
    }

    public init(id: SessionID, version: Int, token: SHA256Digest, keptUntil: Date, content: Content?) {
        self.id = id
        self.version = version
        self.token = token
        self.keptUntil = keptUntil
        self.content = content
    }
}

/// A navigation state on its way into a store, or out of it. It is turned into text when a store asks, which one that
/// writes to disk does on its own thread.
public enum SavedState: Sendable {
    case committed(SessionState)
    case text([UInt8])

    /// JSON text.
    public var text: [UInt8] {
        switch self {
        case .committed(let state): state.navigation.encoded
        case .text(let text): text
        }
    }
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

/// The conflicts, in the order of the changes; none where all were committed.
public typealias CommitOutcome = Result<[CommitConflict], StoreError>

extension SessionStore {
    public func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        await withCheckedContinuation { continuation in
            commit(changes) { continuation.resume(returning: $0) }
        }
    }
}

/// A change that was not made, because the stored version is not the one it was made from.
public struct CommitConflict: Sendable, Equatable {
    public let id: SessionID
    /// The version that is stored; 0 where there is no such session.
    public let current: Int

    public init(id: SessionID, current: Int) {
        self.id = id
        self.current = current
    }
}

/// Why a store cannot do its work.
public enum StoreError: Error, Equatable, Sendable {
    /// Nothing was changed; it may work later.
    case unavailable(reason: String)
    /// It cannot be told whether the change was made.
    case unknownOutcome(reason: String)
}
