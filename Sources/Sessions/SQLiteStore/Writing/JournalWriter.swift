internal import FoundationEssentials
internal import SQLite
internal import Sessions
internal import Sodium

/// The one connection that writes.
///
/// Everything that is waiting is committed in one transaction with one flush. If there is much to compact, the
/// transaction also contains a slice of the compaction (`JournalWriter+Compaction.swift`), so that compaction keeps
/// pace with the commits; but a commit never fails because of it. Used by one thread at a time.
final class JournalWriter {
    let database: SQLiteDatabase
    let retention: Retention
    let secret: [UInt8]
    let latestTime: Date
    let generation: Generation
    /// Whether the file says that it was closed after its last commit. Withdrawn by the first commit, not before, so
    /// that a store without room can be opened and read.
    private(set) var isMarkedClosed: Bool
    let tail: SharedTail
    /// How many sessions there were when the store was opened.
    let sessionCount: Int
    /// The number of the journal's last row.
    var lastSeq: Int
    /// The journal is compacted up to this row.
    var compacted: Int
    let statements: Statements
    let lookup: StoreLookup
    var round: CompactionRound?
    /// The number of the last round that was asked for, and whether it is still being prepared.
    var (lastRound, isPreparing) = (0, false)
    /// Sessions that cannot be compacted, because a page needed for this is damaged. They stay in the tail.
    var stuck: Set<SessionID> = []
    /// Sessions whose timers cannot be postponed, because a page needed for this is damaged. They are not woken any
    /// more.
    var immovable: Set<SessionID> = []
    /// Compaction work that is due, see `sliceWork(beside:)`.
    var owedWork = 0
    /// Whether there may be dropped rows of the journal that are still to be deleted.
    var hasDropped = true
    /// Whether sessions can be compacted.
    var canCompact = true
    /// Whether dropped rows can be deleted.
    var canDelete = true
    /// Where the last sweep stopped.
    var sweepCursor = (due: Int.min, id: "")
    /// How many pages the log had at the last checkpoint.
    var copiedPages = 0
    /// The time that was stored last, see `latestTime`; milliseconds since 1970.
    var clock = 0
    /// In pages; 0 for no limit.
    let sizeLimit: Int
    let report: @Sendable (StoreTrouble) -> Void

    init(
        path: String, durability: SQLiteStore.Durability, retention: Retention, sizeLimit: Int = 0,
        progress: @escaping (String) -> Void = { _ in },
        report: @escaping @Sendable (StoreTrouble) -> Void
    ) throws(SQLiteStoreError) {
        let database = try JournalWriter.open(path, durability)
        do throws(SQLiteError) {
            statements = try Statements(database)
            lookup = try StoreLookup(database)
            secret = try StoredValue.secret(in: database)
            compacted = try StoredValue.compacted.number(in: database)
            var replayed = Tail()
            lastSeq = try JournalWriter.replay(database, after: compacted, into: &replayed, progress)
            tail = SharedTail(replayed)
            try JournalWriter.tryAppending(to: database, after: lastSeq, statements)
            isMarkedClosed = try StoredValue.closed.number(in: database) >= 0
            latestTime = JournalWriter.latestTime(in: database)
            generation = try Generation(in: database)
            sessionCount = (try database.integer("SELECT count(*) FROM sessions") ?? 0) + replayed.newSessions.count
        } catch {
            throw SQLiteStoreError(error)
        }
        self.retention = retention
        self.sizeLimit = sizeLimit / PageChecksum.pageSize
        self.report = report
        self.database = database
    }

    private static func open(
        _ path: String, _ durability: SQLiteStore.Durability
    ) throws(SQLiteStoreError) -> SQLiteDatabase {
        let version: Int
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path, isGuarded: true, busyTimeout: busyTimeout)
            // A store that is not noted as closed must still have its log when it is opened again.
            database.setLogKept(true)
            // Overwriting deleted content (SECURE_DELETE, the default of Debian's SQLite) doubles what a deletion
            // writes; FAST overwrites only in pages that are written anyway. `docs/security.md` says what stays in the
            // file.
            try database.execute(
                """
                PRAGMA secure_delete = FAST;
                PRAGMA journal_mode = WAL;
                PRAGMA journal_size_limit = \(2 * restartedLogLimit * PageChecksum.pageSize);
                PRAGMA cache_size = -65536;
                PRAGMA temp_store = MEMORY;
                PRAGMA synchronous = \(durability == .strict ? "FULL" : "NORMAL");
                """)
            guard try database.text("PRAGMA journal_mode") == "wal" else {
                throw SQLiteError(code: 0, message: "\(path) cannot have a write-ahead log")
            }
            version = try database.integer("PRAGMA user_version") ?? 0
            guard version != 0 else { throw .damage("the file is another program's database") }
            if version == Schema.version { return database }
        } catch {
            throw SQLiteStoreError(error)
        }
        throw .newer(schema: version)
    }

    /// How long the writer waits for another program's lock. Short, because everybody waits for the writer.
    static let busyTimeout = Duration.milliseconds(500)

    /// Makes the file of an empty store. It is complete without a log.
    static func create(_ path: String, secret: [UInt8]) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path, isGuarded: true)
        try database.execute(
            """
            PRAGMA page_size = \(PageChecksum.pageSize); PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
            BEGIN; \(Schema.tables)
            """)
        let insert = try database.prepare("INSERT INTO store VALUES ('secret', ?1, ?2)")
        try insert.bind(1, secret)
        try insert.bind(2, StoredValue.checksum(ofSecret: secret))
        try insert.run()
        let statements = try Statements(database)
        for value in StoredValue.allCases { try statements.set(value, value == .generation ? 1 : 0) }
        try database.execute("PRAGMA user_version = \(Schema.version); COMMIT")
    }

    /// Writes the note that the store was closed after the journal's last row, or withdraws it.
    func mark(isClosed: Bool) throws(CommitFailure) {
        let seq = isClosed ? lastSeq : -1
        try transaction { () throws(SQLiteError) in
            try statements.set(.closed, seq)
            // From its first commit on, a copy is a store of its own.
            if !isClosed { try statements.set(.generation, generation.number) }
        }
        // In the file itself, so that it shows that a log is missing.
        if !isClosed {
            do throws(SQLiteError) { try database.checkpoint() } catch {
                throw error.isFailedFlush ? .flushFailed("\(error)") : .refused(StoreError(error))
            }
        }
        isMarkedClosed = isClosed
    }

    /// Notes that the store is closed. Must be the last call.
    func close() {
        do { try mark(isClosed: true) } catch { return }
        database.setLogKept(false)
    }

    /// The latest known time: of the last record, or of the last sweep. Ignored are a time that cannot be read, and
    /// that of a record more than a day ahead of both the last sweep and the machine's clock, which was imported.
    static func latestTime(in database: borrowing SQLiteDatabase) -> Date {
        let time = newestChange(in: database)
        let clock = try? StoredValue.clock.number(in: database)
        let limit = max(clock ?? 0, Int(Date().timeIntervalSince1970 * 1000)) + 86_400_000
        let latest = max(time.flatMap { $0 <= limit ? $0 : nil } ?? 0, clock ?? 0)
        return Date(timeIntervalSince1970: TimeInterval(latest) / 1000)
    }

    /// The time of the last record, in milliseconds since 1970; `nil` if there is none, or it cannot be read.
    static func newestChange(in database: borrowing SQLiteDatabase) -> Int? {
        let last = "SELECT record FROM journal WHERE kind <> 'answer' ORDER BY seq DESC LIMIT 1"
        return
            (try? database.integer(
                "SELECT CASE WHEN json_valid(record) THEN record ->> '$.time' END FROM (\(last))")) ?? nil
    }

    /// Checks that the pages that every commit needs are sound: the journal's last page, and those that list the free
    /// pages.
    private static func tryAppending(
        to database: borrowing SQLiteDatabase, after seq: Int, _ statements: Statements
    ) throws(SQLiteError) {
        let text = [UInt8](repeating: UInt8(ascii: " "), count: 3 * PageChecksum.pageSize)
        try statements.begin.run()
        defer { try? statements.rollback.run() }
        let row = JournalRow(session: "", kind: .next, version: 0, keptUntil: 0, label: nil, text: text)
        try statements.append(row, at: seq + 1)
    }

    /// Reads every row of the journal's uncompacted tail.
    ///
    /// - Returns: the number of the last row.
    static func replay(
        _ database: borrowing SQLiteDatabase, after compacted: Int, into tail: inout Tail,
        _ report: @escaping (String) -> Void = { _ in }
    ) throws(SQLiteError) -> Int {
        let end = try database.integer("SELECT max(seq) FROM journal") ?? 0
        var progress = OpeningProgress("reading what is not compacted", last: end, report)
        var last = compacted
        let select = try database.prepare(
            "SELECT \(JournalRow.columns), seq FROM journal WHERE seq > ?1 ORDER BY seq")
        try select.bind(1, compacted)
        let damage = try select.firstNonNil { row -> String? in
            guard let seq = row.integer(JournalRow.columnCount), seq == last + 1 else {
                return "row \(last + 1) of the journal is missing"
            }
            guard let entry = JournalRow(row, seq: seq), let id = SessionID(entry.session) else {
                return "row \(seq) of the journal is damaged"
            }
            tail.append(entry.place(at: seq), of: id)
            last = seq
            progress.show(seq)
            return nil
        }
        if let damage { throw .damage(damage) }
        return last
    }

    /// Adds a row of another file under the number that it has there. The journal must be compacted before the store is
    /// closed, because the row numbers may have gaps.
    func adopt(_ row: JournalRow, at seq: Int, of id: SessionID) throws(SQLiteError) {
        try statements.append(row, at: seq)
        lastSeq = seq
        tail.withLock { $0.append(row.place(at: seq), of: id) }
    }
}

// Only the connection that writes the write-ahead log copies it into the file: SQLite up to 3.51 can lose the log's
// content when two connections do (sqlite.org/wal.html, “the WAL-reset bug”).

extension JournalWriter {
    /// How many pages the log grows by before it is copied. Few, because the next commit waits for the copying: about
    /// three milliseconds.
    static let copiedLogLimit = 160
    /// How many pages the log may have before it is restarted: 32 MiB. Otherwise, readers that follow each other
    /// without a gap would let it grow for ever.
    static let restartedLogLimit = 4096

    /// How much of the log is in use.
    var logBytes: Int { database.logPages * PageChecksum.pageSize }

    /// - Parameter reader: paused while the log is restarted.
    /// - Throws: `full`, if the file cannot grow by what it lacks.
    func checkpoint(from limit: Int, _ reader: ReadQueue?) throws(CommitFailure) {
        let pages = database.logPages
        // The log has been restarted.
        if pages < copiedPages { copiedPages = 0 }
        guard pages - copiedPages > limit else { return }
        let copiedBefore = copiedPages
        copiedPages = pages
        do throws(SQLiteError) {
            guard pages > JournalWriter.restartedLogLimit, let reader else { return try database.checkpoint() }
            try reader.whilePaused { () throws(SQLiteError) in
                database.setBusyTimeout(.zero)
                defer { database.setBusyTimeout(JournalWriter.busyTimeout) }
                try database.checkpoint(isRestarted: true)
            }
        } catch {
            // What cannot be copied stays in the log, and nothing is lost. A failed flush is a different matter.
            if error.isFailedFlush { throw .flushFailed("\(error)") }
            if error.isNoSpace {
                copiedPages = copiedBefore
                throw .refused(.full)
            }
            if error.isDamage { report(.chore("the log cannot be copied into the file: \(error)")) }
        }
    }
}
