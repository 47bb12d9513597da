internal import FoundationEssentials
internal import Postgres
internal import Sodium
public import Sessions

/// Puts whole sessions into a database, many in a statement. Servers may be using it.
///
/// Used by one thread at a time, which it blocks.
public final class PostgresInsertion {
    private let connection: PostgresConnection

    /// How long a statement may take.
    private static let time = Duration.seconds(120)

    /// Connects to a database, and creates the tables if there are none.
    public init(uri: String, password: String? = nil) throws(PostgresStoreError) {
        let settings = try StoreOpening.settings(uri, password)
        _ = try StoreOpening.values(settings)
        connection = try StoreOpening.connect(settings)
    }

    /// Gives the store its secret. That is possible while it has no sessions and no server runs on it: what a server
    /// derives from the secret must not change.
    ///
    /// - Returns: `false` if the store keeps another secret.
    public func adopt(secret: [UInt8]) throws(PostgresStoreError) -> Bool {
        try run(PostgresInsertion.adoption, [.text(Hexadecimal.text(of: secret))]).count > 0
    }

    /// Inserts sessions, each whole or not at all.
    ///
    /// - Returns: those that exist already, and stay as they are.
    public func insert(_ sessions: [StoredSession]) throws(PostgresStoreError) -> Set<SessionID> {
        let rows = try run(PostgresInsertion.insertion, InsertedRows(sessions).values)
        return Set(sessions.map(\.id)).subtracting(PastQueries.ids(rows))
    }

    private func run(
        _ statement: PostgresStatement, _ values: [PostgresValue]
    ) throws(PostgresStoreError) -> PostgresRows {
        do throws(PostgresError) {
            return try connection.run(statement, values, until: .now + PostgresInsertion.time)
        } catch {
            throw PostgresStoreError(error)
        }
    }

    /// A server that was killed counts for 20 seconds.
    private static let adoption = PostgresStatement(
        "adopt",
        """
        UPDATE store SET value = $1 WHERE name = 'secret' AND (value = $1
          OR (NOT EXISTS (SELECT FROM sessions)
            AND NOT EXISTS (SELECT FROM replicas WHERE seen > clock_timestamp() - interval '20 seconds')))
        RETURNING name
        """)

    private static let insertion = PostgresStatement(
        "insert",
        """
        WITH n AS (
          INSERT INTO sessions (id, stamp, version, oldest, due, tokens, account, origin)
          SELECT id, stamp, version, oldest, due, tokens::bytea[], nullif(account, ''), origin
          FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[])
            AS t(id, stamp, version, oldest, due, tokens, account, origin)
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
    private struct Head {
        let change: EncodedChange
        let commits: Int
        let due: Int
    }

    private var heads: [Head] = []
    private var records: [(session: String, version: Int, row: EncodedRow)] = []
    private var answers: [(session: String, stamp: Int, row: EncodedAnswer)] = []

    init(_ sessions: [StoredSession]) {
        for session in sessions { append(session) }
    }

    /// Each answer counts as a commit after the last version. Those of an ended session count as if they came with its
    /// end: earlier ones are not kept.
    private mutating func append(_ session: StoredSession) {
        guard let last = session.versions.last else { return }
        let change = EncodedChange(SessionChange(id: session.id, expected: .none, record: last.encoded))
        let commits = last.version + (last.isEnd ? 0 : session.answers.count)
        for record in session.versions {
            records.append((session.id.text, record.version, EncodedRow(record.encoded)))
        }
        heads.append(Head(change: change, commits: commits, due: records[records.count - 1].row.keptUntil))
        for (index, answer) in session.answers.enumerated() {
            answers.append((session.id.text, last.version + 1 + index, EncodedAnswer(answer)))
        }
    }

    var values: [PostgresValue] {
        let changes = heads.map(\.change)
        return [
            .texts(changes.map(\.id.text)), .integers(heads.map(\.commits)), .integers(changes.map(\.version)),
            .integers(changes.map { $0.isEnd ? $0.version : 1 }), .integers(heads.map(\.due)),
            .texts(changes.map { $0.tokens ?? "{}" }), .texts(changes.map(\.account)), .texts(changes.map(\.origin)),

            .texts(records.map(\.session)), .integers(records.map(\.version)), .integers(records.map(\.row.keptUntil)),
            .utf8s(records.map(\.row.text)), .integers(records.map(\.row.checksum)),

            .texts(answers.map(\.session)), .texts(answers.map(\.row.key)), .integers(answers.map(\.stamp)),
            .utf8s(answers.map(\.row.text)), .integers(answers.map(\.row.size)),
            .integers(answers.map(\.row.checksum)),
        ]
    }
}
