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

        /// Makes the change if it fits.
        mutating func commit(_ change: SessionChange) -> CommitConflict? {
            let id = change.session.id
            let place = live.index(forKey: id)
            let current = place.map { live.values[$0].version } ?? ended[id]?.version ?? 0
            guard current == change.expectedVersion else { return CommitConflict(id: id, current: current) }
            switch (place, change.session.content) {
            case (let place?, _?): live.values[place] = change.session
            case (nil, _?): live[id] = change.session
            case (_, nil):
                live[id] = nil
                bury(change.session)
            }
            return nil
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

    public func commit(_ changes: [SessionChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let conflicts = sessions.withLock { sessions in changes.compactMap { sessions.commit($0) } }
        completion(.success(conflicts))
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
