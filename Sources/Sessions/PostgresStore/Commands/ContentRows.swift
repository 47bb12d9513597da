internal import Postgres
internal import Sessions

/// Everything that is kept of sessions, from one query and so of one moment.
struct ContentRows {
    private let rows: PostgresRows
    /// The rows of each session.
    private var places: [String: [Int]] = [:]

    /// The versions of each session newest first, then its answers, oldest first. What an ended session had before its
    /// end is left out, even if it is not pruned yet.
    static let statement = PostgresStatement(
        "contents",
        """
        WITH s AS (
          SELECT s.*, s.oldest > 1 AND s.oldest = s.version AS is_over
          FROM unnest($1::text[]) AS w(id) JOIN sessions s ON s.id = w.id)
        SELECT s.id, s.stamp, s.version, j.version, j.base, j.kept_until, j.record, j.checksum, NULL::text,
          -j.version AS place
        FROM s JOIN journal j ON j.session = s.id AND j.version >= s.oldest AND j.version <= s.version
        UNION ALL
        SELECT s.id, s.stamp, s.version, NULL::bigint, NULL::bigint, NULL::bigint, a.answer, a.checksum, a.key, a.stamp
        FROM s JOIN answers a ON a.session = s.id AND NOT (s.is_over AND a.stamp < s.stamp)
        ORDER BY 1, 10
        """)

    init(_ rows: PostgresRows) {
        self.rows = rows
        for row in rows.indices { if let id = rows.text(row, 0) { places[id, default: []].append(row) } }
    }

    /// - Returns: `nil` if there is no such session.
    /// - Throws: `damaged`.
    func session(_ id: SessionID, generation: Int) throws(StoreError) -> StoredSession? {
        guard let places = places[id.text], let first = places.first, let commits = rows.integer(first, 1),
            let last = rows.integer(first, 2)
        else { return nil }
        return StoredSession(
            id: id, stamp: SessionStamp(version: last, commits: commits, generation: generation),
            versions: try versions(places, upTo: last, of: id), answers: try answers(places, of: id))
    }

    private func versions(_ places: [Int], upTo last: Int, of id: SessionID) throws(StoreError) -> [SessionRecord] {
        var journal: [Int: JournalRow] = [:]
        for row in places where rows.text(row, 8) == nil {
            if let one = try JournalRow(rows, row, from: 3, of: id) { journal[one.version] = one }
        }
        var found = FoundRecords(of: id)
        found.bases = journal.mapValues(\.text)
        while let row = journal[last - found.wanted.count] {
            // A base version that was pruned is no damage: then this version is no longer kept either.
            if !found.wanted.isEmpty, let base = row.base, journal[base] == nil { break }
            found.wanted.append((row.version, row.text))
        }
        guard !found.wanted.isEmpty else { throw .damaged(reason: "version \(last) of \(id.text) is missing") }
        return try found.records().reversed()
    }

    private func answers(_ places: [Int], of id: SessionID) throws(StoreError) -> [StoredAnswer] {
        var answers: [StoredAnswer] = []
        for row in places {
            guard let key = rows.text(row, 8) else { continue }
            let text = rows.utf8(row, 6) ?? []
            answers.append(try StoredAnswer(text, checksum: rows.integer(row, 7), to: key, of: id))
        }
        return answers
    }
}
