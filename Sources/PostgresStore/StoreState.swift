internal import Postgres
internal import Sessions
internal import Synchronization

/// What the store's parts know together.
final class StoreState: Sendable {
    /// A lane, and the last of its batches that was acknowledged.
    struct Lane: Sendable {
        var id: Int
        var settled = 0
        /// The generation in which that was.
        var generation = 0
    }

    private struct Content {
        var lanes: [Lane] = []
        var changedGenerationAt: ContinuousClock.Instant?
    }

    /// Whether nothing is accepted while the server may lose what it acknowledges.
    let isStrict: Bool
    private let content = Mutex(Content())
    private let knownGeneration = Atomic(1)
    /// The latest timeline of a server that this replica has been connected to; 0 if none is known.
    private let timeline = Atomic(0)
    /// Receives what an operator should know, and whether it is critical.
    let report: @Sendable (String, Bool) -> Void
    let counters = Mutex(PostgresStoreCounters())
    let measures = StoreMeasures()

    init(isStrict: Bool, report: @escaping @Sendable (String, Bool) -> Void) {
        self.isStrict = isStrict
        self.report = report
    }

    func count(_ body: (inout PostgresStoreCounters) -> Void) { counters.withLock { body(&$0) } }

    // MARK: - Generations

    var generation: Int { knownGeneration.load(ordering: .acquiring) }

    /// When this replica has noticed the last change of the generation.
    var changedGenerationAt: ContinuousClock.Instant? { content.withLock { $0.changedGenerationAt } }

    /// Notes the generation that the database has. It never goes back.
    func note(generation: Int) {
        guard generation > self.generation else { return }
        content.withLock { content in
            guard generation > self.generation else { return }
            content.changedGenerationAt = .now
            knownGeneration.store(generation, ordering: .releasing)
        }
    }

    /// The generation when the store is opened, which is no change.
    func begin(generation: Int) { knownGeneration.store(generation, ordering: .releasing) }

    // MARK: - Timelines

    /// Asks all servers that can be reached for their timelines, before one of them is used.
    func noteTimelines(of settings: PostgresSettings) {
        _ = try? PostgresConnection.connect(settings, within: DatabaseLink.connectTime) {
            connection throws(PostgresError) in
            try checkTimeline(connection)
            throw .notSent(reason: "only asked")
        }
    }

    /// Refuses a server that was the primary before another one was promoted, and that has come back: it lacks all that was
    /// committed since.
    func checkTimeline(_ connection: PostgresConnection) throws(PostgresError) {
        guard let current = try StoreState.timeline(of: connection).flatMap({ Int($0, radix: 16) }) else { return }
        let latest = timeline.max(current, ordering: .acquiringAndReleasing).newValue
        guard current >= latest else {
            throw .notSent(
                reason: "it was the primary before another server was promoted (timeline \(current) of \(latest))")
        }
    }

    /// - Returns: 8 hexadecimal digits; `nil` for PostgreSQL's relatives, which have no timelines.
    private static func timeline(of connection: PostgresConnection) throws(PostgresError) -> String? {
        do throws(PostgresError) {
            return try connection.run(StoreState.timeline, until: .now + .seconds(2)).text(0, 0)
        } catch {
            if case .refused(let state, _, _) = error, state == "42883" || state == "0A000" { return nil }
            throw error
        }
    }

    // MARK: - Lanes

    var lanes: [Lane] { content.withLock { $0.lanes } }

    func setLanes(_ ids: [Int]) { content.withLock { $0.lanes = ids.map { Lane(id: $0) } } }

    func lane(_ index: Int) -> Lane { content.withLock { $0.lanes[index] } }

    /// A batch was acknowledged by the database.
    func settle(_ n: Int, of index: Int, generation: Int) {
        content.withLock { content in
            content.lanes[index].settled = n
            content.lanes[index].generation = generation
        }
    }

    // MARK: - A lost log

    /// Looks whether the database may have lost something that was acknowledged: then a new generation begins, and
    /// nobody believes a copy of before. Every connection begins with this, so nothing is read or committed before.
    ///
    /// A standby that was promoted may have been behind; nobody may be left who knows what is missing, so each promotion
    /// counts. On the same timeline, a lane that misses its last batch knows of a loss.
    func check(_ connection: PostgresConnection) throws(PostgresError) {
        // Before the database is asked, because the lanes go on.
        let lanes = lanes
        if try isPromoted(connection) { report("the database has another timeline: a standby was promoted", false) }
        let rows = try connection.run(
            StoreState.lastBatches, [.integers(lanes.map(\.id))], until: .now + .seconds(2))
        guard let stored = rows.text(0, 0).flatMap({ Int($0) }) else { return }
        var last: [Int: Int] = [:]
        for row in rows.indices { if let lane = rows.integer(row, 1) { last[lane] = rows.integer(row, 2) } }
        let missing = lanes.filter { $0.settled > last[$0.id, default: 0] }
        guard missing.contains(where: { $0.generation >= stored }) || lanes.contains(where: { $0.generation > stored })
        else {
            // In a later generation somebody has noticed already.
            reportLoss(of: missing, last)
            return note(generation: stored)
        }
        let next = max(stored, lanes.map(\.generation).max() ?? 0) + 1
        let raised = try connection.run(
            StoreState.raise, [.text("\(stored)"), .text("\(next)")], until: .now + .seconds(2))
        // Unless somebody else was faster.
        guard raised.count > 0 else { return try check(connection) }
        reportLoss(of: missing, last)
        note(generation: next)
    }

    private func reportLoss(of missing: [Lane], _ last: [Int: Int]) {
        guard !missing.isEmpty else { return }
        let isNews = content.withLock { content in
            var isNews = false
            for lane in missing {
                guard let index = content.lanes.firstIndex(where: { $0.id == lane.id && $0.settled == lane.settled })
                else { continue }
                content.lanes[index].settled = last[lane.id, default: 0]
                isNews = true
            }
            return isNews
        }
        guard isNews else { return }
        let counts = missing.map { "\($0.settled - last[$0.id, default: 0])" }.joined(separator: " and ")
        report(
            """
            the database has lost commits that it had acknowledged: \(counts) batches of this server's lanes are \
            missing. A new generation begins; clients get the state that the database has
            """, true)
    }

    /// Whether a standby was promoted since anybody has looked. Then the generation is raised, once for all servers.
    private func isPromoted(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard let current = try StoreState.timeline(of: connection),
            let known = try connection.run(StoreState.knownTimeline, until: .now + .seconds(2)).text(0, 0),
            known != current
        else { return false }
        let raised = try connection.run(StoreState.follow, [.text(known), .text(current)], until: .now + .seconds(2))
        // In a new store there is nothing to lose.
        return raised.count > 0 && known != "0"
    }

    private static let timeline = PostgresStatement(
        "timeline", "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")

    private static let knownTimeline = PostgresStatement(
        "known-timeline", "SELECT value FROM store WHERE name = 'timeline'")

    private static let follow = PostgresStatement(
        "follow-timeline",
        """
        WITH t AS (UPDATE store SET value = $2 WHERE name = 'timeline' AND value = $1 RETURNING name),
        -- Two standbys that are promoted one after the other, of which the second knows nothing of the first, must not
        -- arrive at the same number.
        g AS (
          UPDATE store SET value = (value::bigint + 1 + floor(random() * 1000000)::bigint)::text
          WHERE name = 'generation' AND $1 <> '0' AND EXISTS (SELECT FROM t))
        SELECT name FROM t
        """)

    private static let lastBatches = PostgresStatement(
        "last-batches",
        """
        SELECT s.value, l.lane, (SELECT max(n) FROM batches b WHERE b.lane = l.lane)
        FROM store s LEFT JOIN unnest($1::bigint[]) AS l(lane) ON true WHERE s.name = 'generation'
        """)

    private static let raise = PostgresStatement(
        "raise", "UPDATE store SET value = $2 WHERE name = 'generation' AND value = $1 RETURNING value")
}

/// What the store has counted since it was opened, and its last measurements.
public struct PostgresStoreCounters: Sendable, Equatable {
    /// Batches that were committed, and the changes in them.
    public var batches = 0
    public var changes = 0
    /// Changes whose session was another one meanwhile, or was locked.
    public var conflicts = 0
    /// Batches that were sent again.
    public var retries = 0
    /// Batches of which it was unknown for a while whether they were committed.
    public var unknownOutcomes = 0
    /// Connections that were lost or could not be made.
    public var lostConnections = 0
    /// Changes that wait to be sent.
    public var waiting = 0
    /// Seconds from a commit until this replica had read of it, in the last look at the feed that found any.
    public var feedLag: Double = 0
    /// See `SessionStore.clockOffset`.
    public var clockOffset: Double = 0
}
