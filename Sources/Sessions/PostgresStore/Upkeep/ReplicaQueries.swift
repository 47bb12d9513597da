internal import Postgres
internal import Sodium

/// What a replica writes about itself, and deletes of others.
enum ReplicaQueries {
    private static let numbers = PostgresStatement(
        "lanes", "UPDATE store SET value = (value::bigint + $1)::text WHERE name = 'lanes' RETURNING value")

    private static let registration = PostgresStatement(
        "register",
        """
        INSERT INTO replicas (id, lanes) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET lanes = excluded.lanes, seen = clock_timestamp()
        """)

    /// Whether a replica is there. One that was killed, or is frozen, counts as there for a while.
    ///
    /// - Parameter row: the name of the row in the table `replicas`.
    static func isAlive(_ row: String) -> String { "\(row).seen > clock_timestamp() - interval '20 seconds'" }

    private static let presence = PostgresStatement(
        "seen", "UPDATE replicas SET seen = clock_timestamp() WHERE id = $1 RETURNING id")

    /// Batches stay for the replicas that follow the feed; the last one of each lane stays as long as its replica may
    /// live, because a replica that does not find it concludes that the log was lost.
    private static let batches = PostgresStatement(
        "prune-batches",
        """
        DELETE FROM batches b USING (
          SELECT lane, n FROM batches WHERE at < clock_timestamp() - interval '60 seconds' ORDER BY at LIMIT 20000) o
        WHERE b.lane = o.lane AND b.n = o.n AND (
          EXISTS (SELECT FROM batches l WHERE l.lane = b.lane AND l.n > b.n)
          OR NOT EXISTS (SELECT FROM replicas r WHERE b.lane = ANY (r.lanes)))
        """)

    private static let replicas = PostgresStatement(
        "prune-replicas", "DELETE FROM replicas WHERE seen < clock_timestamp() - interval '1 day'")

    /// Numbers that no lane has had. They grow; the lower half is random, so that they stay unique even if the database
    /// loses the last ones that it gave out.
    static func newLanes(_ count: Int, _ link: DatabaseLink) throws(PostgresError) -> [Int] {
        let rows = try link.run(numbers, [.integer(count)], within: .seconds(5))
        let last = rows.text(0, 0).flatMap { Int($0) } ?? 0
        return (0..<count).map { (last - $0) << 31 | Int.random(in: 0..<1 << 31) }
    }

    static func register(_ id: Int, lanes: [Int], _ link: DatabaseLink) throws(PostgresError) {
        _ = try link.run(registration, [.integer(id), .integers(lanes)], within: .seconds(5))
    }

    /// - Returns: whether the replica is still registered.
    static func noteSeen(_ id: Int, _ link: DatabaseLink) throws(PostgresError) -> Bool {
        try link.run(presence, [.integer(id)], within: .seconds(2)).count > 0
    }

    static func prune(_ link: DatabaseLink) throws(PostgresError) {
        _ = try link.run(batches, within: .seconds(10))
        _ = try link.run(replicas, within: .seconds(10))
    }

    /// A replica that stops. Its lanes stay in the feed for two minutes.
    static func leave(_ id: Int, _ link: DatabaseLink) throws(PostgresError) {
        _ = try link.run(departure, [.integer(id)], within: .seconds(2))
    }

    private static let departure = PostgresStatement(
        "leave",
        """
        UPDATE replicas SET seen = clock_timestamp() - interval '1 day' + interval '2 minutes' WHERE id = $1
        """)

    static let time = PostgresStatement(
        "time",
        """
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, value,
          (SELECT value FROM store WHERE name = 'secret') FROM store WHERE name = 'generation'
        """)

    /// Exact up to 10,000; beyond that the server's own estimate, which a new table does not have.
    static let count = PostgresStatement(
        "count",
        """
        SELECT CASE WHEN c.n <= 10000 THEN c.n ELSE greatest(c.n, (
          SELECT reltuples::bigint FROM pg_class WHERE oid = 'sessions'::regclass)) END
        FROM (SELECT count(*) AS n FROM (SELECT FROM sessions LIMIT 10001) s) c
        """)

    static let risks = PostgresStatement(
        "risks",
        """
        SELECT name || ' = ' || setting FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
          OR name = 'synchronous_commit' AND setting IN ('local', 'remote_write')
            AND current_setting('synchronous_standby_names') <> ''
        ORDER BY name
        """)
}
