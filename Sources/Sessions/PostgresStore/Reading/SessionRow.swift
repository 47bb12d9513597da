internal import Postgres
internal import Sessions

/// A session as the database returns it: its last record, and the full record that is its base, if any.
struct SessionRow: Sendable {
    let stamp: SessionStamp
    /// Without a record if there is none, which is damage.
    private let found: Result<FoundRecords, StoreError>
    /// Oldest first.
    let answeredKeys: [String]

    static let statement = PostgresStatement(
        "load",
        """
        SELECT w.n, s.stamp, s.version, g.value, j.version, j.base, j.kept_until, j.record, j.checksum,
          b.version, b.base, b.kept_until, b.record, b.checksum,
          (SELECT coalesce(array_agg(k.key ORDER BY k.stamp), '{}') FROM (
            SELECT key, stamp, row_number() OVER (PARTITION BY key LIKE 'service:%' ORDER BY stamp DESC) AS age
            FROM answers a WHERE a.session = s.id) k WHERE k.age <= $3)
        FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS w(id, token, n)
        JOIN store g ON g.name = 'generation'
        JOIN sessions s ON s.id = w.id AND (w.token IS NULL OR w.token = ANY (s.tokens))
        LEFT JOIN journal j ON j.session = s.id AND j.version = s.version
        LEFT JOIN journal b ON b.session = s.id AND b.version = j.base
        """)

    init?(_ rows: PostgresRows, _ row: Int, of id: SessionID) {
        guard let commits = rows.integer(row, 1), let version = rows.integer(row, 2),
            let generation = rows.text(row, 3).flatMap({ Int($0) })
        else { return nil }
        stamp = SessionStamp(version: version, commits: commits, generation: generation)
        found = Result { () throws(StoreError) in
            var found = FoundRecords(of: id)
            let record = try JournalRow(rows, row, from: 4, of: id)
            if let record { found.wanted = [(record.version, record.text)] }
            if let base = try JournalRow(rows, row, from: 9, of: id) { found.bases = [base.version: base.text] }
            return found
        }
        answeredKeys = rows.texts(row, 14) ?? []
    }

    /// - Throws: `damaged`.
    func loaded(_ id: SessionID) throws(StoreError) -> LoadedSession {
        guard let record = try found.get().records().first, record.version == stamp.version else {
            throw .damaged(reason: "version \(stamp.version) of \(id.text) is missing")
        }
        return LoadedSession(record: record, stamp: stamp, answeredKeys: record.isEnd ? [] : answeredKeys)
    }
}

extension JournalRow {
    /// A record in the table `journal`.
    ///
    /// - Parameter first: the column of the version; base, `kept_until`, record and checksum follow.
    /// - Returns: `nil` if there is no such row.
    /// - Throws: `damaged`, if it is not what was written.
    init?(_ rows: PostgresRows, _ row: Int, from first: Int, of id: SessionID) throws(StoreError) {
        guard let version = rows.integer(row, first), let text = rows.utf8(row, first + 3) else { return nil }
        self.init(
            session: id.text, kind: .next, version: version, keptUntil: rows.integer(row, first + 2) ?? -1,
            base: rows.integer(row, first + 1), label: nil, text: text)
        guard checksum == rows.integer(row, first + 4) else {
            throw .damaged(reason: "version \(version) of \(id.text) is damaged: its checksum is wrong")
        }
    }
}

extension StoredAnswer {
    /// An answer in the table `answers`.
    ///
    /// - Throws: `damaged`, if it is not what was written.
    init(_ text: [UInt8], checksum: Int?, to key: String, of id: SessionID) throws(StoreError) {
        guard JournalRow(session: id.text, key: key, text: text).checksum == checksum,
            let answer = try? StoredAnswer(parsing: text), answer.session == id, answer.key == key
        else { throw .damaged(reason: "an answer of \(id.text) is damaged") }
        self = answer
    }
}
