internal import Sessions
internal import Synchronization

/// One call of `commit`, whose changes may go into several batches.
final class CommitRequest: Sendable {
    private struct State {
        var open: Int
        /// The positions of the conflicts.
        var conflicts: [Int] = []
        var failure: StoreError?
        var isAnswered = false
    }

    let changes: [EncodedChange]
    let arrived = ContinuousClock.now
    /// When it is given up unless it was sent. Many changes at once are an import, which waits for them.
    let limit: ContinuousClock.Instant
    private let state: Mutex<State>
    private let completion: @Sendable (CommitOutcome) -> Void

    /// - Parameters:
    ///   - changes: at least one.
    ///   - completion: called once, when all changes are decided or one has failed.
    init(_ changes: [EncodedChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        self.changes = changes
        self.completion = completion
        limit = arrived + (changes.count > 1 ? .seconds(60) : CommitLine.patience)
        state = Mutex(State(open: changes.count))
    }

    func finish(_ position: Int, isConflict: Bool) {
        resolve { state in
            state.open -= 1
            if isConflict { state.conflicts.append(position) }
        }
    }

    func fail(_ error: StoreError) {
        resolve { $0.failure = $0.failure ?? error }
    }

    private func resolve(_ change: (inout State) -> Void) {
        let outcome: CommitOutcome? = state.withLock { state in
            change(&state)
            guard !state.isAnswered, state.open == 0 || state.failure != nil else { return nil }
            state.isAnswered = true
            if let failure = state.failure { return .failure(failure) }
            return .success(state.conflicts.sorted().map { CommitConflict(id: changes[$0].id) })
        }
        if let outcome { completion(outcome) }
    }
}

/// One change on its way.
struct CommitItem: Sendable {
    let request: CommitRequest
    let position: Int

    var change: EncodedChange { request.changes[position] }
    var limit: ContinuousClock.Instant { request.limit }

    func finish(isConflict: Bool) { request.finish(position, isConflict: isConflict) }
}
