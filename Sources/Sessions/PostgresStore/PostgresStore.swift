// PostgresStore: keeps sessions in PostgreSQL, where any number of equal servers (replicas) share them.
//
// The database is the truth. A change states the stamp that it was made from; one statement for each batch compares the
// stamps, makes the changes that fit and writes the batch's row (`CommitStatement`). Two lanes send batches
// (`BatchWriter`), two readers answer what can be read in groups (`ReadQueue`), one connection does the rest
// (`Upkeep`). Each connection has a thread of its own, and every call a deadline.
//
// A batch's row serves three purposes. A lane that has lost the answer finds out whether the batch was committed. Every
// new connection notices that a database without the last commits has taken over (`StoreState.check`). And all replicas
// learn what the others have changed (`FeedQuery`).
//
// The store knows from `Sessions` what a record is, and nothing about the navigation state in it. Start reading at
// `PostgresStore.commit` and `BatchWriter.commit`.

public import FoundationEssentials
internal import Measures
internal import Postgres
public import Sessions
public import Sodium
internal import Synchronization

public final class PostgresStore: WritableStore {
    public enum Durability: String, Sendable, CaseIterable {
        /// A server that may lose what it has acknowledged is refused.
        case strict
        /// Such a server is accepted, and `name` says so.
        case relaxed
    }

    public let secret: [UInt8]
    public let latestTime: Date
    /// The database without secrets, for logs.
    public let location: String
    private let retention: Retention
    private let state: StoreState
    private let commits: CommitQueue
    private let lanes: [CommitLane]
    private let reads: ReadQueue
    private let readers: [Reader]
    private let upkeep: Upkeep
    /// Connects at the first insertion.
    private let inserting: Mutex<DatabaseLink>
    private let damaged = Mutex(Set<SessionID>())
    /// When the last commit was refused because there was no room, on the monotonic clock; 0 if one has had room since.
    private let fullAt: Atomic<Int>
    public let pairings: (any PairingStore)?

    static let closed = "the store is closed"
    static let laneCount = 2
    private static let readerCount = 2

    init(_ opening: StoreOpening, _ retention: Retention) {
        secret = opening.secret
        latestTime = opening.clock.stored
        location = opening.settings.description
        self.retention = retention
        let (state, settings) = (opening.state, opening.settings)
        self.state = state
        let upkeep = Upkeep(
            sessionCount: opening.sessionCount, clock: opening.clock, DatabaseLink(settings, state), state,
            retention)
        upkeep.note(risks: opening.risks)
        self.upkeep = upkeep
        pairings = SharedPairings(upkeep)
        inserting = Mutex(
            DatabaseLink(settings, state, statementTimeout: Int(SessionInsertion.time / .milliseconds(1))))
        let commits = CommitQueue(state.limits.waiting)
        self.commits = commits
        lanes = (0..<PostgresStore.laneCount).map { index in
            let writer = BatchWriter(
                index, DatabaseLink(settings, state), state, isClosed: { commits.isClosed },
                followUp: { committed in
                    let created = committed.count { $0.change.isCreation }
                    if created > 0 { upkeep.sessionCount.add(created, ordering: .relaxed) }
                    upkeep.prune(committed.lazy.map(\.change).filter { PruneQueries.isDue($0, retention) }.map(\.id))
                })
            return CommitLane(index, commits, writer)
        }
        let reads = ReadQueue()
        self.reads = reads
        readers = (0..<PostgresStore.readerCount).map { index in
            Reader(index, reads, DatabaseLink(settings, state), state, retention)
        }
        fullAt = Atomic(0)
        for lane in lanes { lane.wake() }
        for reader in readers { reader.wake() }
        upkeep.begin()
    }

    public let isShared = true

    public var name: String { upkeep.isRelaxed ? "postgres-relaxed" : "postgres" }

    public var generation: Int { state.generation }

    public var now: Date { upkeep.clock.now }

    /// How much later the database's clock is than this machine's, in seconds.
    public var clockOffset: TimeInterval { upkeep.clock.offset }

    public var sessionCount: Int { max(0, upkeep.sessionCount.load(ordering: .relaxed)) }

    /// What was counted since the store was opened.
    public var counters: PostgresStoreCounters {
        var counters = state.counters.withLock { $0 }
        counters.waiting = commits.waiting.count
        return counters
    }

    public var measures: StoreMeasures? { state.measures }

    public var figures: StoreFigures {
        var figures = StoreFigures()
        (figures.waiting, figures.longestWait) = commits.waiting
        return figures
    }

    /// Whether the database has answered the last time that it was asked, which is every second.
    public var isAnswering: Bool { upkeep.outage == nil }

    /// The connections that commit.
    public var laneCount: Int { lanes.count }

    public var condition: StoreCondition {
        var remarks: [String] = []
        let count = damaged.withLock { $0.count }
        if count > 0 { remarks.append("damaged sessions: \(count)") }
        if upkeep.isRelaxed {
            remarks.append("the database server may lose what it has acknowledged: postgres-relaxed")
        }
        return StoreCondition(
            failure: upkeep.failure, full: isFull ? PostgresStore.full : nil, remarks: remarks)
    }

    /// Whether a commit had no room in the last minute, and none has had room since. While nobody tries one, nothing
    /// shows whether there is room again.
    private var isFull: Bool {
        let time = fullAt.load(ordering: .relaxed)
        return time > 0 && MonotonicTime.nanoseconds - time < 60_000_000_000
    }

    private func note(isFull: Bool) {
        guard isFull || fullAt.load(ordering: .relaxed) > 0 else { return }
        let before = fullAt.exchange(isFull ? MonotonicTime.nanoseconds : 0, ordering: .relaxed)
        if isFull != (before > 0) { state.report(isFull ? PostgresStore.full : "the database has room again", false) }
    }

    private static let full = "the database's disk is full: sessions can be read; nothing is accepted"

    /// While the database is away, requests are refused at once: the waits of a session's events would add up, and a
    /// proxy can ask another server.
    private func checkAvailable() throws(StoreError) {
        if let reason = upkeep.outage { throw .unavailable(reason: reason) }
    }

    // MARK: - Committing

    public func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        guard !changes.isEmpty else { return .success([]) }
        if let reason = upkeep.outage ?? upkeep.durabilityFailure { return .failure(.unavailable(reason: reason)) }
        let changes = changes.map(EncodedChange.init)
        // Unchecked, because every event passes here; a request answers exactly once.
        let outcome = await withUnsafeContinuation { continuation in
            let request = CommitRequest(changes, waiting: state.limits.waiting) { continuation.resume(returning: $0) }
            commits.append(request)
        }
        note(isFull: outcome == .failure(.full))
        return outcome
    }

    // MARK: - Reading

    public func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        try checkAvailable()
        let token = token?.bytes
        let outcome = await withUnsafeContinuation { continuation in
            reads.append(
                ReadQueue.LoadRequest(id: id, token: token, arrived: .now) { continuation.resume(returning: $0) })
        }
        guard let row = try outcome.get() else { return nil }
        return try reportingDamage(of: id) { () throws(StoreError) in try row.loaded(id) }
    }

    public func isCurrent(_ stamp: SessionStamp, of id: SessionID) async throws(StoreError) -> Bool {
        try checkAvailable()
        let outcome = await withUnsafeContinuation { continuation in
            reads.append(
                ReadQueue.Confirmation(id: id, stamp: stamp, arrived: .now) { continuation.resume(returning: $0) })
        }
        return try outcome.get()
    }

    public func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord] {
        let retention = retention
        let found = try await reads.read { link throws(PostgresError) in
            try PastQueries.history(of: id, from: version ?? .max, limit: limit, bytes: bytes, retention, link)
        }
        return try reportingDamage(of: id) { () throws(StoreError) in try found.get().records() }
    }

    public func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        let limit = retention.answerBytes
        let found: (text: [UInt8], checksum: Int?, isWhole: Bool)? = try await reads.read {
            link throws(PostgresError) in
            let rows = try link.run(PastQueries.answer, [.text(id.text), .text(key)], within: Reader.time)
            guard let text = rows.utf8(0, 0) else { return nil }
            return (text, rows.integer(0, 1), (rows.integer(0, 2) ?? 0) <= limit || rows.integer(0, 3) == 1)
        }
        guard let found else { return nil }
        return try reportingDamage(of: id) { () throws(StoreError) in
            let answer = try StoredAnswer(found.text, checksum: found.checksum, to: key, of: id)
            return found.isWhole ? answer : answer.withoutBody
        }
    }

    public func forks(of id: SessionID) async throws(StoreError) -> [SessionID] {
        try await reads.read { link throws(PostgresError) in
            PastQueries.ids(try link.run(PastQueries.forks, [.text(id.text)], within: Reader.time))
        }
    }

    public func sessions(ofUser user: String) async throws(StoreError) -> [SessionID] {
        try await reads.read { link throws(PostgresError) in
            PastQueries.ids(try link.run(PastQueries.sessionsOfUser, [.text(user)], within: .seconds(5)))
        }
    }

    public func changes(since position: FeedPosition?) async throws(StoreError) -> StoreChanges {
        let state = state
        return try await reads.read { link throws(PostgresError) in
            try FeedQuery.changes(since: position, state, link)
        }
    }

    public func dueTimers(at now: Date, limit: Int) async throws(StoreError) -> [DueTimer] {
        try await reads.read { link throws(PostgresError) in
            try WakeQueries.dueTimers(at: now.milliseconds, limit: limit, link)
        }
    }

    public func postpone(_ timers: [DueTimer], until time: Date?) async throws(StoreError) {
        try await upkeep.run { link throws(PostgresError) in
            try WakeQueries.postpone(timers, until: time.map { $0.milliseconds }, link)
        }
    }

    public func sessionsWithEffects(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID] {
        let replica = state.replica
        return try await upkeep.run { link throws(PostgresError) in
            try WakeQueries.sessionsWithEffects(of: replica, after: last, limit: limit, link)
        }
    }

    public func leaveEffects(of sessions: [SessionID]) async throws(StoreError) {
        let replica = state.replica
        try await upkeep.run { link throws(PostgresError) in
            try WakeQueries.leaveEffects(of: sessions, from: replica, link)
        }
    }

    /// Reports a damaged session the first time.
    private func reportingDamage<Value>(
        of id: SessionID, _ read: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try read()
        } catch {
            let isNews = damaged.withLock { $0.count < 1000 && $0.insert(id).inserted }
            if isNews { state.report("session \(id.text) is refused: \(error)", false) }
            throw error
        }
    }

    // MARK: - Inserting and forgetting

    public func insert(_ sessions: [StoredSession]) async throws(PostgresStoreError) -> Set<SessionID> {
        let inserted = try await PostgresStore.blocking { () throws(PostgresStoreError) in
            try PostgresStoreError.translating { () throws(PostgresError) in
                try self.inserting.withLock { link throws(PostgresError) in
                    try SessionInsertion.insert(sessions, link)
                }
            }
        }
        upkeep.sessionCount.add(inserted.count, ordering: .relaxed)
        return Set(sessions.map(\.id)).subtracting(inserted)
    }

    public func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        var swept: [SessionID] = []
        while swept.count < limit {
            let size = min(SweepQuery.size, limit - swept.count)
            let (examined, forgotten) = try await upkeep.run { link throws(PostgresError) in
                try SweepQuery.sweep(at: now.milliseconds, limit: size, link)
            }
            upkeep.sessionCount.subtract(forgotten.count, ordering: .relaxed)
            swept += forgotten
            if examined < size { break }
        }
        return swept
    }

    public func forget(_ id: SessionID) async throws(StoreError) -> Bool {
        let count = try await upkeep.run { link throws(PostgresError) in
            try link.run(SweepQuery.forgetting, [.text(id.text)], within: .seconds(10)).integer(0, 0) ?? 0
        }
        damaged.withLock { _ = $0.remove(id) }
        upkeep.sessionCount.subtract(count, ordering: .relaxed)
        return count > 0
    }

    public func close() async {
        commits.close()
        reads.close()
        let (closed, close) = AsyncStream.makeStream(of: Never.self)
        Task { [lanes, readers, upkeep] in
            for lane in lanes { await lane.close() }
            for reader in readers { await reader.close() }
            await upkeep.close()
            close.finish()
        }
        // By then, every request that waited for the database, or for its standby, is answered.
        Task { [limits = state.limits] in
            try? await Task.sleep(for: limits.closing)
            close.finish()
        }
        for await _ in closed {}
    }
}

/// Why a store cannot be opened.
public enum PostgresStoreError: Error, Equatable, Sendable {
    /// The database's address cannot be used.
    case unusableURI(reason: String)
    /// The address contains a password, or another secret.
    case secretInURI(reason: String)
    /// The database has no tables of a store, and this role may not create them.
    case noSchema
    /// The database has no store, but tables with these names of a store's, beside which none can be made.
    case foreignTables([String])
    /// An earlier build of this program has made the tables.
    case olderSchema(Int)
    /// A later build of this program has made the tables, in a way that this one cannot work with.
    case newerSchema(Int)
    /// The server may lose acknowledged commits because of these settings, such as `fsync = off`.
    case relaxed([String])
    /// The data is not what was written.
    case damaged(String)
    /// There is no connection, or the server refuses an operation.
    case unavailable(reason: String)

    init(_ error: PostgresError) { self = .unavailable(reason: error.description) }

    /// Runs `body`, whose error becomes the store's.
    static func translating<Value>(
        _ body: () throws(PostgresError) -> Value
    ) throws(PostgresStoreError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw PostgresStoreError(error) }
    }
}

extension PostgresStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noSchema:
            """
            the database has no tables of a store, and this role may not create them: run `coordinatord migrate` as a \
            role that may
            """
        case .foreignTables(let names):
            """
            there is no store here, and none can be made beside what has the names of its tables: \
            \(names.joined(separator: ", ")). Nothing was changed: name another database
            """
        case .olderSchema(let version):
            "the database has schema \(version), this program needs \(Schema.version): run `coordinatord migrate`"
        case .newerSchema(let version):
            "the database has schema \(version), which is too new for this program: run a later version of it"
        case .relaxed(let settings):
            """
            the database server has \(settings.joined(separator: ", ")), and may lose what it has acknowledged: set it \
            to on, or say --durability relaxed
            """
        case .unusableURI(let reason), .secretInURI(let reason), .damaged(let reason), .unavailable(let reason): reason
        }
    }
}
