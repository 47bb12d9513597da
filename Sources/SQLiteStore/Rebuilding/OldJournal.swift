internal import SQLite
internal import Sessions
internal import Sodium

/// The journal that a store is rebuilt from. Of a damaged journal it reads what is left.
final class OldJournal {
    /// Reads only pages that are what was written.
    private var database: SQLiteDatabase?
    private var rows: SQLiteStatement?
    /// Reads damaged pages, too.
    private var unguarded: SQLiteDatabase?
    private var unguardedRows: SQLiteStatement?
    let secret: [UInt8]
    /// See `Generation.stored`.
    let generation: Int
    /// Everything up to this row is in the tables; `nil` if this number is damaged.
    private let compacted: Int?
    /// The number of the last row.
    let last: Int
    /// How many sessions are known to be damaged.
    private let damageCount: Int
    /// The number of the row that was read last.
    private(set) var seq = 0
    /// Whether any part of the journal is damaged.
    private(set) var isDamaged = false
    /// The numbers of rows that are not what was written, or that may have existed and were not found; in order.
    private var lost: [ClosedRange<Int>] = []

    /// - Parameter secretCopy: the secret to use if the one in the database is damaged.
    init(_ path: String, secretCopy: [UInt8]?) throws(SQLiteError) {
        let database = try SQLiteDatabase(path: path, isGuarded: true)
        database.setLogKept(true)
        let unguarded = try SQLiteDatabase(path: path, isReadOnly: true)
        // Not “> ?1”, which also reads the page of the row before; that page may be damaged.
        let sql = "SELECT \(JournalRow.columns), seq FROM journal WHERE seq >= ?1 ORDER BY seq LIMIT ?2"
        rows = try database.prepare(sql)
        unguardedRows = try unguarded.prepare(sql)
        secret = try OldJournal.secret(in: unguarded, or: secretCopy)
        compacted = try? JournalWriter.compacted(in: unguarded)
        // If the number is damaged, the rows of the table are counted; nearly every store has none.
        if let count = try? JournalWriter.stored(StoredValue.damaged, in: unguarded) {
            damageCount = count
        } else {
            damageCount = try unguarded.integer("SELECT count(*) FROM damaged") ?? 0
        }
        // If the number is damaged, the new store begins another generation, as a copy does.
        generation = (try? Generation.stored(in: unguarded)) ?? Generation.ofCopy(1)
        last = try OldJournal.last(in: database, or: unguarded, compacted: compacted)
        self.database = consume database
        self.unguarded = consume unguarded
    }

    /// The number of the last row. If its page is damaged, a store that was closed still knows the number; else the page
    /// is believed if it goes as far as what is compacted. A row after that proves itself by its checksum.
    private static func last(
        in database: borrowing SQLiteDatabase, or unguarded: borrowing SQLiteDatabase, compacted: Int?
    ) throws(SQLiteError) -> Int {
        let sql = "SELECT max(seq) FROM journal"
        do throws(SQLiteError) { return try database.integer(sql) ?? 0 } catch {
            guard error.isDamage else { throw error }
        }
        if let closed = try? JournalWriter.stored(StoredValue.closed, in: unguarded), closed >= 0 { return closed }
        guard let found = try? unguarded.integer(sql), let compacted, found >= compacted else {
            throw .damage("the end of the journal is damaged, and it was not closed")
        }
        return found
    }

    private static func secret(
        in database: borrowing SQLiteDatabase, or copy: [UInt8]?
    ) throws(SQLiteError) -> [UInt8] {
        do throws(SQLiteError) { return try JournalWriter.secret(in: database) } catch {
            guard let copy, error.isDamage else { throw error }
            return copy
        }
    }

    private enum Found {
        case sound(Int, JournalRow)
        /// The row's number, and the session that the row names.
        case unsound(Int, String)

        var seq: Int {
            switch self {
            case .sound(let seq, _), .unsound(let seq, _): seq
            }
        }
    }

    /// The next rows, about `count` or about `bytes` of text, and the sessions that the damaged rows among them name.
    ///
    /// - Returns: `nil` at the end.
    /// - Throws: damage, if something may be lost that only the tail of the journal had.
    func next(_ count: Int, bytes: Int) throws(SQLiteError) -> (rows: [(Int, JournalRow)], unsound: [String])? {
        guard seq < last else { return nil }
        var sound: [(Int, JournalRow)] = []
        var unsound: [String] = []
        var size = 0
        while sound.count < count, size < bytes, seq < last {
            for found in try nextFound() {
                try checkTail(found)
                seq = found.seq
                switch found {
                case .sound(let seq, let row):
                    sound.append((seq, row))
                    size += row.text.count
                case .unsound(let seq, let session):
                    isDamaged = true
                    lose(seq...seq)
                    unsound.append(session)
                }
            }
        }
        if seq >= last, compacted == nil, isDamaged {
            throw .damage("both the journal and the table store are damaged")
        }
        return (sound, unsound)
    }

    /// Checks that the uncompacted tail has no gap and no damaged row.
    private func checkTail(_ found: Found) throws(SQLiteError) {
        guard let compacted, found.seq > compacted else { return }
        let expected = max(seq, compacted) + 1
        guard found.seq == expected else { throw .damage("row \(expected) of the journal is missing") }
        if case .unsound = found { throw .damage("row \(found.seq) of the journal is damaged") }
    }

    private func nextFound() throws(SQLiteError) -> [Found] {
        do throws(SQLiteError) {
            return try found(rows, limit: 64)
        } catch {
            guard error.isDamage else { throw error }
            isDamaged = true
        }
        // Row by row, past those that cannot be read.
        for number in seq + 1...max(seq + 1, last) {
            guard let found = try? found(unguardedRows, after: number - 1, limit: 1).first else { continue }
            // A damaged row may state any number: there may be sound rows before that number.
            if case .unsound(_, let session) = found {
                if number > seq + 1 { lose(seq + 1...number - 1) }
                return [.unsound(number, session)]
            }
            if found.seq > seq + 1 { lose(seq + 1...found.seq - 1) }
            return [found]
        }
        lose(seq + 1...max(seq + 1, last))
        seq = last
        return []
    }

    private func lose(_ range: ClosedRange<Int>) {
        if let before = lost.last, before.upperBound + 1 == range.lowerBound {
            lost[lost.count - 1] = before.lowerBound...range.upperBound
        } else {
            lost.append(range)
        }
    }

    /// Whether a row that the tables point to is lost. Call after all rows have been read.
    private func isLost(_ seq: Int) -> Bool { lost.contains { $0.contains(seq) } }

    private func found(_ statement: SQLiteStatement?, after first: Int? = nil, limit: Int) throws(SQLiteError)
        -> [Found]
    {
        guard let statement else { return [] }
        try statement.bind(1, (first ?? seq) + 1)
        try statement.bind(2, limit)
        return try statement.all { row -> Found? in
            guard let seq = row.integer(11), seq > self.seq else { return nil }
            return JournalRow(row, seq: seq).map { .sound(seq, $0) } ?? .unsound(seq, row.text(0) ?? "")
        }.compactMap(\.self)
    }

    /// Rows that need not be copied. If the table is damaged, they are copied, and dropped again later.
    var dropped: Set<Int> {
        // Only from sound pages: a wrong number would drop a row that is needed.
        guard let found = try? database?.prepare("SELECT seq FROM dropped").all({ $0.integer(0) }) else { return [] }
        return Set(found.compactMap(\.self))
    }

    /// Sessions that are known to have lost something in earlier damage.
    func damagedSessions() throws(SQLiteError) -> [String] {
        guard damageCount > 0 else { return [] }
        let found =
            try unguarded?.prepare("SELECT id FROM damaged").all { $0.text(0).flatMap(SessionID.init)?.text } ?? []
        let ids = found.compactMap(\.self)
        guard ids.count == damageCount else { throw .damage("the list of damaged sessions is damaged") }
        return ids
    }

    /// The last version of every session according to the table, and whether a kept version is lost.
    ///
    /// - Throws: damage, if the table is damaged as well, so that it is unknown what is lost.
    func lastVersions() throws(SQLiteError) -> [(id: String, version: Int, hasLosses: Bool)] {
        let sql = "SELECT \(CompactedSession.columns), id FROM sessions"
        let found = try unguarded?.prepare(sql).all { row -> (String, Int, Bool)? in
            guard let text = row.text(7), let id = SessionID(text) else { return nil }
            return CompactedSession(row, of: id).map { (text, $0.version, $0.allRows.contains(where: isLost)) }
        }
        return try whole(found, "sessions")
    }

    /// The sessions that have lost an answer, according to the table.
    func sessionsWithLostAnswers() throws(SQLiteError) -> Set<String> {
        let sql = "SELECT session, seq, key, checksum FROM answers"
        let found = try unguarded?.prepare(sql).all { row -> (id: String, isLost: Bool)? in
            guard let text = row.text(0), let id = SessionID(text), let seq = row.integer(1), let key = row.text(2),
                Statements.answerChecksum(key, at: seq, of: id) == row.integer(3)
            else { return nil }
            return (text, isLost(seq))
        }
        return Set(try whole(found, "answers").lazy.filter(\.isLost).map(\.id))
    }

    private func whole<Value>(_ found: [Value?]?, _ table: String) throws(SQLiteError) -> [Value] {
        let found = found ?? []
        let sound = found.compactMap(\.self)
        guard sound.count == found.count else {
            throw .damage("both the journal and the table \(table) are damaged")
        }
        return sound
    }

    /// Copies the log into the file, and empties the log. Nothing can be read afterwards.
    func close() {
        (rows, unguardedRows) = (nil, nil)
        unguarded = nil
        try? database?.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database = nil
    }
}
