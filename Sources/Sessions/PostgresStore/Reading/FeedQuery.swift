// The feed: what all servers have committed. It is the table `batches`, a row for each batch of a lane:
//
//     lane  n   changed                                    at
//     17    42  {"s_4fGk0Zb81qXy2 8","s_9aQe7Lm20cRt5 3"}  2025-11-30 12:00:00.104+00
//
// `n` counts the lane's batches from 1 on; `changed` has the id of each changed session and its version after that.

internal import Postgres
internal import Sessions

/// Reads what all lanes have committed.
///
/// A lane sends a batch only after the one before it is decided. So if a batch is visible, all earlier ones of its lane
/// are, and reading on after the last known number of each lane misses nothing. A lane is registered before its first
/// batch.
enum FeedQuery {
    /// How long batches are kept.
    static let keptTime = Duration.seconds(60)

    private static let statement = PostgresStatement(
        "feed",
        """
        WITH p AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS p(lane, n)),
        a AS (
          SELECT lane, n FROM p
          UNION ALL
          SELECT x.lane, 0 FROM replicas r, unnest(r.lanes) AS x(lane) WHERE NOT EXISTS (SELECT FROM p WHERE p.lane = x.lane))
        SELECT a.lane, b.n, b.changed
        FROM a, LATERAL (SELECT * FROM batches b WHERE b.lane = a.lane AND b.n > a.n ORDER BY b.n LIMIT 10000) b
        ORDER BY a.lane, b.n
        """)

    private static let positions = PostgresStatement(
        "feed-positions",
        """
        SELECT x.lane, coalesce((SELECT max(n) FROM batches b WHERE b.lane = x.lane), 0)
        FROM replicas r, unnest(r.lanes) AS x(lane)
        """)

    private static let generation = PostgresStatement(
        "feed-generation", "SELECT value FROM store WHERE name = 'generation'")

    static func changes(
        since position: FeedPosition?, _ state: StoreState, _ link: DatabaseLink
    ) throws(PostgresError) -> StoreChanges {
        // Before the queries: what they read is not older than this.
        let now = ContinuousClock.now
        let generation = try link.run(generation, within: Reader.time)
        if let text = generation.text(0, 0), let number = Int(text) { state.note(generation: number) }
        guard let position, now - position.time < keptTime / 2,
            state.changedGenerationAt.map({ $0 < position.time }) ?? true,
            let changes = try next(position, now, state, link)
        else { return try beginning(now, link) }
        return changes
    }

    private static func beginning(
        _ now: ContinuousClock.Instant, _ link: DatabaseLink
    ) throws(PostgresError) -> StoreChanges {
        let rows = try link.run(positions, within: Reader.time)
        var lanes: [Int: Int] = [:]
        for row in rows.indices { if let lane = rows.integer(row, 0) { lanes[lane] = rows.integer(row, 1) } }
        return StoreChanges(versions: [:], isComplete: false, position: FeedPosition(lanes: lanes, time: now))
    }

    /// - Returns: `nil` if a batch is missing.
    private static func next(
        _ position: FeedPosition, _ now: ContinuousClock.Instant, _ state: StoreState, _ link: DatabaseLink
    ) throws(PostgresError) -> StoreChanges? {
        let known = Array(position.lanes)
        let rows = try link.run(
            statement, [.integers(known.map(\.key)), .integers(known.map(\.value))], within: Reader.time)
        var position = position
        position.time = now
        var versions: [SessionID: Int] = [:]
        for row in rows.indices {
            guard let lane = rows.integer(row, 0), let n = rows.integer(row, 1),
                n == position.lanes[lane, default: 0] + 1
            else { return nil }
            position.lanes[lane] = n
            for (id, version) in (rows.texts(row, 2) ?? []).compactMap(CommitStatement.parse) {
                versions[id] = max(version, versions[id, default: 0])
            }
        }
        return StoreChanges(versions: versions, isComplete: true, position: position)
    }
}
