internal import FoundationEssentials
internal import Postgres
internal import Sessions

/// Sessions that must wake: those whose timer is due, and those with effects under way.
enum WakeQueries {
    static let due = PostgresStatement(
        "due-timers", "SELECT id, timer FROM sessions WHERE timer <= $1 ORDER BY timer LIMIT $2")

    /// - Parameter now: in milliseconds since 1970.
    static func dueTimers(at now: Int, limit: Int, _ link: DatabaseLink) throws(PostgresError) -> [DueTimer] {
        let rows = try link.run(due, [.integer(now), .integer(limit)], within: Reader.time)
        return rows.indices.compactMap { row in
            guard let id = rows.text(row, 0).flatMap(SessionID.init), let due = rows.integer(row, 1) else { return nil }
            return DueTimer(id, due: Date(milliseconds: due))
        }
    }

    private static let postponement = PostgresStatement(
        "postpone",
        """
        UPDATE sessions s SET timer = $3 FROM unnest($1::text[], $2::bigint[]) AS t(id, due)
        WHERE s.id = t.id AND s.timer = t.due
        """)

    /// - Parameter time: in milliseconds since 1970.
    static func postpone(_ timers: [DueTimer], until time: Int?, _ link: DatabaseLink) throws(PostgresError) {
        let values: [PostgresValue] = [
            .texts(timers.map(\.session.text)), .integers(timers.map(\.due.milliseconds)), .integer(time),
        ]
        _ = try link.run(postponement, values, within: .seconds(5))
    }

    /// The replica's own sessions, and those of replicas that are gone, which become its own. `found` are all replicas
    /// with such sessions, each found by one step in the index.
    static let performing = PostgresStatement(
        "sessions-with-effects",
        """
        WITH RECURSIVE found AS (
          SELECT min(replica) AS id FROM sessions WHERE replica IS NOT NULL
          UNION ALL
          SELECT (SELECT min(s.replica) FROM sessions s WHERE s.replica > f.id) FROM found f WHERE f.id IS NOT NULL),
        gone AS (
          SELECT f.id FROM found f WHERE f.id <> $1
            AND NOT EXISTS (SELECT FROM replicas r WHERE r.id = f.id AND \(ReplicaQueries.isAlive("r")))),
        taken AS MATERIALIZED (
          SELECT s.id FROM gone g CROSS JOIN LATERAL (
            SELECT o.id FROM sessions o WHERE o.replica = g.id AND o.id > $2 ORDER BY o.id LIMIT $3
            FOR NO KEY UPDATE SKIP LOCKED) s),
        u AS (UPDATE sessions s SET replica = $1 FROM taken t WHERE s.id = t.id),
        own AS (SELECT id FROM sessions WHERE replica = $1 AND id > $2 ORDER BY id LIMIT $3)
        SELECT id FROM (SELECT id FROM own UNION ALL SELECT id FROM taken) x ORDER BY id LIMIT $3
        """)

    /// If the answer is lost, the same call returns what the first one has taken over, too.
    static func sessionsWithEffects(
        of replica: Int, after last: SessionID?, limit: Int, _ link: DatabaseLink
    ) throws(PostgresError) -> [SessionID] {
        let values: [PostgresValue] = [.integer(replica), .text(last?.text ?? ""), .integer(limit)]
        return PastQueries.ids(try link.run(performing, values, within: .seconds(5)))
    }

    private static let leaving = PostgresStatement(
        "leave-effects",
        "UPDATE sessions SET replica = \(nobody) WHERE id = ANY ($1::text[]) AND replica = $2")

    static func leaveEffects(
        of sessions: [SessionID], from replica: Int, _ link: DatabaseLink
    ) throws(PostgresError) {
        _ = try link.run(leaving, [.texts(sessions.map(\.text)), .integer(replica)], within: .seconds(5))
    }

    /// Stands for a replica that is gone: of sessions that are inserted, nobody performs the effects yet.
    static let nobody = 0
}
