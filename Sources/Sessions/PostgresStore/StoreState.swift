internal import Postgres
internal import Sessions
internal import Sodium
internal import Synchronization

/// What the store's connections share: the generation, the secret, and the lanes.
final class StoreState: Sendable {
    /// A lane, and the last of its batches that was acknowledged.
    struct Lane: Sendable {
        var id: Int
        var settled = 0
        /// The generation in which it was acknowledged.
        var generation = 0
    }

    private struct Content {
        var lanes: [Lane] = []
        /// The store's secret as the database has it.
        var secret = ""
        var changedGenerationAt: ContinuousClock.Instant?
    }

    /// This replica's number in the table `replicas`.
    let replica = Int.random(in: 1...Int.max)
    /// Whether nothing is accepted while the server may lose what it acknowledges.
    let isStrict: Bool
    let limits: TimeLimits
    private let content = Mutex(Content())
    private let knownGeneration = Atomic(1)
    private let isSecretOld = Atomic(false)
    /// The latest timeline of a server that this replica has been connected to; 0 if none is known.
    let latestTimeline = Atomic(0)
    /// Receives what an operator should know, and whether it is critical.
    let report: @Sendable (String, Bool) -> Void
    let counters = Mutex(PostgresStoreCounters())
    let measures = StoreMeasures()

    init(
        isStrict: Bool, _ limits: TimeLimits = .standard, report: @escaping @Sendable (String, Bool) -> Void
    ) {
        self.isStrict = isStrict
        self.limits = limits
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

    /// The generation and the secret when the store is opened, which is no change.
    func begin(generation: Int, secret: [UInt8]) {
        knownGeneration.store(generation, ordering: .releasing)
        content.withLock { $0.secret = Hexadecimal.text(of: secret) }
    }

    // MARK: - The secret

    /// As the database has it. Every commit states it: the secret may be replaced while this replica is frozen and
    /// counts as gone.
    var secret: String { content.withLock { $0.secret } }

    /// Whether the secret was replaced. What this replica derives from the old one is of no use any more.
    var hasOldSecret: Bool { isSecretOld.load(ordering: .acquiring) }

    /// Notes the secret that the database has.
    func note(secret: String) {
        guard secret != self.secret, !isSecretOld.exchange(true, ordering: .acquiringAndReleasing) else { return }
        report("\(StoreState.oldSecret): nothing can be committed until this server is restarted", true)
    }

    static let oldSecret = "the store's secret was replaced"

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

    /// Checks whether the database may have lost acknowledged commits. Then a new generation begins, and no server
    /// trusts a copy from before. Every connection begins with this check, so nothing is read or committed before it.
    ///
    /// A promoted standby may have been behind, and perhaps no server is left that knows what is missing, so each
    /// promotion counts as a loss. On the same timeline, a lane whose last batch is missing proves one.
    ///
    /// - Parameter timeline: see `acceptedTimeline`.
    func check(_ connection: PostgresConnection, on timeline: String?) throws(PostgresError) {
        // Before the database is asked, because the lanes go on.
        let lanes = lanes
        if try raiseGenerationIfPromoted(connection, on: timeline) {
            report("the database has another timeline: a standby was promoted", false)
        }
        let rows = try connection.run(
            StoreState.lastBatches, [.integers(lanes.map(\.id))], until: checkDeadline)
        guard let stored = rows.text(0, 0).flatMap({ Int($0) }) else { return }
        var last: [Int: Int] = [:]
        for row in rows.indices { if let lane = rows.integer(row, 1) { last[lane] = rows.integer(row, 2) } }
        let missing = lanes.filter { $0.settled > last[$0.id, default: 0] }
        guard missing.contains(where: { $0.generation >= stored }) || lanes.contains(where: { $0.generation > stored })
        else {
            // The generation is later already: another server has noticed the loss.
            reportLoss(of: missing, last)
            return note(generation: stored)
        }
        let next = max(stored, lanes.map(\.generation).max() ?? 0) + 1
        let raised = try connection.run(
            StoreState.raise, [.text("\(stored)"), .text("\(next)")], until: checkDeadline)
        // Another server may have been faster.
        guard raised.count > 0 else { return try check(connection, on: timeline) }
        reportLoss(of: missing, last)
        note(generation: next)
    }

    /// When a check of a connection that begins now must have its answer.
    var checkDeadline: ContinuousClock.Instant { .now + .seconds(2) + limits.extra }

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
    /// Changes whose session had changed meanwhile, or was locked.
    public var conflicts = 0
    /// Attempts to send a batch again.
    public var retries = 0
    /// Batches of which it was unknown for a while whether they were committed.
    public var unknownOutcomes = 0
    /// Connections that were found lost when they were used, and attempts to make one that failed. An idle one is found
    /// when it is used again.
    public var lostConnections = 0
    /// Changes that wait to be sent.
    public var waiting = 0
}
