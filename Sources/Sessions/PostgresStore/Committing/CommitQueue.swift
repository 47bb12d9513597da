internal import Dispatch
internal import Sessions
internal import Synchronization

/// The queue in which changes wait for a lane. A session is in one lane at a time, so that its changes stay in order.
final class CommitQueue: Sendable {
    private struct State {
        var waiting: [CommitItem] = []
        /// The sessions of the batches that the lanes have.
        var busy: Set<SessionID> = []
        /// The lanes that have nothing to do.
        var idle: [CommitLane] = []
        var isTimerSet = false
        var isClosed = false
    }

    /// The most changes of a batch, and the most bytes unless it is a single one.
    static let (batchSize, batchBytes) = (64, 256 << 10)
    /// How many changes may wait.
    static let limit = 4096

    private let state = Mutex(State())
    /// How long a change waits to be sent, unless it is one of many.
    private let maxWait: Duration
    private let timer = DispatchQueue(label: "coordinatord.postgres.commits")

    init(_ maxWait: Duration) {
        self.maxWait = maxWait
    }

    /// How many changes wait to be sent, and for how many seconds the first has been waiting.
    var waiting: (count: Int, seconds: Double) {
        let now = ContinuousClock.now
        return state.withLock { state in
            (state.waiting.count, state.waiting.first.map { ($0.request.arrived.duration(to: now)) / .seconds(1) } ?? 0)
        }
    }

    func append(_ request: CommitRequest) {
        let items = request.changes.indices.map { CommitItem(request: request, position: $0) }
        // Decided without the database.
        for item in items where !item.change.isPossible { item.finish(isConflict: true) }
        let (refusal, lane, isFirst) = state.withLock { state -> (String?, CommitLane?, Bool) in
            if state.isClosed { return (PostgresStore.closed, nil, false) }
            // A request with many changes is an import, which waits for each before it sends the next.
            if state.waiting.count >= CommitQueue.limit {
                return ("\(CommitQueue.limit) changes wait for the database", nil, false)
            }
            state.waiting += items.filter(\.change.isPossible)
            defer { state.isTimerSet = true }
            return (nil, state.idle.popLast(), !state.isTimerSet)
        }
        if let refusal { return request.fail(.unavailable(reason: refusal)) }
        lane?.wake()
        if isFirst { startTimer(maxWait) }
    }

    /// The next batch of a lane; none if the lane is idle from now on.
    func next(for lane: CommitLane) -> [CommitItem] {
        state.withLock { state in
            var batch: [CommitItem] = []
            var left: [CommitItem] = []
            var bytes = 0
            // Once a change of a session is skipped, so are its later ones, because they stay in order.
            var skipped: Set<SessionID> = []
            var index = 0
            while index < state.waiting.count, batch.count < CommitQueue.batchSize {
                let item = state.waiting[index]
                let (id, size) = (item.change.id, item.change.size)
                guard batch.isEmpty || bytes + size <= CommitQueue.batchBytes else { break }
                index += 1
                if !skipped.contains(id), state.busy.insert(id).inserted {
                    batch.append(item)
                    bytes += size
                } else {
                    skipped.insert(id)
                    left.append(item)
                }
            }
            state.waiting.replaceSubrange(..<index, with: left)
            if batch.isEmpty, !state.isClosed { state.idle.append(lane) }
            return batch
        }
    }

    /// Call once a batch is decided or has failed. Its sessions' next changes can be sent.
    func release(_ batch: [CommitItem]) {
        let lane = state.withLock { state in
            for item in batch { state.busy.remove(item.change.id) }
            // What waited for these sessions can go on in another lane.
            return state.waiting.isEmpty ? nil : state.idle.popLast()
        }
        lane?.wake()
    }

    /// No more changes are accepted; those that wait fail.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { (state.waiting, state.idle) = ([], []) }
            return state.waiting
        }
        for item in waiting { item.request.fail(.unavailable(reason: PostgresStore.closed)) }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: - Time limit

    private func startTimer(_ time: Duration) {
        let milliseconds = max(1, Int(time / .milliseconds(1)) + 1)
        timer.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { self.refuseLate() }
    }

    private func refuseLate() {
        let now = ContinuousClock.now
        let (late, next) = state.withLock { state in
            let late = state.waiting.filter { $0.limit <= now }
            if !late.isEmpty { state.waiting.removeAll { $0.limit <= now } }
            let next = state.waiting.lazy.map(\.limit).min()
            state.isTimerSet = next != nil
            return (late, next)
        }
        for item in late {
            item.request.fail(.unavailable(reason: "the database is too slow: a change has waited too long to be sent"))
        }
        // A change that comes later may have an earlier limit.
        if let next { startTimer(min(next - now, maxWait)) }
    }
}

/// A lane: one connection that commits one batch after the other, on a thread of its own.
final class CommitLane: Sendable {
    private let commits: CommitQueue
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block on the network.
    private let queue: DispatchQueue
    /// Only used on `queue`.
    private let writer: Mutex<BatchWriter>

    init(_ index: Int, _ commits: CommitQueue, _ writer: sending BatchWriter) {
        self.commits = commits
        self.writer = Mutex(writer)
        queue = DispatchQueue(label: "coordinatord.postgres.lane\(index)")
    }

    func wake() {
        queue.async { self.serve() }
    }

    private func serve() {
        while true {
            let batch = commits.next(for: self)
            if batch.isEmpty { return }
            writer.withLock { $0.commit(batch) }
            commits.release(batch)
        }
    }

    /// Waits until the lane has nothing to do.
    func close() async {
        await queue.run { self.writer.withLock { $0.close() } }
    }
}

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
    /// When it fails if it has not been sent.
    let limit: ContinuousClock.Instant
    private let state: Mutex<State>
    private let completion: @Sendable (CommitOutcome) -> Void

    /// - Parameters:
    ///   - changes: at least one.
    ///   - time: how long it may wait to be sent. Many changes at once are an import, which may wait longer.
    ///   - completion: called once, when all changes are decided or one has failed.
    init(
        _ changes: [EncodedChange], waiting time: Duration, _ completion: @escaping @Sendable (CommitOutcome) -> Void
    ) {
        self.changes = changes
        self.completion = completion
        limit = arrived + (changes.count > 1 ? max(time, .seconds(60)) : time)
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
            return .success(state.conflicts.sorted().map { changes[$0].id })
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
