internal import SQLite
internal import Sessions

/// What the writing connection has prepared.
final class Statements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let rollback: SQLiteStatement
    private let append: SQLiteStatement
    private let version: SQLiteStatement
    // Folding.
    private let session: SQLiteStatement
    private let addSession: SQLiteStatement
    private let setSession: SQLiteStatement
    private let setDue: SQLiteStatement
    private let drop: SQLiteStatement
    private let addAnswer: SQLiteStatement
    private let dropAnswers: SQLiteStatement
    private let deleteAnswers: SQLiteStatement
    private let oldestAnswer: SQLiteStatement
    private let setFolded: SQLiteStatement
    private let lastDropped: SQLiteStatement
    private let deleteDropped: SQLiteStatement
    private let forgetDropped: SQLiteStatement
    // Sweeping.
    private let dueSessions: SQLiteStatement
    private let keptUntil: SQLiteStatement
    private let deleteSession: SQLiteStatement

    init(_ database: borrowing SQLiteDatabase) throws(SQLiteError) {
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        rollback = try database.prepare("ROLLBACK")
        append = try database.prepare(
            "INSERT INTO journal (seq, session, kind, version, key, record, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        )
        version = try database.prepare("SELECT version FROM sessions WHERE id = ?1")
        session = try database.prepare("SELECT version, rows FROM sessions WHERE id = ?1")
        addSession = try database.prepare(
            "INSERT OR REPLACE INTO sessions (id, version, rows, due) VALUES (?1, ?2, ?3, ?4)")
        setSession = try database.prepare("UPDATE sessions SET version = ?2, rows = ?3 WHERE id = ?1")
        setDue = try database.prepare("UPDATE sessions SET due = ?2 WHERE id = ?1")
        drop = try database.prepare("INSERT INTO dropped VALUES (?1) ON CONFLICT DO NOTHING")
        addAnswer = try database.prepare("INSERT INTO answers VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        dropAnswers = try database.prepare(
            "INSERT INTO dropped SELECT seq FROM answers WHERE session = ?1 AND seq <= ?2 ON CONFLICT DO NOTHING")
        deleteAnswers = try database.prepare("DELETE FROM answers WHERE session = ?1 AND seq <= ?2")
        oldestAnswer = try database.prepare(
            "SELECT seq FROM answers WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2")
        setFolded = try database.prepare("UPDATE store SET value = ?1 WHERE name = 'folded'")
        lastDropped = try database.prepare(
            "SELECT max(seq) FROM (SELECT seq FROM dropped WHERE seq <= ?2 ORDER BY seq LIMIT ?1)")
        deleteDropped = try database.prepare(
            "DELETE FROM journal WHERE seq IN (SELECT seq FROM dropped WHERE seq <= ?1)")
        forgetDropped = try database.prepare("DELETE FROM dropped WHERE seq <= ?1")
        dueSessions = try database.prepare("SELECT id FROM sessions WHERE due <= ?1 ORDER BY due LIMIT ?2")
        keptUntil = try database.prepare(
            """
            SELECT journal.record ->> '$.keptUntil' FROM sessions JOIN journal ON seq = rows ->> '$[#-1]'
            WHERE id = ?1
            """)
        deleteSession = try database.prepare("DELETE FROM sessions WHERE id = ?1")
    }
}

extension Statements {
    func append(_ row: EncodedChange.Row, at place: Place, of id: SessionID) throws(SQLiteError) {
        try append.bind(1, place.seq)
        try append.bind(2, id.text)
        try append.bind(3, word: row.kind.name)
        try append.bind(4, row.version)
        if let key = place.key { try append.bind(5, key) }
        try append.bind(7, row.checksum)
        try append.withBound(6, utf8: row.text) { () throws(SQLiteError) in try append.run() }
    }

    /// The last version that is folded; 0 where there is none.
    func version(of id: SessionID) throws(SQLiteError) -> Int {
        try version.bind(1, id.text)
        return try version.first { $0.integer(0) ?? 0 } ?? 0
    }

    /// - Returns: `nil` where the session is not folded yet.
    func session(_ id: SessionID) throws(SQLiteError) -> FoldedSession? {
        try session.bind(1, id.text)
        return try session.first { FoldedSession($0) } ?? nil
    }

    func set(_ folded: FoldedSession, of id: SessionID) throws(SQLiteError) {
        let statement = folded.due == nil ? setSession : addSession
        try statement.bind(1, id.text)
        try statement.bind(2, folded.version)
        if let due = folded.due { try statement.bind(4, due) }
        try statement.withBound(3, utf8: folded.rows) { () throws(SQLiteError) in try statement.run() }
    }

    func drop(_ rows: some Sequence<Int>) throws(SQLiteError) {
        for row in rows {
            try drop.bind(1, row)
            try drop.run()
        }
    }

    func addAnswer(_ key: String, at seq: Int, of id: SessionID) throws(SQLiteError) {
        try addAnswer.bind(1, id.text)
        try addAnswer.bind(2, seq)
        try addAnswer.bind(3, key)
        try addAnswer.run()
    }

    func set(due: Int, of id: SessionID) throws(SQLiteError) {
        try setDue.bind(1, id.text)
        try setDue.bind(2, due)
        try setDue.run()
    }

    /// Drops all answers but the last ones.
    func dropAnswers(of id: SessionID, keeping count: Int) throws(SQLiteError) {
        try oldestAnswer.bind(1, id.text)
        try oldestAnswer.bind(2, count)
        guard let seq = try oldestAnswer.first({ $0.integer(0) }) ?? nil else { return }
        try dropAnswers.bind(1, id.text)
        try dropAnswers.bind(2, seq)
        try dropAnswers.run()
        try deleteAnswers.bind(1, id.text)
        try deleteAnswers.bind(2, seq)
        try deleteAnswers.run()
    }

    func set(folded seq: Int) throws(SQLiteError) {
        try setFolded.bind(1, seq)
        try setFolded.run()
    }

    /// Deletes up to `limit` dropped rows of the journal, the oldest first: they lie side by side.
    ///
    /// - Parameter folded: the row up to which the journal is folded. What comes after it is read again after a crash.
    /// - Returns: whether there were any.
    func deleteDropped(upTo folded: Int, limit: Int) throws(SQLiteError) -> Bool {
        try lastDropped.bind(1, limit)
        try lastDropped.bind(2, folded)
        guard let last = try lastDropped.first({ $0.integer(0) }) ?? nil else { return false }
        try deleteDropped.bind(1, last)
        try deleteDropped.run()
        try forgetDropped.bind(1, last)
        try forgetDropped.run()
        return true
    }

    func dueSessions(at now: Int, limit: Int) throws(SQLiteError) -> [SessionID] {
        try dueSessions.bind(1, now)
        try dueSessions.bind(2, limit)
        return try dueSessions.all { $0.text(0).flatMap(SessionID.init) }.compactMap(\.self)
    }

    /// Until when the session is kept, as its last folded record says; 0 where there is none.
    func keptUntil(_ id: SessionID) throws(SQLiteError) -> Int {
        try keptUntil.bind(1, id.text)
        return try keptUntil.first { $0.integer(0) ?? 0 } ?? 0
    }

    func forget(_ id: SessionID) throws(SQLiteError) {
        if let folded = try session(id) { try drop(folded.allRows) }
        try dropAnswers(of: id, keeping: 0)
        try deleteSession.bind(1, id.text)
        try deleteSession.run()
    }
}
