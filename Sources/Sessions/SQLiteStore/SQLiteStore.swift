// SQLiteStore: keeps sessions in a SQLite file. A commit is flushed to disk before it is reported.
//
// Every version of a session is a record in the `journal`, which is only appended to: one writer puts everything that
// sessions commit at the same time into one transaction with one flush. In the background the journal is compacted into
// tables that say where a session's records are (`Schema` defines all tables). The uncompacted tail is kept in memory
// (`Tail`), and read again from the journal after a restart. Records stay where they were written, and are deleted when
// no session needs them.
//
// One connection writes (`JournalWriter`) and one only reads (`JournalReader`), so that no read waits for a flush.
// Every page and every row has a checksum: damaged data is reported and refused, and what is derived from the journal
// is rebuilt from it (`StoreRebuild`).
//
// The store knows from `Sessions` what a record is, and nothing about the navigation state in it. Start reading at
// `SQLiteStore.commit` and `CommitQueue.serve`.

public import FoundationEssentials
internal import Glibc
internal import SQLite
public import Sessions
public import Sodium
internal import Synchronization

public final class SQLiteStore: WritableStore {
    public enum Durability: String, Sendable, CaseIterable {
        /// A commit is on the disk before it is reported.
        case strict
        /// A commit is reported when it is written. A power failure may lose the latest commits; a crash of the process
        /// loses none.
        case relaxed
    }

    public let name: String
    public let secret: [UInt8]
    public let generation: Int
    public let latestTime: Date
    private let directory: StoreDirectory
    private let tail: SharedTail
    let writer: CommitQueue
    private let reader: ReadQueue
    private let troubles: StoreTroubles
    private let watch: StoreWatch
    /// The sessions as `insert` knows them; `nil` before its first call.
    private let known = Mutex<Set<SessionID>?>(nil)

    /// Opens the store in a directory of its own, which is created if it is missing. If what is derived from the
    /// journal was found damaged, it is rebuilt, which takes time in proportion to the store's size.
    ///
    /// - Parameters:
    ///   - sizeLimit: how many bytes of the file may be in use; 0 for no limit. Beyond it, commits fail with `full`.
    ///   - newSecret: the secret of a store that is created; `nil` for a random one.
    ///   - compactsWhenQuiet: whether the journal is compacted soon after the last commit. Not for tests that need the
    ///     files as the commits leave them.
    ///   - report: receives what an operator should know, about each damaged session at most once a minute.
    ///   - failed: called when a flush has failed or the files are gone. From then on nothing is committed, and the
    ///     process should end: only opening the store again shows what is on the disk.
    public init(
        directory path: String, durability: Durability = .strict, retention: Retention = Retention(),
        sizeLimit: Int = 0, newSecret: StoreSecret? = nil, compactsWhenQuiet: Bool = true,
        report: @escaping @Sendable (String) -> Void = { _ in }, failed: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        name = durability == .strict ? "sqlite" : "sqlite-relaxed"
        directory = try StoreDirectory(path, newSecret: newSecret?.bytes ?? Sodium.randomBytes(KeyedDigest.keySize))
        let troubles = StoreTroubles(marker: directory.marker, log: report)
        if durability == .strict { try WriteAheadLog.check(directory.log) }
        let hadLog = directory.hasLog
        if directory.hasDamageMarker, StoreRebuild.isPossible(directory) {
            do throws(SQLiteStoreError) {
                try StoreRebuild.rebuild(directory, retention, because: "it was found damaged", report)
            } catch {
                guard case .damaged(let what) = error else { throw error }
                troubles.report(.session(nil, "\(what), so that the store cannot be rebuilt; \(SQLiteStore.remedy)"))
            }
        }
        let reserve = DiskReserve(in: directory)
        if let failure = reserve.failure { report("no room can be set aside as \(directory.reserve): \(failure)") }
        let database = directory.database
        func openWriter() throws(SQLiteStoreError) -> JournalWriter {
            try JournalWriter(
                path: database, durability: durability, retention: retention, sizeLimit: sizeLimit, progress: report
            ) { troubles.report($0) }
        }
        let journalWriter: JournalWriter
        do throws(SQLiteStoreError) {
            journalWriter = try openWriter()
        } catch {
            guard case .damaged(let what) = error, StoreRebuild.isPossible(directory) else { throw error }
            try StoreRebuild.rebuild(directory, retention, because: what, report)
            journalWriter = try openWriter()
        }
        guard hadLog || journalWriter.isMarkedClosed else { throw directory.missingLogError }
        try directory.saveCopy(of: journalWriter.secret)
        try directory.flush()
        secret = journalWriter.secret
        generation = journalWriter.generation.number
        latestTime = journalWriter.latestTime
        tail = journalWriter.tail
        reader = ReadQueue(try JournalReader(path: directory.database, retention: retention))
        directory.rememberFiles()
        writer = CommitQueue(
            journalWriter, reader, reserve, troubles, doesChoresWhenQuiet: compactsWhenQuiet, failed: failed)
        watch = StoreWatch(directory, writer, troubles)
        self.troubles = troubles
        watch.begin()
    }

    /// What to do about damage of the journal.
    private static let remedy = """
        sessions that need it are refused. `coordinatord restore` a backup, or make a new store of the other sessions: \
        `sessions export --with-secret`, `sessions import`
        """

    /// Makes the directory of a store, readable by its owner alone, if it is missing.
    ///
    /// - Throws: `inUse`, if another process uses the store at this moment.
    public static func makeDirectory(_ path: String) throws(SQLiteStoreError) {
        try StoreDirectory.make(path)
        try StoreDirectory.checkUnused(path)
    }

    /// Makes the next start rebuild what is derived from the journal, because a reader of the store has found damage. A
    /// server may be running.
    ///
    /// - Returns: whether it will; `false` if the directory cannot be written.
    public static func requestRebuild(in directory: String) -> Bool {
        let marker = StoreDirectory.marker(in: directory)
        StoreDirectory.touch(marker)
        return access(marker, F_OK) == 0
    }

    /// Remembers that a backup of the store in this directory was made now.
    ///
    /// - Returns: whether the directory can be written.
    public static func noteBackup(in directory: String) -> Bool {
        StoreDirectory.touch(StoreDirectory.backupMarker(in: directory))
    }

    public func reset(clock time: Date) async throws(StoreError) -> Bool {
        try await writer.run { writer throws(CommitFailure) in try writer.reset(clock: time.milliseconds) }
        return true
    }

    public var sessionCount: Int { writer.sessionCount.load(ordering: .relaxed) }

    public var condition: StoreCondition { troubles.condition }

    public var measures: StoreMeasures? { writer.measures }

    public var figures: StoreFigures {
        var figures = StoreFigures()
        (figures.waiting, figures.longestWait) = writer.waiting
        (figures.bytes, figures.logBytes) = directory.sizes
        figures.backedUpAt = StoreDirectory.time(of: StoreDirectory.backupMarker(in: directory.path))
        figures.usedBytes = writer.usedBytes.load(ordering: .relaxed)
        (figures.uncompactedRows, figures.uncompactedBytes) = tail.withLock { ($0.recentCount, $0.recentSize) }
        return figures
    }

    public func load(_ id: SessionID, token: SHA256Digest?) async throws(StoreError) -> LoadedSession? {
        let found = try await reading(id) { reader, tail throws(ReadError) in
            try reader.load(id, token: token, tail)
        }
        guard let found, let record = try records(found.record).first else { return nil }
        let stamp = SessionStamp(version: record.version, generation: generation)
        return LoadedSession(record: record, stamp: stamp, answeredKeys: found.answeredKeys)
    }

    public func history(
        of id: SessionID, from version: Int?, limit: Int, bytes: Int
    ) async throws(StoreError) -> [SessionRecord] {
        try records(
            try await reading(id) { reader, tail throws(ReadError) in
                try reader.history(of: id, from: version ?? .max, limit: limit, bytes: bytes, tail)
            })
    }

    public func answer(to key: String, of id: SessionID) async throws(StoreError) -> StoredAnswer? {
        let row = try await reading(id) { reader, tail throws(ReadError) in try reader.answer(to: key, of: id, tail) }
        guard let row else { return nil }
        guard let answer = try? StoredAnswer(parsing: row.text), answer.session == id, answer.key == key else {
            throw reported(.damaged("an answer of \(id.text) is damaged"), id)
        }
        return answer
    }

    public func forks(of id: SessionID) async throws(StoreError) -> [SessionID] {
        let recent = tail.withLock { $0.forks(of: id) }
        let compacted = try await reading(id) { reader, _ throws(ReadError) in try reader.forks(of: id) }
        return Array(recent.union(compacted))
    }

    public func sessions(ofUser user: String) async throws(StoreError) -> [SessionID] {
        let recent = tail.withLock { $0.sessions(ofUser: user) }
        do throws(ReadError) {
            let compacted = try await reader.read { reader throws(ReadError) in try reader.sessions(ofUser: user) }
            return Array(recent.union(compacted))
        } catch {
            // Nothing that could be read in its place has an index: the store is rebuilt when it is next opened.
            if case .sqlite(let failure) = error, failure.isDamage { troubles.report(.derived(error.reason)) }
            throw .unavailable(reason: error.reason)
        }
    }

    /// - Parameter body: receives the session's places in the tail.
    private func reading<Value: Sendable>(
        _ id: SessionID, _ body: @escaping @Sendable (JournalReader, [Place]) throws(ReadError) -> Value
    ) async throws(StoreError) -> Value {
        var tries = 1
        while true {
            let recent = tail.withLock { $0.places(of: id) }
            do throws(ReadError) {
                return try await reader.read { reader throws(ReadError) in try body(reader, recent) }
            } catch {
                // So much may have been committed since the tail was read that these rows are gone.
                if case .missing = error, tries < 3 {
                    tries += 1
                } else {
                    throw reported(error, id)
                }
            }
        }
    }

    private func records(_ found: FoundRecords) throws(StoreError) -> [SessionRecord] {
        do throws(ReadError) { return try found.read() } catch { throw reported(error, found.id) }
    }

    private func reported(_ error: ReadError, _ id: SessionID) -> StoreError {
        switch error {
        case .damaged, .missing:
            troubles.report(.session(id, error.reason))
            return .damaged(reason: error.reason)
        case .sqlite, .closed: return .unavailable(reason: error.reason)
        }
    }

    public func commit(_ changes: [SessionChange]) async -> CommitOutcome {
        let changes = changes.map(EncodedChange.init)
        // Unchecked, because every event passes here; the queue completes each commit exactly once.
        return await withUnsafeContinuation { continuation in
            writer.commit(changes) { continuation.resume(returning: $0) }
        }
    }

    public func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        defer { writer.scheduleChores() }
        var swept: [SessionID] = []
        while swept.count < limit {
            let size = min(SQLiteStore.sweepSize, limit - swept.count)
            let (examined, forgotten) = try await writer.run(mayUseReserve: true, interrupts: false) {
                writer throws(CommitFailure) in try writer.sweep(at: now.milliseconds, limit: size)
            }
            writer.sessionCount.subtract(forgotten.count, ordering: .relaxed)
            swept += forgotten
            if examined < size { break }
        }
        return swept
    }

    /// How many sessions are examined before commits go on.
    private static let sweepSize = 100

    public func dueTimers(at now: Date, limit: Int) async throws(StoreError) -> [DueTimer] {
        try await writer.run { writer throws(CommitFailure) in
            try writer.dueTimers(at: now.milliseconds, limit: limit)
        }
    }

    public func postpone(_ timers: [DueTimer], until time: Date?) async throws(StoreError) {
        try await writer.run { writer throws(CommitFailure) in
            try writer.postpone(timers, until: time.map { $0.milliseconds })
        }
    }

    public func sessionsWithEffects(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID] {
        try await writer.run { writer throws(CommitFailure) in
            try writer.sessionsWithEffects(after: last, limit: limit)
        }
    }

    /// - Throws: if what is derived from the journal is damaged. It is then rebuilt when the store is next opened, and
    ///   after that the session can be forgotten.
    public func forget(_ id: SessionID) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            let isKnown = try await writer.run(mayUseReserve: true) { writer throws(CommitFailure) in
                try writer.compactAll()
                return try writer.forget(id)
            }
            if isKnown { writer.sessionCount.subtract(1, ordering: .relaxed) }
            return isKnown
        } catch {
            if error != .full { troubles.report(.derived("session \(id.text) cannot be deleted yet")) }
            throw error
        }
    }

    public func insert(_ sessions: [StoredSession]) async throws -> Set<SessionID> {
        // Listed once, because that takes long; damaged sessions are in the list, too.
        let before = try known.withLock { known in
            let listed = try known ?? Set(StoreSnapshot(directory: directory.path).page(after: nil).sessions)
            known = listed.union(sessions.map(\.id))
            return listed
        }
        let changes = sessions.filter { !before.contains($0.id) }.flatMap(\.changes)
        let conflicts = changes.isEmpty ? [] : try await commit(changes).get()
        if let id = conflicts.first { throw StoreError.unavailable(reason: "session \(id.text) exists already") }
        return before.intersection(sessions.map(\.id))
    }

    /// Compacts the journal now: for tests that do not wait for a quiet moment.
    package func compact() async throws(StoreError) {
        try await writer.run { writer throws(CommitFailure) in try writer.compactAll() }
    }

    public func close() async {
        await watch.close()
        await reader.close()
        await writer.close()
        directory.unlock()
    }
}

extension StoredSession {
    /// The changes that insert the session, all in one commit.
    fileprivate var changes: [SessionChange] {
        var stamp = SessionStamp.none
        var changes: [SessionChange] = []
        for record in versions {
            changes.append(SessionChange(id: id, expected: stamp, record: record.encoded))
            stamp = SessionStamp(version: record.version)
        }
        return changes + answers.map { SessionChange(id: id, expected: stamp, record: nil, answer: $0) }
    }
}

/// Why a store cannot be opened or read.
public enum SQLiteStoreError: Error, Equatable, Sendable {
    /// There is no store.
    case missing
    /// Another process has the store open.
    case inUse(path: String)
    /// A newer build of this program has written it.
    case newer(schema: Int)
    /// The data is not what was written.
    case damaged(String)
    /// A file is missing: which one, and what to do about it.
    case incomplete(String)
    /// The system refused an operation.
    case unavailable(reason: String)
}
