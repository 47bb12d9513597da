internal import Dispatch
internal import FoundationEssentials
internal import Measures
internal import Postgres
internal import Sessions
internal import Synchronization

/// What a replica does beside commits and reads, on a connection and a thread of its own: it looks every second whether
/// the database answers, measures its clock, prunes, and runs what must not delay the readers.
final class Upkeep: Sendable {
    private struct State {
        var failure: String?
        /// Why the database refuses every commit, although it answers; `nil` if it does not.
        var refusal: String?
        var clock: ClockReading
        /// Why the clock cannot be used; `nil` if it can.
        var clockFailure: String?
        var isRelaxed = false
        /// The sessions to prune.
        var due: Set<SessionID> = []
        var ticks = 0
        /// How many calls of `run` wait or run.
        var waiting = 0
        var isClosed = false
    }

    private let store: StoreState
    private let retention: Retention
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block on the network.
    private let queue = DispatchQueue(label: "coordinatord.postgres.upkeep")
    /// Only used on `queue`.
    private let link: Mutex<DatabaseLink>
    private let state: Mutex<State>
    let sessionCount: Atomic<Int>

    private static let interval = DispatchTimeInterval.seconds(1)
    /// The most calls of `run` at a time: more would delay what it does by itself.
    private static let waitingLimit = 64
    /// How long it waits to look again while the database does not answer.
    private static let intervalOfFailure = DispatchTimeInterval.milliseconds(200)
    /// The most sessions that are pruned at once.
    private static let pruneSize = 128
    /// How far the clocks may be apart, in seconds.
    static let clockLimit: TimeInterval = 10

    init(
        sessionCount: Int, clock: ClockReading, _ link: sending DatabaseLink, _ store: StoreState,
        _ retention: Retention
    ) {
        self.sessionCount = Atomic(sessionCount)
        self.link = Mutex(link)
        self.store = store
        self.retention = retention
        state = Mutex(State(clock: clock))
        note(clock)
    }

    // MARK: - What it knows

    var clock: ClockReading { state.withLock { $0.clock } }

    /// Why the server is not ready.
    var failure: String? { outage ?? state.withLock { $0.refusal ?? $0.clockFailure } ?? durabilityFailure }

    /// Why the database cannot be used at all.
    var outage: String? { store.hasOldSecret ? StoreState.oldSecret : state.withLock { $0.failure } }

    /// Why nothing may be acknowledged: the database was restarted with other settings, or another one has taken over.
    var durabilityFailure: String? {
        store.isStrict && isRelaxed ? "the database may lose what it acknowledges" : nil
    }

    /// Whether the server may lose what it has acknowledged.
    var isRelaxed: Bool { state.withLock { $0.isRelaxed } }

    func note(risks: [String]) { state.withLock { $0.isRelaxed = !risks.isEmpty } }

    private func note(_ clock: ClockReading) {
        let distance = abs(clock.offset)
        let isFar = distance > Upkeep.clockLimit
        let text = isFar ? "the clocks of this machine and of the database are \(Int(distance)) seconds apart" : nil
        let isNews = state.withLock { state in
            defer { (state.clock, state.clockFailure) = (clock, text) }
            return isFar && state.clockFailure == nil
        }
        if let text, isNews { store.report(text, false) }
    }

    // MARK: - What it is asked to do

    /// Prunes these sessions soon.
    func prune(_ ids: [SessionID]) {
        guard !ids.isEmpty else { return }
        let isMuch = state.withLock { state in
            let before = state.due.count
            state.due.formUnion(ids)
            return before < Upkeep.pruneSize && state.due.count >= Upkeep.pruneSize
        }
        if isMuch { queue.async { self.link.withLock { self.pruneSome($0) } } }
    }

    /// - Parameter body: called again if the connection is lost, unless `isRepeatable` is `false` and it is unknown
    ///   whether it was carried out.
    func run<Value: Sendable>(
        isRepeatable: Bool = true, _ body: @escaping @Sendable (DatabaseLink) throws(PostgresError) -> Value
    ) async throws(StoreError) -> Value {
        let arrived = ContinuousClock.now
        let isLate = state.withLock { state in
            state.waiting += 1
            return state.waiting > Upkeep.waitingLimit
        }
        defer { state.withLock { $0.waiting -= 1 } }
        guard !isLate else { throw .unavailable(reason: "too much waits for the database") }
        return try await queue.run { () throws(StoreError) in
            if self.state.withLock({ $0.isClosed }) { throw .unavailable(reason: PostgresStore.closed) }
            return try self.link.withLock { link throws(StoreError) in
                try Reader.retrying(link, since: arrived, isRepeatable: isRepeatable, body)
            }
        }
    }

    // MARK: - What it does by itself

    func begin() {
        let hasFailed = state.withLock { $0.failure != nil }
        queue.asyncAfter(deadline: .now() + (hasFailed ? Upkeep.intervalOfFailure : Upkeep.interval)) {
            guard !self.state.withLock({ $0.isClosed }) else { return }
            self.link.withLock { self.tick($0) }
            self.begin()
        }
    }

    func close() async {
        await queue.run {
            self.state.withLock { $0.isClosed = true }
            self.link.withLock { link in
                try? ReplicaQueries.leave(self.store.replica, link)
                link.close()
            }
        }
    }

    private func tick(_ link: DatabaseLink) {
        let ticks = state.withLock { state in
            state.ticks += 1
            return state.ticks
        }
        guard checkDatabase(link) else { return }
        checkCommits(link)
        pruneSome(link)
        runChore("its own registration") { () throws(PostgresError) in
            if ticks.isMultiple(of: 5), try !ReplicaQueries.noteSeen(store.replica, link) {
                try ReplicaQueries.register(store.replica, lanes: store.lanes.map(\.id), link)
            }
        }
        runChore("the database's settings") { () throws(PostgresError) in
            let risks = try Upkeep.risks(link)
            if !risks.isEmpty, !isRelaxed {
                store.report(
                    "the database may lose what it acknowledges: \(risks.joined(separator: ", "))", store.isStrict)
            }
            note(risks: risks)
        }
        if ticks.isMultiple(of: 10) {
            runChore("the batches") { () throws(PostgresError) in try ReplicaQueries.prune(link) }
        }
        if ticks.isMultiple(of: 60) {
            runChore("the number of sessions") { () throws(PostgresError) in
                let rows = try link.run(ReplicaQueries.count, within: .seconds(5))
                if let count = rows.integer(0, 0) { sessionCount.store(count, ordering: .relaxed) }
            }
        }
    }

    /// Checks whether the database answers: twice, because the first try may only find that the connection was lost.
    private func checkDatabase(_ link: DatabaseLink) -> Bool {
        for isLast in [false, true] {
            let start = MonotonicTime.nanosecondsOfUptime
            do throws(PostgresError) {
                let rows = try link.run(ReplicaQueries.time, within: .milliseconds(1500))
                let clock = rows.integer(0, 0).map { ClockReading(milliseconds: $0, askedAt: start) }
                if let generation = rows.text(0, 1).flatMap({ Int($0) }) { store.note(generation: generation) }
                if let secret = rows.text(0, 2) { store.note(secret: secret) }
                // A slow answer says little about the clock.
                if let clock, clock.duration < 0.5 { note(clock) }
                if state.withLock({ state in
                    defer { state.failure = nil }
                    return state.failure != nil
                }) {
                    store.report("the database can be used again", false)
                }
                return true
            } catch {
                guard isLast else { continue }
                let isNews = state.withLock { state in
                    // Without details, because anybody may read /readyz. The log has them.
                    defer {
                        state.failure =
                            Upkeep.refusal(error)
                            ?? (link.isUnconfirmed ? ReplicationBarrier.unconfirmed : "the database cannot be used")
                    }
                    return state.failure == nil
                }
                if isNews { store.report("the database cannot be used: \(error)", false) }
            }
        }
        return false
    }

    /// Checks whether the database would accept a commit. Commits are tried all the same: they are the first to succeed
    /// again.
    private func checkCommits(_ link: DatabaseLink) {
        let values = CommitStatement.values([], lane: 0, n: 0, generation: store.generation, store)
        var refusal: String?
        let (start, limit) = (ContinuousClock.now, Duration.seconds(5))
        do throws(PostgresError) {
            _ = try link.run(CommitStatement.trial, values, within: limit)
        } catch {
            let isLate = .now - start >= limit
            // Others say nothing about the next commit.
            guard let reason = Upkeep.refusal(error) ?? (isLate ? Upkeep.late : nil) else { return }
            refusal = reason
        }
        let before = state.withLock { state in
            defer { state.refusal = refusal }
            return state.refusal
        }
        guard refusal != before else { return }
        store.report(refusal.map { "nothing can be committed: \($0)" } ?? "commits succeed again", false)
    }

    private static let late = "no answer in time, as if another program had locked a table"

    /// Why every commit is refused: a table or a column is missing, or the role has not the rights on it.
    ///
    /// - Returns: `nil` if the error says nothing about that.
    private static func refusal(_ error: PostgresError) -> String? {
        guard case .refused(let state, _, _) = error, state.isIn(class: "42") else { return nil }
        return error.description
    }

    private func pruneSome(_ link: DatabaseLink) {
        while true {
            let ids = state.withLock { state in
                let ids = Array(state.due.prefix(Upkeep.pruneSize))
                state.due.subtract(ids)
                return ids
            }
            guard !ids.isEmpty else { return }
            runChore("old versions") { () throws(PostgresError) in try PruneQueries.prune(ids, retention, link) }
        }
    }

    /// Does a chore. If it fails, it is left to the next time: what is not deleted only takes room until then.
    private func runChore(_ what: String, _ chore: () throws(PostgresError) -> Void) {
        do throws(PostgresError) {
            try chore()
        } catch {
            if case .refused(let state, _, _) = error, !state.isTransient {
                store.report("a chore of the store has failed, about \(what): \(error)", false)
            }
        }
    }

    /// The settings because of which the server may lose what it has acknowledged, such as `fsync = off`.
    static func risks(_ link: DatabaseLink) throws(PostgresError) -> [String] {
        let rows = try link.run(ReplicaQueries.risks, within: .seconds(5))
        return rows.indices.compactMap { rows.text($0, 0) }
    }
}
