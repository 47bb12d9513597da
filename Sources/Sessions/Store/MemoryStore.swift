public import FoundationEssentials
public import Sodium
internal import Synchronization

/// Keeps sessions in memory: fast, and lost with the process. It keeps the last `endedLimit` tombstones.
public final class MemoryStore: SessionStore {
    private struct Sessions {
        var kept: [SessionID: KeptSession] = [:]
        var due = DueHeap<KeptSession>()
        /// The ended sessions in the order in which they ended.
        var ended: Ring<SessionID>
        /// The forks of each session.
        var forks: [SessionID: Set<SessionID>] = [:]
        /// The sessions of each user.
        var users: [String: Set<SessionID>] = [:]
        /// About how many bytes the sessions take.
        var bytes = 0
        var latestTime = Date.distantPast
        /// How many bytes the last change that was refused for lack of room would have added; 0 if none was.
        var refusedGrowth = 0
        /// The last commits, for `changes(since:)`, if the store is shared.
        var commits: Ring<(SessionID, version: Int)>?
        var commitCount = 0

        /// Makes the change if the stored version is the expected one.
        mutating func commit(_ change: SessionChange, _ retention: Retention) -> CommitConflict? {
            let session = kept[change.id]
            let current = session?.versions.newest?.version ?? 0
            guard current == change.expected.version, current > 0 || change.record != nil,
                commits == nil || session?.commits ?? 0 == change.expected.commits
            else { return CommitConflict(id: change.id) }
            commits?.append((change.id, change.stamp.version))
            commitCount += 1
            if let record = change.record { latestTime = max(latestTime, record.time) }
            if let session, change.record?.isEnd != true {
                bytes -= session.footprint
                if let record = change.record { move(session, to: record.identity.user) }
                session.keep(change, retention)
                bytes += session.footprint
                if let keptUntil = change.record?.keptUntil, keptUntil < session.due {
                    session.due = keptUntil
                    due.settle(session)
                }
            } else if let record = change.record {
                let commits = session?.commits ?? 0
                forget(change.id)
                insert(KeptSession(change, record, retention, commits: commits), forkOf: record.identity.origin)
                // Bounded, or a client that keeps creating and ending sessions would fill the memory.
                if record.isEnd, let oldest = ended.append(change.id), kept[oldest]?.hasEnded == true { forget(oldest) }
            }
            return nil
        }

        private mutating func insert(_ session: KeptSession, forkOf origin: SessionID?) {
            kept[session.id] = session
            due.insert(session)
            bytes += session.footprint
            if !session.hasEnded { move(session, to: session.versions.newest?.identity.user) }
            if let origin { forks[origin, default: []].insert(session.id) }
        }

        private mutating func move(_ session: KeptSession, to user: String?) {
            guard user != session.user else { return }
            if let before = session.user {
                users[before]?.remove(session.id)
                if users[before]?.isEmpty == true { users[before] = nil }
            }
            if let user { users[user, default: []].insert(session.id) }
            session.user = user
        }

        private mutating func forget(_ id: SessionID) {
            guard let session = kept.removeValue(forKey: id) else { return }
            move(session, to: nil)
            due.remove(session)
            bytes -= session.footprint
            guard let origin = session.versions.newest?.identity.origin else { return }
            forks[origin]?.remove(id)
            if forks[origin]?.isEmpty == true { forks[origin] = nil }
        }

        /// Checks up to `limit` sessions that are due, and forgets those that need not be kept any longer.
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

    /// How many tombstones are kept; earlier ended sessions are reported as unknown.
    public static let endedLimit = 4096

    private let sessions: Mutex<Sessions>
    private let retention: Retention
    private let byteLimit: Int

    public let name = "memory"
    public let isShared: Bool
    public let pairings: (any PairingStore)?
    public let secret = Sodium.randomBytes(KeyedDigest.keySize)

    /// How many commits `changes(since:)` knows.
    static let commitLimit = 4096

    /// - Parameters:
    ///   - limitBytes: about how much memory it may take; above that, sessions can only be read and ended.
    ///   - isShared: whether several hosts use it, as several servers use a shared store: for tests.
    public init(retention: Retention = Retention(), limitBytes: Int = .max, isShared: Bool = false) {
        self.isShared = isShared
        self.pairings = isShared ? PairingsInMemory() : nil
        self.retention = retention
        self.byteLimit = limitBytes
        let commits = isShared ? Ring<(SessionID, version: Int)>(capacity: MemoryStore.commitLimit) : nil
        self.sessions = Mutex(Sessions(ended: Ring(capacity: MemoryStore.endedLimit), commits: commits))
    }

    public var sessionCount: Int { sessions.withLock { $0.kept.count } }

    public var latestTime: Date { sessions.withLock { $0.latestTime } }

    /// The store is full after it has refused a change, until there is room for that change.
    public var figures: StoreFigures {
        var figures = StoreFigures()
        figures.bytes = sessions.withLock { $0.bytes }
        return figures
    }

    public var condition: StoreCondition {
        let isFull = sessions.withLock { $0.refusedGrowth > 0 && $0.bytes + $0.refusedGrowth > byteLimit }
        return StoreCondition(remarks: isFull ? [StoreCondition.full] : [])
    }

    public func load(_ id: SessionID, token: SHA256Digest?) throws(StoreError) -> LoadedSession? {
        let found = sessions.withLock { sessions in
            sessions.kept[id].map {
                ($0.versions, $0.commits, $0.answers?.newestFirst.reversed().map(\.key) ?? [])
            }
        }
        guard let (versions, commits, keys) = found,
            token.map({ versions.newest?.identity.isOpen(to: $0) == true }) ?? true,
            let record = try records(versions, from: .max, limit: 1, bytes: .max).first
        else { return nil }
        let stamp = SessionStamp(version: record.version, commits: commits)
        return LoadedSession(record: record, stamp: stamp, answeredKeys: keys)
    }

    public func isCurrent(_ stamp: SessionStamp, of id: SessionID) -> Bool {
        !isShared || sessions.withLock { $0.kept[id]?.commits } == stamp.commits
    }

    public func changes(since position: FeedPosition?) -> StoreChanges {
        sessions.withLock { sessions in
            let count = sessions.commitCount
            let fresh = count - (position?.lanes[0] ?? 0)
            var versions: [SessionID: Int] = [:]
            if let commits = sessions.commits {
                for (id, version) in commits.newestFirst.prefix(fresh) where versions[id] == nil {
                    versions[id] = version
                }
            }
            return StoreChanges(
                versions: versions, isComplete: position != nil && fresh <= MemoryStore.commitLimit,
                position: FeedPosition(lanes: [0: count], time: .now))
        }
    }

    /// - Parameter bytes: the most bytes of the texts together. At least one record is returned if there is any.
    private func records(
        _ versions: Ring<EncodedRecord>, from newest: Int, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        var records: [SessionRecord] = []
        guard let id = versions.newest?.id else { return records }
        var reader = RecordReader(of: id)
        var size = 0
        for record in versions.newestFirst.prefix(retention.versions).drop(while: { $0.version > newest }).prefix(limit)
        {
            size += record.text.count
            // If the base version is no longer kept, no older record can be read either.
            guard records.isEmpty || size <= bytes,
                record.baseVersion.map({ versions.record($0) != nil }) ?? true
            else { break }
            do throws(RecordError) {
                records.append(try reader.record(record.version, record.text) { versions.record($0)?.text })
            } catch {
                throw .damaged(reason: "version \(record.version) of \(id.text): \(error)")
            }
        }
        return records
    }

    public func forks(of id: SessionID) -> [SessionID] {
        sessions.withLock { Array($0.forks[id] ?? []) }
    }

    public func sessions(ofUser user: String) -> [SessionID] {
        sessions.withLock { Array($0.users[user] ?? []) }
    }

    public func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) throws(StoreError) -> [SessionRecord] {
        guard let versions = sessions.withLock({ $0.kept[id]?.versions }) else { return [] }
        return try records(versions, from: version ?? .max, limit: limit, bytes: bytes)
    }

    public func answer(to key: String, of id: SessionID) -> StoredAnswer? {
        sessions.withLock { $0.kept[id]?.answers?.newestFirst.first { $0.key == key } }
    }

    public func commit(_ changes: [SessionChange]) -> CommitOutcome {
        let growth = changes.reduce(0) { $0 + KeptSession.growth(by: $1) }
        return sessions.withLock { sessions in
            // Ending sessions frees memory, so it is always accepted.
            guard growth == 0 || sessions.bytes + growth <= byteLimit else {
                sessions.refusedGrowth = growth
                return .failure(.full)
            }
            return .success(changes.compactMap { sessions.commit($0, retention) })
        }
    }

    /// How many sessions are checked while the lock is held.
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
