public import FoundationEssentials
public import Sodium
internal import Synchronization

/// Keeps sessions in memory: fast, and gone with the process. Of ended ones it remembers the last `endedLimit`.
public final class MemoryStore: SessionStore {
    private struct Sessions {
        var kept: [SessionID: KeptSession] = [:]
        var due = DueHeap<KeptSession>()
        /// The ended ones in the order of their ends.
        var ended: Ring<SessionID>
        /// By the session that they were forked from.
        var forks: [SessionID: Set<SessionID>] = [:]
        /// About what they take.
        var bytes = 0
        var latestTime = Date.distantPast
        /// What the last change would have taken that was refused for lack of room; 0 where there is none.
        var refused = 0

        /// Makes the change if it fits.
        mutating func commit(_ change: SessionChange, _ retention: Retention) -> CommitConflict? {
            let session = kept[change.id]
            let current = session?.versions.newest?.version ?? 0
            guard current == change.expectedVersion, current > 0 || change.record != nil else {
                return CommitConflict(id: change.id, current: current)
            }
            if let record = change.record { latestTime = max(latestTime, record.time) }
            if let session, change.record?.isEnd != true {
                bytes -= session.footprint
                session.keep(change, retention)
                bytes += session.footprint
                if let keptUntil = change.record?.keptUntil, keptUntil < session.due {
                    session.due = keptUntil
                    due.settle(session)
                }
            } else if let record = change.record {
                forget(change.id)
                insert(KeptSession(change, record, retention), forkOf: record.identity.origin)
                // Bounded, or a client that creates and ends sessions without end would fill the memory.
                if record.isEnd, let oldest = ended.append(change.id), kept[oldest]?.hasEnded == true { forget(oldest) }
            }
            return nil
        }

        private mutating func insert(_ session: KeptSession, forkOf origin: SessionID?) {
            kept[session.id] = session
            due.insert(session)
            bytes += session.footprint
            if let origin { forks[origin, default: []].insert(session.id) }
        }

        private mutating func forget(_ id: SessionID) {
            guard let session = kept.removeValue(forKey: id) else { return }
            due.remove(session)
            bytes -= session.footprint
            guard let origin = session.versions.newest?.identity.origin else { return }
            forks[origin]?.remove(id)
            if forks[origin]?.isEmpty == true { forks[origin] = nil }
        }

        /// Looks at up to `limit` sessions whose time may be over, and forgets those whose is.
        mutating func sweep(at now: Date, limit: Int) -> (examined: Int, forgotten: [SessionID]) {
            latestTime = max(latestTime, now)
            var forgotten: [SessionID] = []
            for examined in 0..<limit {
                guard let session = due.first, session.due <= now else { return (examined, forgotten) }
                session.due = session.versions.newest?.keptUntil ?? now
                if session.due <= now {
                    forget(session.id)
                    forgotten.append(session.id)
                } else {
                    due.settle(session)
                }
            }
            return (limit, forgotten)
        }
    }

    /// Ended sessions that are told from unknown ones.
    public static let endedLimit = 4096

    private let sessions: Mutex<Sessions>
    private let retention: Retention
    private let byteLimit: Int

    public let name = "memory"
    public let secret = Sodium.randomBytes(KeyedDigest.keySize)

    /// - Parameter limitBytes: about how much memory it may take; beyond, sessions can only be read and ended.
    public init(retention: Retention = Retention(), limitBytes: Int = .max) {
        self.retention = retention
        self.byteLimit = limitBytes
        self.sessions = Mutex(Sessions(ended: Ring(capacity: MemoryStore.endedLimit)))
    }

    public var sessionCount: Int { sessions.withLock { $0.kept.count } }

    public var latestTime: Date { sessions.withLock { $0.latestTime } }

    /// It is full from a refusal on, until there is room for what was refused.
    public var condition: StoreCondition {
        let isFull = sessions.withLock { $0.refused > 0 && $0.bytes + $0.refused > byteLimit }
        return StoreCondition(remarks: isFull ? [StoreCondition.full] : [])
    }

    public func load(_ id: SessionID, token: SHA256Digest?) -> LoadedSession? {
        sessions.withLock { sessions in
            guard let kept = sessions.kept[id], let record = kept.versions.newest,
                token == nil || record.identity.token == token
            else { return nil }
            return LoadedSession(
                record: record, answeredKeys: kept.answers?.newestFirst.reversed().map(\.key) ?? [])
        }
    }

    public func forks(of id: SessionID) -> [SessionID] {
        sessions.withLock { Array($0.forks[id] ?? []) }
    }

    public func history(of id: SessionID, from version: Int?, limit: Int, bytes: Int) -> [SessionRecord] {
        let records = sessions.withLock { sessions -> [SessionRecord] in
            guard let versions = sessions.kept[id]?.versions.newestFirst else { return [] }
            return Array(versions.drop { $0.version > version ?? .max }.prefix(limit))
        }
        var rest = bytes
        let fitting = records.prefix { record in
            rest -= record.text.count
            return rest >= 0
        }
        return fitting.isEmpty ? Array(records.prefix(1)) : Array(fitting)
    }

    public func answer(to key: String, of id: SessionID) -> StoredAnswer? {
        sessions.withLock { $0.kept[id]?.answers?.newestFirst.first { $0.key == key } }
    }

    public func commit(_ changes: [SessionChange]) -> CommitOutcome {
        let growth = changes.reduce(0) { $0 + KeptSession.growth(by: $1) }
        return sessions.withLock { sessions in
            // What frees memory is taken in any case.
            guard growth == 0 || sessions.bytes + growth <= byteLimit else {
                sessions.refused = growth
                return .failure(.full)
            }
            return .success(changes.compactMap { sessions.commit($0, retention) })
        }
    }

    /// So many sessions are looked at while nobody else gets at the store.
    private static let sweepSize = 100

    public func sweep(at now: Date, limit: Int) -> [SessionID] {
        var swept: [SessionID] = []
        while swept.count < limit {
            let size = min(MemoryStore.sweepSize, limit - swept.count)
            let (examined, forgotten) = sessions.withLock { $0.sweep(at: now, limit: size) }
            swept += forgotten
            if examined < size { break }
        }
        return swept
    }
}
