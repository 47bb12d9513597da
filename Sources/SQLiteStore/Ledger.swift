internal import FoundationEssentials
internal import SQLite
internal import Sessions
internal import Sodium

/// The one connection that writes.
///
/// What waits is one transaction with one flush: the records, and beside them a slice of the folding
/// (`Ledger+Folding.swift`), so that both keep pace. Touched by one thread at a time.
final class Ledger {
    let database: SQLiteDatabase
    let retention: Retention
    let secret: [UInt8]
    let latestTime: Date
    /// What the tables did not tell when the store was opened.
    let replayed: Unfolded
    /// That were there when it was opened.
    let sessionCount: Int
    /// Of the last row of the journal.
    private(set) var lastSeq: Int
    /// The journal is folded up to this row.
    var folded: Int
    let statements: Statements
    var round: FoldingRound?
    /// Whether rows of the journal may wait to be dropped.
    var hasDropped = true

    init(
        path: String, durability: SQLiteStore.Durability, retention: Retention
    ) throws(SQLiteStoreError) {
        let database = try Ledger.open(path, durability)
        do throws(SQLiteError) {
            statements = try Statements(database)
            secret = try Ledger.secret(in: database)
            let last = "SELECT record FROM journal WHERE kind <> 'answer' ORDER BY seq DESC LIMIT 1"
            let latest = try database.integer("SELECT record ->> '$.time' FROM (\(last))")
            latestTime = Date(timeIntervalSince1970: TimeInterval(latest ?? 0) / 1000)
            folded = try database.integer("SELECT value FROM store WHERE name = 'folded'") ?? 0
            (replayed, lastSeq) = try Ledger.replay(database, after: folded)
            sessionCount = (try database.integer("SELECT count(*) FROM sessions") ?? 0) + replayed.newSessions.count
        } catch {
            throw SQLiteStoreError(error)
        }
        self.retention = retention
        self.database = database
    }

    private static func open(
        _ path: String, _ durability: SQLiteStore.Durability
    ) throws(SQLiteStoreError) -> SQLiteDatabase {
        let version: Int
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path)
            try database.execute(
                """
                PRAGMA page_size = 8192;
                PRAGMA journal_mode = WAL;
                PRAGMA cache_size = -65536;
                PRAGMA temp_store = MEMORY;
                PRAGMA synchronous = \(durability == .strict ? "FULL" : "NORMAL");
                """)
            guard try database.text("PRAGMA journal_mode") == "wal" else {
                throw SQLiteError(code: 0, message: "\(path) cannot have a write-ahead log")
            }
            version = try database.integer("PRAGMA user_version") ?? 0
            if version == 0 { try makeTables(in: database) }
            if version > 0, version < Schema.version {
                try database.execute("PRAGMA user_version = \(Schema.version)")
            }
            if version <= Schema.version { return database }
        } catch {
            throw SQLiteStoreError(error)
        }
        throw .newer(schema: version)
    }

    private static func makeTables(in database: borrowing SQLiteDatabase) throws(SQLiteError) {
        guard try database.integer("SELECT count(*) FROM sqlite_schema") == 0 else {
            throw .damage("the file is another program's database")
        }
        try database.execute("BEGIN IMMEDIATE; \(Schema.tables)")
        let insert = try database.prepare("INSERT INTO store VALUES ('secret', ?1), ('folded', 0)")
        try insert.bind(1, Sodium.randomBytes(KeyedDigest.keySize))
        try insert.run()
        try database.execute("PRAGMA user_version = \(Schema.version); COMMIT")
    }

    private static func secret(in database: borrowing SQLiteDatabase) throws(SQLiteError) -> [UInt8] {
        let secret = try database.bytes("SELECT value FROM store WHERE name = 'secret'")
        guard let secret, secret.count == KeyedDigest.keySize else {
            throw .damage("the table “store” has no secret")
        }
        return secret
    }

    /// Reads the part of the journal that is not folded, every record of it.
    static func replay(
        _ database: borrowing SQLiteDatabase, after folded: Int
    ) throws(SQLiteError) -> (Unfolded, lastSeq: Int) {
        var unfolded = Unfolded()
        var last = folded
        let select = try database.prepare(
            """
            SELECT seq, session, kind, version, key, record, checksum,
                CASE WHEN kind IN ('first', 'end') THEN record ->> '$.keptUntil' END
            FROM journal WHERE seq > \(folded) ORDER BY seq
            """)
        let damage = try select.firstNonNil { row -> String? in
            guard let seq = row.integer(0), seq == last + 1 else { return "row \(last + 1) of the journal is missing" }
            guard let place = Place(row, seq: seq), let id = row.text(1).flatMap(SessionID.init) else {
                return "row \(seq) of the journal is damaged"
            }
            unfolded.append(place, of: id)
            last = seq
            return nil
        }
        if let damage { throw .damage(damage) }
        return (unfolded, last)
    }
}

/// Why a batch was not committed.
enum CommitFailure: Error {
    /// Nothing is changed.
    case refused(StoreError)
    /// Nobody can tell what is on the disk.
    case flushFailed(String)
}

extension Ledger {
    /// Commits all the changes that fit in one transaction.
    ///
    /// - Returns: the conflicts, by the positions of the changes.
    func commit(
        _ changes: [EncodedChange], _ unfolded: SharedUnfolded
    ) throws(CommitFailure) -> [Int: CommitConflict] {
        var conflicts: [Int: CommitConflict] = [:]
        var places: [(SessionID, Place)] = []
        places.reserveCapacity(changes.count)
        try transaction(unfolded) { () throws(SQLiteError) in
            try foldSlice(of: max(2 * changes.count, 64))
            let known = unfolded.withLock { unfolded in changes.map { unfolded.version(of: $0.id) } }
            var seq = lastSeq
            // Of sessions that have changed in this transaction.
            var versions = [SessionID: Int](minimumCapacity: changes.count > 1 ? changes.count : 0)
            for (index, change) in changes.enumerated() {
                let id = change.id
                let current: Int
                if let version = versions[id] ?? known[index] {
                    current = version
                } else {
                    current = try statements.version(of: id)
                }
                guard current == change.expectedVersion, current > 0 || change.record != nil else {
                    conflicts[index] = CommitConflict(id: id, current: current)
                    continue
                }
                for row in [change.record, change.answer] {
                    guard let row else { continue }
                    seq += 1
                    let place = Place(seq: seq, kind: row.kind, version: row.version)
                    try statements.append(row, at: place, of: id)
                    places.append((id, place))
                }
                if changes.count > 1 { versions[id] = change.record?.version ?? current }
            }
        }
        lastSeq += places.count
        unfolded.withLock { unfolded in for (id, place) in places { unfolded.append(place, of: id) } }
        return conflicts
    }

    /// Does the work in a transaction of its own, and makes what was folded in it final.
    func transaction(
        _ unfolded: SharedUnfolded, _ work: () throws(SQLiteError) -> Void
    ) throws(CommitFailure) {
        do throws(SQLiteError) {
            try statements.begin.run()
            try work()
        } catch {
            try rollBack()
            throw .refused(StoreError(error))
        }
        do throws(SQLiteError) {
            try statements.commit.run()
        } catch {
            // A write that failed leaves no whole transaction behind. Anything else may have failed in the flush.
            guard error.isFailedWrite else { throw .flushFailed("\(error)") }
            try rollBack()
            throw .refused(StoreError(error))
        }
        settleFolding(unfolded)
    }

    private func rollBack() throws(CommitFailure) {
        forgetSlice()
        // Some errors have rolled back already.
        guard database.isInTransaction else { return }
        do { try statements.rollback.run() } catch { throw .flushFailed("\(error)") }
    }
}

extension StoreError {
    init(_ error: SQLiteError) {
        self = error.isNoSpace ? .full : .unavailable(reason: "\(error)")
    }
}

extension SQLiteStoreError {
    init(_ error: SQLiteError) {
        self = error.isDamage ? .damaged("\(error)") : .unavailable(reason: "\(error)")
    }
}
