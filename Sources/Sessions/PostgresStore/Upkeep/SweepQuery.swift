internal import Postgres
internal import Sessions

/// Forgets sessions. Any replica may do it, also several at once: each skips what another has locked.
enum SweepQuery {
    /// `due` is moved if the last record says that the session is kept longer. If that record cannot be seen, because
    /// it was committed a moment ago, the session is looked at again in a minute.
    private static let statement = PostgresStatement(
        "sweep",
        """
        WITH d AS MATERIALIZED (
          SELECT id, version FROM sessions WHERE due <= $1 ORDER BY due LIMIT $2 FOR UPDATE SKIP LOCKED),
        k AS MATERIALIZED (
          SELECT d.id, coalesce(j.kept_until, $1 + 60000) AS kept_until
          FROM d LEFT JOIN journal j ON j.session = d.id AND j.version = d.version),
        m AS (UPDATE sessions s SET due = k.kept_until FROM k WHERE s.id = k.id AND k.kept_until > $1),
        f AS (DELETE FROM sessions s USING k WHERE s.id = k.id AND k.kept_until <= $1 RETURNING s.id),
        j AS (DELETE FROM journal j USING f WHERE j.session = f.id),
        a AS (DELETE FROM answers a USING f WHERE a.session = f.id)
        SELECT coalesce((SELECT array_agg(id) FROM f), '{}'), (SELECT count(*) FROM d)
        """)

    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: how many sessions were examined, and those that are forgotten.
    static func sweep(
        at now: Int, limit: Int, _ link: DatabaseLink
    ) throws(PostgresError) -> (examined: Int, forgotten: [SessionID]) {
        let rows = try link.run(statement, [.integer(now), .integer(limit)], within: .seconds(10))
        return (rows.integer(0, 1) ?? 0, (rows.texts(0, 0) ?? []).compactMap { SessionID($0) })
    }

    static let size = 100

    /// Forgets a session, whatever its records say.
    static let forgetting = PostgresStatement(
        "forget",
        """
        WITH f AS (DELETE FROM sessions WHERE id = $1 RETURNING id), j AS (DELETE FROM journal WHERE session = $1),
        a AS (DELETE FROM answers WHERE session = $1)
        SELECT count(*) FROM f
        """)
}
