public import FoundationEssentials
public import Sodium
internal import Synchronization

/// Keeps sessions in memory: fast, and gone with the process. Of ended ones it remembers the last `endedLimit`.
public final class MemoryStore: SessionStore {
    /// What is kept of a session. Only touched under the store's lock.
    private final class Kept {
        var versions: Ring<SessionRecord>
        /// `nil` as long as no request had a key.
        var answers: Ring<StoredAnswer>?

        init(_ retention: Retention) {
            versions = Ring(capacity: retention.versions)
        }

        func keep(_ answer: StoredAnswer, _ retention: Retention) {
            if answers == nil { answers = Ring(capacity: retention.answers) }
            answers?.append(answer)
        }
    }

    private struct Sessions {
        var kept: [SessionID: Kept] = [:]
        /// The ended ones in the order of their ends.
        var ended: Ring<SessionID>

        /// Makes the change if it fits.
        mutating func commit(_ change: SessionChange, _ retention: Retention) -> CommitConflict? {
            var session = kept[change.id]
            let current = session?.versions.newest?.version ?? 0
            guard current == change.expectedVersion, current > 0 || change.record != nil else {
                return CommitConflict(id: change.id, current: current)
            }
            if let record = change.record {
                // Bounded, or a client that creates and ends sessions without end would fill the memory.
                if record.isEnd, let forgotten = ended.append(change.id) { kept[forgotten] = nil }
                if record.isEnd || session == nil {
                    session = Kept(retention)
                    kept[change.id] = session
                }
                session?.versions.append(record)
            }
            if let answer = change.answer { session?.keep(answer, retention) }
            return nil
        }
    }

    /// Ended sessions that are told from unknown ones.
    public static let endedLimit = 4096

    private let sessions: Mutex<Sessions>
    private let retention: Retention

    public let name = "memory"
    public let secret = Sodium.randomBytes(KeyedDigest.keySize)

    public init(retention: Retention = Retention()) {
        self.retention = retention
        self.sessions = Mutex(Sessions(ended: Ring(capacity: MemoryStore.endedLimit)))
    }

    public var sessionCount: Int { sessions.withLock { $0.kept.count } }

    public func load(_ id: SessionID, token: SHA256Digest?) -> LoadedSession? {
        sessions.withLock { sessions in
            guard let kept = sessions.kept[id], let record = kept.versions.newest,
                token == nil || record.identity.token == token
            else { return nil }
            return LoadedSession(
                record: record, answeredKeys: kept.answers?.newestFirst.reversed().map(\.key) ?? [])
        }
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

    public func forks(of id: SessionID) -> [SessionID] { [] }

    public func answer(to key: String, of id: SessionID) -> StoredAnswer? {
        sessions.withLock { $0.kept[id]?.answers?.newestFirst.first { $0.key == key } }
    }

    public func commit(_ changes: [SessionChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let conflicts = sessions.withLock { sessions in changes.compactMap { sessions.commit($0, retention) } }
        completion(.success(conflicts))
    }

    public func sweep(at now: Date, limit: Int) -> [SessionID] {
        sessions.withLock { sessions in
            let swept = sessions.kept.lazy.filter { $0.value.versions.newest.map { $0.keptUntil <= now } ?? true }
            let ids = Array(swept.map(\.key).prefix(limit))
            for id in ids { sessions.kept[id] = nil }
            return ids
        }
    }
}
