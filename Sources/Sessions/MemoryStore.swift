public import FoundationEssentials
internal import Sodium
internal import Synchronization

/// Keeps sessions in memory: fast, and gone with the process. Of ended ones it remembers the last `endedLimit`.
public final class MemoryStore: SessionStore {
    /// What is left of an ended session.
    private struct Tombstone {
        let version: Int
        let token: SHA256Digest
        let keptUntil: Date
    }

    private struct Sessions {
        var live: [SessionID: StoredSession] = [:]
        var ended: [SessionID: Tombstone] = [:]
        /// The ended sessions in the order of their ends, a ring once it is full; `oldest` is where it begins then.
        private var endings: [SessionID] = []
        private var oldest = 0

        func version(of id: SessionID) -> Int {
            live[id]?.version ?? ended[id]?.version ?? 0
        }

        mutating func put(_ session: StoredSession) {
            if session.content != nil {
                live[session.id] = session
            } else {
                live[session.id] = nil
                bury(session)
            }
        }

        /// Bounded, or a client that creates and ends sessions without end would fill the memory.
        private mutating func bury(_ session: StoredSession) {
            if endings.count < MemoryStore.endedLimit {
                endings.append(session.id)
            } else {
                ended[endings[oldest]] = nil
                endings[oldest] = session.id
                oldest = (oldest + 1) % endings.count
            }
            ended[session.id] = Tombstone(
                version: session.version, token: session.token, keptUntil: session.keptUntil)
        }
    }

    /// Ended sessions that are told from unknown ones.
    public static let endedLimit = 4096

    private let sessions = Mutex(Sessions())

    public let name = "memory"

    public init() {}

    public func load(_ id: SessionID) -> StoredSession? {
        sessions.withLock { sessions in
            if let session = sessions.live[id] { return session }
            return sessions.ended[id].map {
                StoredSession(id: id, version: $0.version, token: $0.token, keptUntil: $0.keptUntil, content: nil)
            }
        }
    }

    public func commit(_ changes: [SessionChange]) -> [CommitResult] {
        sessions.withLock { sessions in
            changes.map { change in
                let current = sessions.version(of: change.session.id)
                guard current == change.expectedVersion else { return .conflict(current: current) }
                sessions.put(change.session)
                return .committed
            }
        }
    }

    public func sweep(at now: Date, limit: Int) -> [SessionID] {
        sessions.withLock { sessions in
            let live = sessions.live.lazy.filter { $0.value.keptUntil <= now }.map(\.key).prefix(limit)
            let ended = sessions.ended.lazy.filter { $0.value.keptUntil <= now }.map(\.key).prefix(limit - live.count)
            let swept = Array(live) + Array(ended)
            for id in swept {
                sessions.live[id] = nil
                sessions.ended[id] = nil
            }
            return swept
        }
    }
}
