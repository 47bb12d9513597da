internal import Postgres
internal import Sessions

/// Inserts whole sessions, many in a statement. Servers may use the database meanwhile.
enum SessionInsertion {
    /// How long a statement may take.
    static let time = Duration.seconds(120)

    /// - Returns: the sessions that did not exist before.
    static func insert(_ sessions: [StoredSession], _ link: DatabaseLink) throws(PostgresError) -> [SessionID] {
        PastQueries.ids(try link.run(statement, InsertedRows(sessions).values, within: time))
    }

    private static let statement = PostgresStatement(
        "insert",
        """
        WITH n AS (
          INSERT INTO sessions (id, stamp, version, oldest, due, tokens, account, origin, timer, replica)
          SELECT id, stamp, version, oldest, due, tokens::bytea[], nullif(account, ''), origin, timer, replica
          FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
            $20::bigint[], $21::bigint[])
            AS t(id, stamp, version, oldest, due, tokens, account, origin, timer, replica)
          ON CONFLICT (id) DO NOTHING RETURNING id),
        j AS (
          INSERT INTO journal (session, version, base, kept_until, record, checksum)
          SELECT t.session, t.version, NULL, t.kept_until, t.record, t.checksum
          FROM unnest($9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[])
            AS t(session, version, kept_until, record, checksum) JOIN n ON n.id = t.session),
        k AS (
          INSERT INTO answers (session, key, stamp, answer, size, checksum)
          SELECT t.session, t.key, t.stamp, t.answer, t.size, t.checksum
          FROM unnest($14::text[], $15::text[], $16::bigint[], $17::text[], $18::bigint[], $19::bigint[])
            AS t(session, key, stamp, answer, size, checksum) JOIN n ON n.id = t.session)
        SELECT id FROM n
        """)
}

/// The rows of whole sessions, as the columns of the statement.
private struct InsertedRows {
    /// The last record of each session, and how many commits the session has had.
    private var heads: [(row: JournalRow, commits: Int)] = []
    private var records: [JournalRow] = []
    /// `bytes` is 0 for an answer whose body is not kept.
    private var answers: [(row: JournalRow, bytes: Int, stamp: Int)] = []

    init(_ sessions: [StoredSession]) {
        for session in sessions { append(session) }
    }

    /// Each answer counts as a commit after the last version. Those of an ended session count as if they came with its
    /// end: earlier ones are not kept.
    private mutating func append(_ session: StoredSession) {
        guard let last = session.versions.last else { return }
        heads.append(
            (JournalRow(last.encoded, isFirst: true), last.version + (last.isEnd ? 0 : session.answers.count)))
        records += session.versions.map { JournalRow($0.encoded, isFirst: false) }
        for (index, answer) in session.answers.enumerated() {
            let row = JournalRow(answer)
            answers.append((row, answer.body == nil ? 0 : row.text.count, last.version + 1 + index))
        }
    }

    var values: [PostgresValue] {
        let last = heads.map(\.row)
        return [
            .texts(last.map(\.session)), .integers(heads.map(\.commits)), .integers(last.map(\.version)),
            .integers(last.map { $0.kind == .end ? $0.version : 1 }), .integers(last.map(\.keptUntil)),
            .texts(last.map { CommitStatement.tokens($0) ?? "{}" }), .texts(last.map(CommitStatement.account)),
            .texts(last.map(\.label?.origin)),

            .texts(records.map(\.session)), .integers(records.map(\.version)), .integers(records.map(\.keptUntil)),
            .utf8s(records.map(\.text)), .integers(records.map(\.checksum)),

            .texts(answers.map(\.row.session)), .texts(answers.map(\.row.label?.key)),
            .integers(answers.map(\.stamp)), .utf8s(answers.map(\.row.text)), .integers(answers.map(\.bytes)),
            .integers(answers.map(\.row.checksum)),

            .integers(last.map(\.label?.timer)),
            .integers(last.map { $0.label?.hasEffects == true ? WakeQueries.nobody : nil }),
        ]
    }
}
