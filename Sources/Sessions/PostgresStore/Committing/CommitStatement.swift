internal import ByteText
internal import Postgres
internal import Sessions

/// The one statement that commits a batch, which is one transaction.
///
/// It makes the changes whose expected stamp is the stored one, and skips sessions that another transaction has locked.
/// It also writes the batch's row, which shows later that the batch was committed.
enum CommitStatement {
    static let statement = PostgresStatement(
        "commit",
        """
        WITH c AS (
          SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
            $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
            $20::bigint[], $21::bigint[])
            AS t(id, stamp, version, base, kept_until, oldest, tokens, account, origin, record, checksum, key, answer,
              size, answer_checksum, timer, replica)
          WHERE (SELECT value FROM store WHERE name = 'generation') = $18::text
            AND (SELECT value FROM store WHERE name = 'secret') = $19::text),
        n AS (
          INSERT INTO sessions (id, stamp, version, oldest, due, tokens, account, origin, timer, replica)
          SELECT id, 1, version, coalesce(oldest, 1), kept_until, coalesce(tokens, '{}')::bytea[], nullif(account, ''), origin,
            timer, replica
          FROM c WHERE stamp = 0 ON CONFLICT (id) DO NOTHING RETURNING id),
        l AS MATERIALIZED (
          SELECT c.* FROM c JOIN sessions s ON s.id = c.id AND s.stamp = c.stamp FOR NO KEY UPDATE OF s SKIP LOCKED),
        u AS (
          UPDATE sessions s SET stamp = l.stamp + 1, version = l.version, oldest = coalesce(l.oldest, s.oldest),
            due = least(s.due, l.kept_until), tokens = coalesce(l.tokens::bytea[], s.tokens),
            account = CASE WHEN l.account IS NULL THEN s.account ELSE nullif(l.account, '') END,
            timer = CASE WHEN l.record IS NULL THEN s.timer ELSE l.timer END,
            replica = CASE WHEN l.record IS NULL THEN s.replica ELSE l.replica END
          FROM l WHERE s.id = l.id),
        w AS (SELECT * FROM l UNION ALL SELECT c.* FROM c JOIN n USING (id)),
        j AS (
          INSERT INTO journal (session, version, base, kept_until, record, checksum)
          SELECT id, version, base, kept_until, record, checksum FROM w WHERE record IS NOT NULL),
        k AS (
          INSERT INTO answers (session, key, stamp, answer, size, checksum)
          SELECT id, key, stamp + 1, answer, size, answer_checksum FROM w WHERE key IS NOT NULL
          ON CONFLICT (session, key) DO UPDATE SET stamp = excluded.stamp, answer = excluded.answer,
            size = excluded.size, checksum = excluded.checksum),
        b AS (
          INSERT INTO batches (lane, n, changed)
          SELECT $16::bigint, $17::bigint, coalesce(array_agg(id || ' ' || version), '{}') FROM w)
        SELECT coalesce((SELECT array_agg(id) FROM w), '{}'), (SELECT value FROM store WHERE name = 'generation')
        """)

    /// The digests of a session's tokens as the text of an array.
    static func tokens(_ row: JournalRow?) -> String? {
        row?.label?.tokens.map { "{\($0.words.map { "\"\\\\x\($0)\"" }.joined(separator: ","))}" }
    }

    /// Who is signed in: empty for nobody, and `nil` if the record does not say.
    static func account(_ row: JournalRow?) -> String? {
        row?.label.flatMap { $0.tokens == nil ? nil : $0.user ?? "" }
    }

    /// - Parameter items: at most one for each session.
    static func values(
        _ items: [CommitItem], lane: Int, n: Int, generation: Int, _ state: StoreState
    ) -> [PostgresValue] {
        let changes = items.map(\.change)
        let replica = state.replica
        return [
            .texts(changes.map(\.id.text)), .integers(changes.map(\.expected.commits)),
            .integers(changes.map(\.version)), .integers(changes.map(\.record?.base)),
            .integers(changes.map(\.record?.keptUntil)), .integers(changes.map { $0.isEnd ? $0.version : nil }),
            .texts(changes.map { tokens($0.record) }), .texts(changes.map { account($0.record) }),
            .texts(changes.map(\.record?.label?.origin)), .utf8s(changes.map(\.record?.text)),
            .integers(changes.map(\.record?.checksum)), .texts(changes.map(\.answer?.label?.key)),
            .utf8s(changes.map(\.answer?.text)), .integers(changes.map(\.answer?.text.count)),
            .integers(changes.map(\.answer?.checksum)), .integer(lane),
            .integer(n), .text("\(generation)"), .text(state.secret), .integers(changes.map(\.record?.label?.timer)),
            .integers(changes.map { $0.record?.label?.hasEffects == true ? replica : nil }),
        ]
    }

    /// Is refused if every commit is, and otherwise changes nothing.
    static let trial = statement.explanation

    /// The row that a batch has left, if it was committed.
    static let changed = PostgresStatement("changed", "SELECT changed FROM batches WHERE lane = $1 AND n = $2")

    /// The constraint that a batch violates if it is committed already.
    static let uniqueness = "batches_pkey"

    /// - Returns: the id and the version of an element of `changed`; `nil` if it has another form.
    static func parse(_ changed: String) -> (id: SessionID, version: Int)? {
        let parts = changed.parts(at: " ")
        guard parts.count == 2, let id = SessionID(String(parts[0])), let version = Int(parts[1]) else { return nil }
        return (id, version)
    }
}

extension EncodedChange {
    /// The version that the session has afterwards.
    var version: Int { record?.version ?? expected.version }

    var isCreation: Bool { expected.commits == 0 }

    /// Nothing can be created without a record.
    var isPossible: Bool { !isCreation || record != nil }

    /// About how many bytes are sent for it.
    var size: Int { 200 + (record?.text.count ?? 0) + (answer?.text.count ?? 0) }

    /// The number of the session's commits afterwards.
    var commits: Int { expected.commits + 1 }
}
