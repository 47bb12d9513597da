internal import Glibc
internal import SQLite
internal import Sessions

/// Rebuilds what is derived from the journal, because it was found damaged. The journal itself must be sound: what is
/// lost there is only in a backup.
///
/// The journal is copied into a new file, which replaces the old one in one step. Until then the old one is as good as
/// before: at most its log was copied into it.
enum StoreRebuild {
    /// Whether there is a journal of this schema.
    static func isPossible(_ directory: StoreDirectory) -> Bool {
        // Read-only, because otherwise the log might be copied into the file.
        guard let file = try? SQLiteDatabase(path: directory.database, isReadOnly: true, isGuarded: true) else {
            return false
        }
        return (try? file.integer("PRAGMA user_version")) == Schema.version
    }

    /// - Throws: `damaged`, if the journal is damaged; then the store is as before.
    static func rebuild(
        _ directory: StoreDirectory, _ retention: Retention, because reason: String,
        _ report: @escaping @Sendable (String) -> Void
    ) throws(SQLiteStoreError) {
        report("rebuilding \(directory.database) from its journal, because \(reason)")
        // The new file may be as large as the old one, which stays if this fails.
        defer { directory.removeDraft() }
        let draft = try draft(of: directory, retention, report)
        // Both files must be complete without a log: SQLite would apply the old one to the new file.
        for log in [draft.database + "-wal", directory.log] where StoreDirectory.size(of: log) > 0 {
            throw .unavailable(reason: "\(log) cannot be copied into its database")
        }
        unlink(directory.log)
        try draft.place()
        unlink(directory.database + "-shm")
        unlink(directory.marker)
        try directory.flush()
        try directory.openDatabase()
        report("rebuilt \(directory.database); nothing is lost")
    }

    private static func draft(
        of directory: StoreDirectory, _ retention: Retention, _ report: @escaping (String) -> Void
    ) throws(SQLiteStoreError) -> StoreDraft {
        let source: OldJournal
        do throws(SQLiteError) {
            source = try OldJournal(directory.database, secretCopy: directory.secretCopy)
        } catch {
            throw SQLiteStoreError(error)
        }
        guard source.isClosed || directory.hasLog else { throw directory.missingLogError }
        let draft = try StoreDraft(in: directory, secret: source.secret)
        let target = try JournalWriter(path: draft.database, durability: .relaxed, retention: retention) { _ in }
        do throws(CommitFailure) {
            try source.copy(to: target, report)
        } catch {
            throw .unavailable(reason: "\(draft.database) cannot be written: \(error)")
        }
        do throws(SQLiteError) {
            try target.statements.set(.generation, source.generation)
            try target.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try source.mergeLog()
        } catch {
            throw SQLiteStoreError(error)
        }
        return draft
    }
}

/// The journal that a store is rebuilt from, and what else of the old file cannot be derived from it.
private final class OldJournal {
    let database: SQLiteDatabase
    let secret: [UInt8]
    /// See `Generation.stored`.
    let generation: Int
    /// Whether the store was closed, as far as is known.
    let isClosed: Bool
    /// The number of the last row.
    private let last: Int
    /// Rows that are to be deleted, which may be of sessions that are forgotten.
    private let dropped: Set<Int>

    /// Reads the whole journal once before anything is written: a store that cannot be rebuilt may be opened often.
    ///
    /// - Parameter secretCopy: the secret to use if the one in the database is damaged.
    /// - Throws: damage of the journal.
    init(_ path: String, secretCopy: [UInt8]?) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path, isGuarded: true)
        database.setLogKept(true)
        last = try OldJournal.lastRow(in: database)
        do throws(SQLiteError) { secret = try StoredValue.secret(in: database) } catch {
            guard let secretCopy, error.isDamage else { throw error }
            secret = secretCopy
        }
        // If the number is damaged, the new file begins another generation, as a copy does.
        generation = (try? Generation.stored(in: database)) ?? Generation.ofCopy(1)
        isClosed = (try? StoredValue.closed.number(in: database)).map { $0 >= 0 } ?? true
        // If this table is damaged, the rows are copied, and dropped again.
        let found = try? database.prepare("SELECT seq FROM dropped").all { $0.integer(0) ?? 0 }
        dropped = Set(found ?? [])
        self.database = database
    }

    private static let select = "SELECT \(JournalRow.columns), seq FROM journal"

    private static func lastRow(in database: borrowing SQLiteDatabase) throws(SQLiteError) -> Int {
        let compacted = try? StoredValue.compacted.number(in: database)
        var last = 0
        var damage: String?
        do throws(SQLiteError) {
            damage = try database.prepare("\(select) ORDER BY seq").firstNonNil { row in
                // Only rows that are compacted may have been deleted.
                let next = max(last, compacted ?? 0) + 1
                guard let seq = row.integer(JournalRow.columnCount), seq == next || seq <= compacted ?? .max else {
                    return "row \(next) of the journal is missing"
                }
                guard JournalRow(row, seq: seq) != nil else { return "row \(seq) of the journal is damaged" }
                last = seq
                return nil
            }
        } catch {
            guard error.isDamage else { throw error }
            damage = "the journal is damaged after row \(last)"
        }
        if let damage { throw .damage(damage) }
        return last
    }

    /// Copies the log into the file, and stores that the file is complete without a log.
    func mergeLog() throws(SQLiteError) {
        // A damaged page may prevent this. Then the value cannot be read either, which counts as closed.
        try? Statements(database).set(.closed, last)
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Rows that are copied in one transaction, and bytes of their texts.
    private static let (batchSize, batchBytes) = (4096, 8 << 20)

    func copy(to target: JournalWriter, _ report: @escaping (String) -> Void) throws(CommitFailure) {
        var progress = OpeningProgress("rebuilding", last: last, report)
        var seq = 0
        while seq < last {
            try target.transaction { () throws(SQLiteError) in
                for (number, row) in try rows(after: seq) {
                    seq = number
                    guard !dropped.contains(seq), let id = SessionID(row.session) else { continue }
                    try target.adopt(row, at: seq, of: id)
                }
            }
            if target.tail.withLock({ $0.recentCount >= JournalWriter.compactionRows }) { try target.compactAll() }
            // Otherwise the log would grow as large as the file.
            try target.checkpoint(from: JournalWriter.restartedLogLimit, nil)
            progress.show(seq)
        }
        try target.compactAll()
    }

    private func rows(after seq: Int) throws(SQLiteError) -> [(Int, JournalRow)] {
        let statement = try database.prepare("\(OldJournal.select) WHERE seq > ?1 ORDER BY seq")
        try statement.bind(1, seq)
        var rows: [(Int, JournalRow)] = []
        var size = 0
        _ = try statement.firstNonNil { row -> Void? in
            guard let seq = row.integer(JournalRow.columnCount), let one = JournalRow(row, seq: seq) else { return () }
            rows.append((seq, one))
            size += one.text.count
            return rows.count < OldJournal.batchSize && size < OldJournal.batchBytes ? nil : ()
        }
        guard !rows.isEmpty else { throw .damage("the journal is damaged after row \(seq)") }
        return rows
    }
}
