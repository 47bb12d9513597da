internal import Postgres
internal import Sessions

/// A session as the database returns it: its last record, and the full record that this may need.
struct SessionRow: Sendable {
    let stamp: SessionStamp
    let record: JournalRow?
    let base: JournalRow?
    /// Oldest first.
    let answeredKeys: [String]

    static let statement = PostgresStatement(
        "load",
        """
        SELECT w.n, s.stamp, s.version, g.value, j.version, j.base, j.kept_until, j.record, j.checksum,
          b.version, b.base, b.kept_until, b.record, b.checksum,
          (SELECT coalesce(array_agg(k.key ORDER BY k.stamp), '{}') FROM (
            SELECT key, stamp FROM answers a WHERE a.session = s.id ORDER BY stamp DESC LIMIT $3) k)
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
        record = JournalRow(rows, row, from: 4, of: id)
        base = JournalRow(rows, row, from: 9, of: id)
        answeredKeys = rows.texts(row, 14) ?? []
    }

    /// - Throws: `damaged`.
    func loaded(_ id: SessionID) throws(StoreError) -> LoadedSession {
        guard let record, record.version == stamp.version else {
            throw .damaged(reason: "version \(stamp.version) of \(id.text) is missing")
        }
        var reader = RecordReader(of: id)
        let read = try JournalRow.read(record, of: id, &reader) { $0 == base?.version ? base : nil }
        let keys = read.isEnd ? [] : answeredKeys
        return LoadedSession(record: read, stamp: stamp, answeredKeys: keys)
    }
}

/// A row of the table `journal`.
struct JournalRow: Sendable {
    let version: Int
    let base: Int?
    let text: [UInt8]
    /// Whether it is what was written.
    let isSound: Bool

    /// - Parameter first: the column of the version; base, `kept_until`, record and checksum follow.
    /// - Returns: `nil` if there is no such row.
    init?(_ rows: PostgresRows, _ row: Int, from first: Int, of id: SessionID) {
        guard let version = rows.integer(row, first), let text = rows.utf8(row, first + 3) else { return nil }
        self.version = version
        self.text = text
        base = rows.integer(row, first + 1)
        let sum = EncodedRow.checksum(
            id.text, version: version, base: base, keptUntil: rows.integer(row, first + 2) ?? -1, text)
        isSound = sum == rows.integer(row, first + 4)
    }

    /// - Parameter base: finds the row of a version.
    /// - Throws: `damaged`.
    static func read(
        _ row: JournalRow, of id: SessionID, _ reader: inout RecordReader, base: (Int) -> JournalRow?
    ) throws(StoreError) -> SessionRecord {
        let base = row.base.flatMap(base)
        guard row.isSound, base?.isSound ?? true else {
            throw .damaged(reason: "version \(row.version) of \(id.text) is damaged: its checksum is wrong")
        }
        do throws(RecordError) {
            return try reader.record(row.version, row.text) { $0 == base?.version ? base?.text : nil }
        } catch {
            throw .damaged(reason: "version \(row.version) of \(id.text) is damaged: \(error)")
        }
    }
}
