internal import Measures
internal import Postgres
internal import Sessions

/// Commits batches in one lane, and finds out what has become of each: no batch is sent before the one before it is
/// decided.
///
/// If the connection is lost after a batch was sent, the same batch is sent again under the same number. Either it is
/// carried out then, or it violates the uniqueness of the number: then it was committed, and its row says what is
/// in it.
final class BatchWriter {
    private let index: Int
    private let link: DatabaseLink
    private let state: StoreState
    private let followUp: @Sendable ([CommitItem]) -> Void
    private let isClosed: @Sendable () -> Bool

    /// How long the database may take for a batch.
    private static let answerTime = Duration.seconds(5)
    /// The least time for a connection.
    private static let leastTime = Duration.milliseconds(200)

    /// - Parameter followUp: called with what was committed, to do the chores that follow from it.
    init(
        _ index: Int, _ link: DatabaseLink, _ state: StoreState, isClosed: @escaping @Sendable () -> Bool,
        followUp: @escaping @Sendable ([CommitItem]) -> Void
    ) {
        self.index = index
        self.link = link
        self.state = state
        self.isClosed = isClosed
        self.followUp = followUp
    }

    func close() { link.close() }

    /// What has become of a batch.
    private enum Outcome {
        /// Committed, these sessions' changes; the others are conflicts.
        case decided(Set<String>, generation: Int)
        /// Nothing is changed, and nothing will be.
        case failed(StoreError)
        /// Nothing is changed: the database refuses the batch because of a change in it.
        case refused(reason: String)
    }

    /// Returns when the batch is decided, whenever that is.
    func commit(_ batch: [CommitItem]) {
        // A stamp of another generation may stand for other content.
        let generation = state.generation
        let items = batch.filter { $0.change.expected.generation == generation }
        for item in batch where item.change.expected.generation != generation { conflict(item) }
        if !items.isEmpty { commit(items, in: generation) }
    }

    private func commit(_ items: [CommitItem], in generation: Int) {
        let start = MonotonicTime.nanoseconds
        switch send(items, in: generation) {
        case .decided(let ids, _):
            state.measures.add(changes: items.count, in: MonotonicTime.nanoseconds - start)
            state.count { counters in
                counters.batches += 1
                counters.changes += ids.count
            }
            let committed = items.filter { ids.contains($0.change.id.text) }
            followUp(committed)
            for item in items {
                if ids.contains(item.change.id.text) { item.finish(isConflict: false) } else { conflict(item) }
            }
        case .failed(let error):
            for item in items { item.request.fail(error) }
        case .refused(let reason):
            guard items.count > 1 else {
                state.report("a change of session \(items[0].change.id.text) is refused: \(reason)", false)
                return items[0].request.fail(.unavailable(reason: reason))
            }
            // One of the changes is the reason; the others can be committed.
            for item in items { commit([item], in: generation) }
        }
    }

    private func conflict(_ item: CommitItem) {
        state.count { $0.conflicts += 1 }
        item.finish(isConflict: true)
    }

    // MARK: - Sending

    /// Sends a batch until it is decided.
    private func send(_ items: [CommitItem], in generation: Int) -> Outcome {
        let lane = state.lane(index)
        let n = lane.settled + 1
        let values = CommitStatement.values(items, lane: lane.id, n: n, generation: generation, state)
        let limit = items.lazy.map(\.limit).min() ?? .now
        var backoff = Backoff()
        var unknownSince: ContinuousClock.Instant?
        while true {
            let sent = ContinuousClock.now
            do throws(PostgresError) {
                // Requests are answered in time even while no connection can be made.
                let left = (unknownSince.map { $0 + state.limits.resolving } ?? limit) - sent
                let rows = try link.run(
                    CommitStatement.statement, values, within: BatchWriter.answerTime,
                    connecting: left > .zero ? max(left, BatchWriter.leastTime) : DatabaseLink.connectTime)
                let now = rows.text(0, 1).flatMap { Int($0) } ?? generation
                return settle(n, Set(rows.texts(0, 0) ?? []), now, items, sent, isReplicated: rows.warnings == 0)
            } catch {
                if case .refused("23505", _, CommitStatement.uniqueness) = error {
                    if let ids = committedIDs(lane.id, n) {
                        return settle(n, ids, generation, items, unknownSince ?? sent, isReplicated: false)
                    }
                } else if !error.isCertain {
                    if unknownSince == nil { state.count { $0.unknownOutcomes += 1 } }
                    unknownSince = unknownSince ?? sent
                } else if unknownSince == nil, let outcome = BatchWriter.outcome(error) {
                    return outcome
                }
                if let outcome = failIfLate(items, limit, unknownSince, error) { return outcome }
            }
            state.count { $0.retries += 1 }
            backoff.wait()
        }
    }

    /// - Returns: `nil` if the batch can be tried again.
    private static func outcome(_ error: PostgresError) -> Outcome? {
        guard case .refused(let state, let message, _) = error, !state.isTransient else { return nil }
        return state.isNoSpace ? .failed(.full) : .refused(reason: "\(message) (SQLSTATE \(state))")
    }

    /// Fails the requests once they have waited long enough. If the outcome is unknown, the batch is sent again all the
    /// same, because later batches must not overtake it.
    ///
    /// - Returns: `nil` if the batch is to be sent again.
    private func failIfLate(
        _ items: [CommitItem], _ limit: ContinuousClock.Instant, _ unknownSince: ContinuousClock.Instant?,
        _ error: PostgresError
    ) -> Outcome? {
        guard let unknownSince else {
            guard .now > limit || isClosed() else { return nil }
            return .failed(.unavailable(reason: "\(error)"))
        }
        guard .now - unknownSince > state.limits.resolving || isClosed() else { return nil }
        for item in items { item.request.fail(.unknownOutcome(reason: "\(error)")) }
        return isClosed() ? .failed(.unknownOutcome(reason: "\(error)")) : nil
    }

    // MARK: - Settling

    /// The ids in a batch's row.
    ///
    /// - Returns: `nil` if it cannot be read now.
    private func committedIDs(_ lane: Int, _ n: Int) -> Set<String>? {
        let values: [PostgresValue] = [.integer(lane), .integer(n)]
        guard let rows = try? link.run(CommitStatement.changed, values, within: .seconds(2)) else { return nil }
        // The number was taken a moment ago. If there is no row now, a standby without it was promoted, and the batch
        // is sent again.
        return rows.texts(0, 0).map { Set($0.compactMap { CommitStatement.parse($0)?.id.text }) }
    }

    /// - Parameter isReplicated: `false` if the commit may be on this server alone, although it has a synchronous
    ///   standby: the wait for that was cut off.
    private func settle(
        _ n: Int, _ ids: Set<String>, _ generation: Int, _ items: [CommitItem], _ since: ContinuousClock.Instant,
        isReplicated: Bool
    ) -> Outcome {
        state.note(generation: generation)
        if isReplicated {
            state.settle(n, of: index, generation: generation)
        } else if !awaitReplication(of: n, items, since) {
            return .decided([], generation: state.generation)
        }
        return .decided(ids, generation: generation)
    }

    /// Commits an empty batch: the standby has it only if it has every batch before it.
    ///
    /// - Returns: whether the database still has the batch: a standby may have been promoted without it.
    private func awaitReplication(of n: Int, _ items: [CommitItem], _ since: ContinuousClock.Instant) -> Bool {
        let lane = state.lane(index).id
        var next = n + 1
        var backoff = Backoff()
        while !isClosed() {
            let generation = state.generation
            let values = CommitStatement.values([], lane: lane, n: next, generation: generation, state)
            do throws(PostgresError) {
                let rows = try link.run(CommitStatement.statement, values, within: BatchWriter.answerTime)
                if rows.warnings == 0 {
                    // The connection may lead to another server by now.
                    let found = try link.run(
                        CommitStatement.changed, [.integer(lane), .integer(n)], within: .seconds(2))
                    state.settle(next, of: index, generation: rows.text(0, 1).flatMap { Int($0) } ?? generation)
                    return found.count > 0
                }
                next += 1
            } catch {
                // Committed by an earlier try, and perhaps here alone: the next number decides.
                if case .refused("23505", _, CommitStatement.uniqueness) = error { next += 1 }
            }
            if .now - since > state.limits.resolving { failUnreplicated(items) }
            backoff.wait()
        }
        failUnreplicated(items)
        return true
    }

    private func failUnreplicated(_ items: [CommitItem]) {
        let error = StoreError.unknownOutcome(reason: "the standby database does not confirm the change")
        for item in items { item.request.fail(error) }
    }
}
