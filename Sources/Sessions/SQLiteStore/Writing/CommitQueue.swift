internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Measures
internal import SQLite
internal import Sessions
internal import Synchronization

/// Group commit: commits wait in a queue, and the one writer commits all that have arrived while it was writing.
final class CommitQueue: Sendable {
    struct Waiting: Sendable {
        let changes: [EncodedChange]
        let completion: @Sendable (CommitOutcome) -> Void
    }

    struct State {
        var waiting: [Waiting] = []
        /// When the first of them came; see `MonotonicTime`.
        var waitingSince = 0
        /// How many the writer is committing, and when the first of them came.
        var (written, writtenSince) = (0, 0)
        /// Whether the writer is serving the queue, or is about to.
        var isServed = false
        /// Whether the writer is going to do chores if nothing is committed for a while.
        var isTimerSet = false
        /// How many times the writer has looked for waiting commits.
        var lookCount = 0
        var failure: String?
    }

    /// Serial, so libdispatch runs it on a thread outside its pools, which may block on the disk.
    let queue = DispatchQueue(label: "coordinatord.store.writer")
    let state = Mutex(State())
    /// Only used on `queue`; `nil` once it is closed.
    let writer: Mutex<JournalWriter?>
    let reader: ReadQueue
    let reserve: Mutex<DiskReserve>
    let sessionCount: Atomic<Int>
    /// How much of the limit of its size is used, as `probe` has seen it last.
    let usedBytes: Atomic<Int>
    let troubles: StoreTroubles
    let doesChoresWhenQuiet: Bool
    let failed: @Sendable (String) -> Void
    let measures = StoreMeasures()
    /// How many calls of `run` wait for the writer.
    let interruptions = Atomic(0)

    init(
        _ writer: sending JournalWriter, _ reader: ReadQueue, _ reserve: DiskReserve, _ troubles: StoreTroubles,
        doesChoresWhenQuiet: Bool, failed: @escaping @Sendable (String) -> Void
    ) {
        self.sessionCount = Atomic(writer.sessionCount)
        self.usedBytes = Atomic(writer.usedBytes ?? 0)
        self.writer = Mutex(writer)
        self.reader = reader
        self.reserve = Mutex(reserve)
        if reserve.isSpent { troubles.setFull(true) }
        self.troubles = troubles
        self.doesChoresWhenQuiet = doesChoresWhenQuiet
        self.failed = failed
    }

    func commit(_ changes: [EncodedChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let one = Waiting(changes: changes, completion: completion)
        let (failure, isFirst) = state.withLock { state in
            if state.waiting.isEmpty { state.waitingSince = MonotonicTime.nanoseconds }
            if state.failure == nil { state.waiting.append(one) }
            defer { state.isServed = true }
            return (state.failure, !state.isServed)
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
        if let failure { completion(.failure(.unavailable(reason: failure))) }
    }

    /// How many commits are waiting or being written, and for how many seconds the first of them has been.
    var waiting: (count: Int, seconds: Double) {
        let now = MonotonicTime.nanoseconds
        return state.withLock { state in
            let count = state.waiting.count + state.written
            let since = state.written > 0 ? state.writtenSince : state.waitingSince
            return (count, count == 0 ? 0 : Double(max(0, now - since)) / 1e9)
        }
    }

    /// How many times the writer looks again before it sleeps, so that commits which are about to arrive share a
    /// flush: woken by the first of them, it would commit that one alone.
    private static let idleSpins = 3
    /// After this many batches the writer lets other work run on its queue, such as sweeping.
    private static let maxBatches = 256

    /// Commits everything that is waiting, again and again until nothing is.
    private func serve() {
        var waiting: [Waiting] = []
        var batches = 0
        var idleTurns = 0
        while batches < CommitQueue.maxBatches, interruptions.load(ordering: .relaxed) == 0 {
            // The next commits find room in this array, so that no memory is allocated under the lock.
            waiting.removeAll(keepingCapacity: true)
            let isSpinning = idleTurns < CommitQueue.idleSpins
            let failure = state.withLock { state in
                swap(&state.waiting, &waiting)
                (state.written, state.writtenSince) = (waiting.count, state.waitingSince)
                if waiting.isEmpty { state.isServed = isSpinning }
                state.lookCount += 1
                return state.failure
            }
            if waiting.isEmpty {
                guard isSpinning else { return scheduleChores() }
                idleTurns += 1
                sched_yield()
                continue
            }
            batches += 1
            idleTurns = 0
            if let failure {
                // After a failed flush nothing is tried again.
                for one in waiting { one.completion(.failure(.unavailable(reason: failure))) }
            } else {
                serve(waiting)
            }
        }
        queue.async { self.serve() }
    }

    private func serve(_ waiting: [Waiting]) {
        let changes = waiting.flatMap(\.changes)
        let takesAway = changes.allSatisfy(\.takesAway)
        guard takesAway || !reserve.withLock(\.isSpent) else { return serveFull(waiting) }
        let conflicts: [Int: SessionID]
        let start = MonotonicTime.nanoseconds
        do throws(CommitFailure) {
            conflicts = try withWriter(mayUseReserve: takesAway) { writer throws(CommitFailure) in
                try writer.commit(changes)
            }
        } catch {
            if case .damaged(let damaged) = error { return serve(waiting, but: damaged) }
            let storeError = handle(error)
            if storeError == .full { return serveFull(waiting) }
            if case .unavailable(let reason) = storeError { troubles.fail(reason) }
            for one in waiting { one.completion(.failure(storeError)) }
            return
        }
        measures.add(changes: changes.count, in: MonotonicTime.nanoseconds - start)
        troubles.recover()
        if !takesAway { troubles.setFull(false) }
        let created = changes.indices.count { changes[$0].expected.version == 0 && conflicts[$0] == nil }
        sessionCount.add(created, ordering: .relaxed)
        var position = 0
        for one in waiting {
            let range = position..<position + one.changes.count
            position = range.upperBound
            one.completion(.success(conflicts.isEmpty ? [] : range.compactMap { conflicts[$0] }))
        }
        do throws(CommitFailure) { try doUrgentChores() } catch { _ = handle(error) }
    }

    /// Refuses the commits whose sessions are damaged, and commits the others.
    ///
    /// - Parameter damaged: what is damaged of each session.
    private func serve(_ waiting: [Waiting], but damaged: [SessionID: String]) {
        var others: [Waiting] = []
        for one in waiting {
            guard let id = one.changes.lazy.map(\.id).first(where: { damaged[$0] != nil }), let reason = damaged[id]
            else {
                others.append(one)
                continue
            }
            troubles.report(.session(id, reason))
            one.completion(.failure(.damaged(reason: reason)))
        }
        if !others.isEmpty { serve(others) }
    }

    /// Refuses the commits, because there is no room, but tries those that only take something away on their own.
    private func serveFull(_ waiting: [Waiting]) {
        let ends = waiting.filter { $0.changes.allSatisfy(\.takesAway) }
        let isAll = ends.count == waiting.count
        troubles.setFull(true)
        // Some of them may fit.
        if isAll, waiting.count > 1 {
            for one in waiting { serve([one]) }
            return
        }
        for one in waiting where isAll || !one.changes.allSatisfy(\.takesAway) { one.completion(.failure(.full)) }
        if !isAll, !ends.isEmpty { serve(ends) }
        makeRoom()
    }

    /// Does the chores that cannot wait for a quiet moment.
    private func doUrgentChores() throws(CommitFailure) {
        try withWriter(mayUseReserve: true) { writer throws(CommitFailure) in
            let limit = reserve.withLock(\.tailLimit)
            let isMuch = writer.tail.withLock {
                $0.recentCount >= limit || $0.recentSize >= JournalWriter.compactionBytes
            }
            // The rows that the last round has dropped are deleted first.
            if isMuch, !writer.hasChores { beginRound(writer) }
            try writer.checkpoint(from: JournalWriter.copiedLogLimit, reader)
        }
    }

    /// - Parameter mayUseReserve: whether it is done with the room that is set aside, if there is no other. Then the log is
    ///   first copied into the file, so that it begins anew in the room that it has.
    func withWriter<Value>(
        mayUseReserve: Bool = false, _ body: (JournalWriter) throws(CommitFailure) -> sending Value
    ) throws(CommitFailure) -> Value {
        do throws(CommitFailure) {
            return try withOpenWriter(body)
        } catch {
            guard mayUseReserve, case .refused(.full) = error else { throw error }
            reserve.withLock { $0.spend() }
            troubles.setFull(true)
            return try withOpenWriter { writer throws(CommitFailure) in
                try writer.checkpoint(from: 0, reader)
                return try body(writer)
            }
        }
    }

    private func withOpenWriter<Value>(
        _ body: (JournalWriter) throws(CommitFailure) -> sending Value
    ) throws(CommitFailure) -> Value {
        try writer.withLock { writer throws(CommitFailure) in
            guard let writer else { throw .refused(.unavailable(reason: CommitQueue.closed)) }
            return try body(writer)
        }
    }

    static let closed = "the store is closed"

    /// The error for the callers of a commit or chore that has failed. After a failed flush, or damage that keeps
    /// everything from being written, nothing more is acknowledged, and the process may end here.
    func handle(_ failure: CommitFailure) -> StoreError {
        switch failure {
        case .refused(let error): return error
        case .unwritable(let reason):
            troubles.report(.derived("nothing can be written: \(reason)"))
            fail(reason)
            return .unavailable(reason: reason)
        case .damaged(let damaged): return .damaged(reason: damaged.values.first ?? "")
        case .flushFailed(let reason):
            fail(reason)
            return .unknownOutcome(reason: reason)
        }
    }

    /// From now on nothing is acknowledged.
    func fail(_ reason: String) {
        state.withLock { $0.failure = $0.failure ?? reason }
        failed(reason)
    }
}
