public import FoundationEssentials
internal import Synchronization

/// Keeps sessions in memory: fast, and gone with the process.
public final class MemoryStore: SessionStore {
    private let sessions = Mutex<[SessionID: StoredSession]>([:])

    public let name = "memory"

    public init() {}

    public func load(_ id: SessionID) -> StoredSession? {
        sessions.withLock { $0[id] }
    }

    public func commit(_ changes: [SessionChange]) -> [CommitResult] {
        sessions.withLock { sessions in
            changes.map { change in
                let current = sessions[change.session.id]?.version ?? 0
                guard current == change.expectedVersion else { return .conflict(current: current) }
                sessions[change.session.id] = change.session
                return .committed
            }
        }
    }

    public func sweep(at now: Date, limit: Int) -> [SessionID] {
        sessions.withLock { sessions in
            let swept = Array(sessions.lazy.filter { $0.value.keptUntil <= now }.map(\.key).prefix(limit))
            for id in swept { sessions[id] = nil }
            return swept
        }
    }
}
