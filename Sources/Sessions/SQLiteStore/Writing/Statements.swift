internal import SQLite
internal import Sessions

/// The prepared statements of the writing connection.
final class Statements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let rollback: SQLiteStatement
    /// What is done after the savepoint can be undone on its own.
    let setSavepoint: SQLiteStatement
    let releaseSavepoint: SQLiteStatement
    let rollbackToSavepoint: SQLiteStatement
    private let append: SQLiteStatement
    // Compaction.
    private let addSession: SQLiteStatement
    private let setSession: SQLiteStatement
    private let setUser: SQLiteStatement
    private let setDue: SQLiteStatement
    private let setPending: SQLiteStatement
    private let drop: SQLiteStatement
    private let addAnswer: SQLiteStatement
    private let answers: SQLiteStatement
    private let deleteAnswer: SQLiteStatement
    private let emptyAnswer: SQLiteStatement
    private let emptyAnswerRow: SQLiteStatement
    private let setStored: SQLiteStatement
    private let nextDropped: SQLiteStatement
    private let deleteDropped: SQLiteStatement
    private let forgetDropped: SQLiteStatement
    /// Moves pages from the end of the file to free places, and truncates the file.
    let vacuum: SQLiteStatement
    let pageCount: SQLiteStatement
    let freePageCount: SQLiteStatement
    // Sweeping.
    private let dueSessions: SQLiteStatement
    private let deleteRow: SQLiteStatement
    private let deleteSession: SQLiteStatement
    private let deleteAnswers: SQLiteStatement
    // Waking.
    private let dueTimers: SQLiteStatement
    private let performing: SQLiteStatement
    private let postpone: SQLiteStatement

    init(_ database: borrowing SQLiteDatabase) throws(SQLiteError) {
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        rollback = try database.prepare("ROLLBACK")
        setSavepoint = try database.prepare("SAVEPOINT chore")
        releaseSavepoint = try database.prepare("RELEASE chore")
        rollbackToSavepoint = try database.prepare("ROLLBACK TO chore")
        append = try database.prepare(
            "INSERT INTO journal (seq, \(JournalRow.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        )
        addSession = try database.prepare(
            """
            INSERT OR REPLACE INTO sessions (id, version, rows, tokens, answers, checksum, origin, due, user, timer, effects)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """)
        setSession = try database.prepare(
            "UPDATE sessions SET version = ?2, rows = ?3, tokens = ?4, answers = ?5, checksum = ?6 WHERE id = ?1")
        // On their own, because they change indexes, which the other columns do not.
        setUser = try database.prepare("UPDATE sessions SET user = ?2 WHERE id = ?1")
        // A session that need not be cleaned up any longer may be forgotten earlier.
        setPending = try database.prepare(
            "UPDATE sessions SET timer = ?2, effects = ?3, due = min(due, ?4) WHERE id = ?1")
        setDue = try database.prepare("UPDATE sessions SET due = ?2 WHERE id = ?1")
        drop = try database.prepare("INSERT INTO dropped VALUES (?1, ?2) ON CONFLICT DO NOTHING")
        addAnswer = try database.prepare("INSERT INTO answers VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING")
        answers = try database.prepare(
            "SELECT seq, size, key GLOB 'service:*' FROM answers WHERE session = ?1 ORDER BY seq DESC")
        deleteAnswer = try database.prepare("DELETE FROM answers WHERE session = ?1 AND seq = ?2")
        emptyAnswer = try database.prepare("UPDATE answers SET size = 0 WHERE session = ?1 AND seq = ?2")
        emptyAnswerRow = try database.prepare("UPDATE journal SET record = ?2, checksum = ?3 WHERE seq = ?1")
        setStored = try database.prepare(
            "INSERT INTO store VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET value = ?2, checksum = ?3")
        nextDropped = try database.prepare("SELECT seq, size FROM dropped WHERE seq <= ?1 ORDER BY seq")
        deleteDropped = try database.prepare(
            "DELETE FROM journal WHERE seq IN (SELECT seq FROM dropped WHERE seq <= ?1)")
        forgetDropped = try database.prepare("DELETE FROM dropped WHERE seq <= ?1")
        vacuum = try database.prepare("PRAGMA incremental_vacuum(\(Statements.vacuumSize))")
        pageCount = try database.prepare("PRAGMA page_count")
        freePageCount = try database.prepare("PRAGMA freelist_count")
        dueSessions = try database.prepare(
            "SELECT id, due FROM sessions WHERE due <= ?1 AND (due, id) > (?3, ?4) ORDER BY due, id LIMIT ?2")
        deleteRow = try database.prepare("DELETE FROM journal WHERE seq = ?1")
        deleteAnswers = try database.prepare("DELETE FROM answers WHERE session = ?1")
        deleteSession = try database.prepare("DELETE FROM sessions WHERE id = ?1")
        dueTimers = try database.prepare(Statements.dueTimers)
        performing = try database.prepare(Statements.performing)
        postpone = try database.prepare("UPDATE sessions SET timer = ?3 WHERE id = ?1 AND timer = ?2")
    }

    static let dueTimers = """
        SELECT id, timer FROM sessions INDEXED BY sessions_by_timer WHERE timer <= ?1 ORDER BY timer, id
        """
    static let performing = """
        SELECT id FROM sessions INDEXED BY sessions_with_effects WHERE effects IS NOT NULL AND id > ?1 ORDER BY id
        """

    /// How many pages are given back at once.
    static let vacuumSize = 64
}

extension Statements {
    func append(_ row: JournalRow, at seq: Int) throws(SQLiteError) {
        try append.bind(1, seq)
        try append.bind(2, row.session)
        try append.bind(3, word: row.kind.name)
        try append.bind(4, row.version)
        try append.bind(5, row.keptUntil)
        if let base = row.base { try append.bind(6, base) }
        if let tokens = row.label?.tokens { try append.bind(7, tokens) }
        if let origin = row.label?.origin { try append.bind(8, origin) }
        if let key = row.label?.key { try append.bind(9, key) }
        try append.bind(11, row.checksum(at: seq))
        if let user = row.label?.user { try append.bind(12, user) }
        if let timer = row.label?.timer { try append.bind(13, timer) }
        if row.label?.hasEffects == true { try append.bind(14, 1) }
        try append.withBound(10, utf8: row.text) { () throws(SQLiteError) in try append.run() }
    }

    func set(_ session: CompactedSession) throws(SQLiteError) {
        let statement = session.due == nil ? setSession : addSession
        try statement.bind(1, session.id.text)
        try statement.bind(2, session.version)
        try statement.bind(4, session.tokens)
        try statement.bind(5, session.answers)
        try statement.bind(6, session.checksum)
        if let due = session.due {
            if let origin = session.origin { try statement.bind(7, origin) }
            try statement.bind(8, due)
            if let user = session.user { try statement.bind(9, user) }
            if let timer = session.timer { try statement.bind(10, timer) }
            if session.hasEffects { try statement.bind(11, 1) }
        }
        try statement.withBound(3, utf8: session.rows) { () throws(SQLiteError) in try statement.run() }
        guard session.due == nil else { return }
        if session.hasNewUser {
            try setUser.bind(1, session.id.text)
            if let user = session.user { try setUser.bind(2, user) }
            try setUser.run()
        }
        if session.hasNewPending {
            try setPending.bind(1, session.id.text)
            try setPending.bind(4, session.keptUntil)
            if let timer = session.timer { try setPending.bind(2, timer) }
            if session.hasEffects { try setPending.bind(3, 1) }
            try setPending.run()
        }
    }

    func drop(_ rows: [SizedRow]) throws(SQLiteError) {
        for row in rows {
            try drop.bind(1, row.seq)
            try drop.bind(2, row.size)
            try drop.run()
        }
    }

    func addAnswer(_ key: String, at seq: Int, size: Int, of id: SessionID) throws(SQLiteError) {
        try addAnswer.bind(1, id.text)
        try addAnswer.bind(2, seq)
        try addAnswer.bind(3, key)
        try addAnswer.bind(4, size)
        try addAnswer.bind(5, Statements.answerChecksum(key, at: seq, of: id))
        try addAnswer.run()
    }

    static func answerChecksum(_ key: String, at seq: Int, of id: SessionID) -> Int {
        var sum = RowChecksum()
        sum.add(id.text)
        sum.add(seq)
        sum.add(key)
        return sum.value
    }

    /// Newest first.
    func answers(of id: SessionID) throws(SQLiteError) -> (toClients: [SizedRow], toServices: [SizedRow]) {
        try answers.bind(1, id.text)
        var (toClients, toServices): ([SizedRow], [SizedRow]) = ([], [])
        _ = try answers.all { columns in
            let row = SizedRow(seq: columns.integer(0) ?? 0, size: columns.integer(1) ?? 0)
            if columns.integer(2) == 1 { toServices.append(row) } else { toClients.append(row) }
        }
        return (toClients, toServices)
    }

    func deleteAnswer(at seq: Int, of id: SessionID) throws(SQLiteError) {
        try deleteAnswer.bind(1, id.text)
        try deleteAnswer.bind(2, seq)
        try deleteAnswer.run()
    }

    /// - Parameter row: what is left of the answer.
    func emptyAnswer(at seq: Int, of id: SessionID, keeping row: JournalRow) throws(SQLiteError) {
        try emptyAnswer.bind(1, id.text)
        try emptyAnswer.bind(2, seq)
        try emptyAnswer.run()
        try emptyAnswerRow.bind(1, seq)
        try emptyAnswerRow.bind(3, row.checksum(at: seq))
        try emptyAnswerRow.withBound(2, utf8: row.text) { () throws(SQLiteError) in try emptyAnswerRow.run() }
    }

    func set(due: Int, of id: SessionID) throws(SQLiteError) {
        try setDue.bind(1, id.text)
        try setDue.bind(2, due)
        try setDue.run()
    }

    func set(_ value: StoredValue, _ number: Int) throws(SQLiteError) {
        try setStored.bind(1, value.rawValue)
        try setStored.bind(2, number)
        try setStored.bind(3, value.checksum(of: number))
        try setStored.run()
    }

    /// Deletes dropped rows of the journal, the oldest first.
    ///
    /// - Parameters:
    ///   - compacted: the row up to which the journal is compacted. Rows after it are read again after a crash.
    ///   - limit: about how much work to do, see `Work`.
    /// - Returns: whether there were any.
    func deleteDropped(upTo compacted: Int, limit: Int) throws(SQLiteError) -> Bool {
        try nextDropped.bind(1, compacted)
        var (last, work): (Int?, Int) = (nil, 0)
        _ = try nextDropped.firstNonNil { row -> Void? in
            last = row.integer(0)
            work += Work.onRow(of: row.integer(1) ?? 0)
            return work < limit ? nil : ()
        }
        guard let last else { return false }
        try deleteDropped.bind(1, last)
        try deleteDropped.run()
        try forgetDropped.bind(1, last)
        try forgetDropped.run()
        return true
    }

    /// - Parameter cursor: where the last call stopped.
    func dueSessions(
        at now: Int, limit: Int, after cursor: (due: Int, id: String)
    ) throws(SQLiteError) -> [(due: Int, id: SessionID?, text: String)] {
        try dueSessions.bind(1, now)
        try dueSessions.bind(2, limit)
        try dueSessions.bind(3, cursor.due)
        try dueSessions.bind(4, cursor.id)
        return try dueSessions.all { row in
            let text = row.text(0) ?? ""
            return (row.integer(1) ?? 0, SessionID(text), text)
        }
    }

    /// Calls `body` with each session whose timer is due, the earliest first, until it returns `false`. It is not called
    /// for a row that has no valid id.
    func dueTimers(at now: Int, _ body: (SessionID, Int) -> Bool) throws(SQLiteError) {
        try dueTimers.bind(1, now)
        _ = try dueTimers.firstNonNil { row -> Void? in
            guard let id = row.text(0).flatMap(SessionID.init), let due = row.integer(1) else { return nil }
            return body(id, due) ? nil : ()
        }
    }

    /// Calls `body` with each session that has effects under way, in the order of their ids, until it returns `false`.
    func sessionsWithEffects(after last: SessionID?, _ body: (SessionID) -> Bool) throws(SQLiteError) {
        try performing.bind(1, last?.text ?? "")
        _ = try performing.firstNonNil { row -> Void? in
            guard let id = row.text(0).flatMap(SessionID.init) else { return nil }
            return body(id) ? nil : ()
        }
    }

    /// Changes a timer that is still due at `due`.
    func postpone(due: Int, until time: Int?, of id: SessionID) throws(SQLiteError) {
        try postpone.bind(1, id.text)
        try postpone.bind(2, due)
        if let time { try postpone.bind(3, time) }
        try postpone.run()
    }

    func deleteRow(_ seq: Int) throws(SQLiteError) {
        try deleteRow.bind(1, seq)
        try deleteRow.run()
    }

    /// Deletes what says where a session's rows are.
    func deleteSession(_ id: SessionID) throws(SQLiteError) {
        for statement in [deleteAnswers, deleteSession] {
            try statement.bind(1, id.text)
            try statement.run()
        }
    }
}
