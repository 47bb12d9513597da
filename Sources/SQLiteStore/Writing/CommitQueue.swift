internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import SQLite
internal import Sessions
internal import Synchronization

/// Group commit: who commits waits in a line, and the one writer takes everybody who has come while it was writing.
final class CommitQueue: Sendable {
    struct Waiting: Sendable {
        let changes: [EncodedChange]
        let completion: @Sendable (CommitOutcome) -> Void
    }

    struct Line {
        var waiting: [Waiting] = []
        /// Whether the writer is at work, or will be.
        var isServed = false
        /// Whether it will look for chores when nothing was committed for a while.
        var isTimed = false
        /// How often the writer has looked who waits.
        var turns = 0
        var failure: String?
    }

    /// Serial, so libdispatch runs it on a thread beyond its pools, which may wait for the disk.
    let queue = DispatchQueue(label: "coordinatord.store.writer", qos: .userInitiated)
    let line = Mutex(Line())
    /// Only touched on `queue`; `nil` once it is closed.
    let ledger: Mutex<Ledger?>
    let tail: SharedTail
    let reader: ReadQueue
    let sessionCount: Atomic<Int>
    let troubles: StoreTroubles
    let failed: @Sendable (String) -> Void

    init(
        _ ledger: sending Ledger, _ tail: SharedTail, _ reader: ReadQueue, _ troubles: StoreTroubles,
        failed: @escaping @Sendable (String) -> Void
    ) {
        self.sessionCount = Atomic(ledger.sessionCount)
        self.ledger = Mutex(ledger)
        self.tail = tail
        self.reader = reader
        self.troubles = troubles
        self.failed = failed
    }

    func commit(_ changes: [EncodedChange], _ completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let one = Waiting(changes: changes, completion: completion)
        let (failure, isFirst) = line.withLock { line in
            if line.failure == nil { line.waiting.append(one) }
            defer { line.isServed = true }
            return (line.failure, !line.isServed)
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
        if let failure { completion(.failure(.unavailable(reason: failure))) }
    }

    /// How often the writer looks again before it sleeps, so that those who are about to come share a flush: woken by the
    /// first of them, it would commit that one alone.
    private static let patience = 3
    /// After so many batches the writer lets others do their work on its queue, sweeping for one.
    private static let longestTurn = 256

    /// Takes all who wait, again and again until nobody does.
    private func serve() {
        var waiting: [Waiting] = []
        var batches = 0
        var idleTurns = 0
        while batches < CommitQueue.longestTurn {
            // The next ones find room: nobody holds the lock while memory is allocated.
            waiting.removeAll(keepingCapacity: true)
            let isPatient = idleTurns < CommitQueue.patience
            let failure = line.withLock { line in
                swap(&line.waiting, &waiting)
                if waiting.isEmpty { line.isServed = isPatient }
                line.turns += 1
                return line.failure
            }
            if waiting.isEmpty {
                guard isPatient else { return waitForQuiet() }
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
        let conflicts: [Int: CommitConflict]
        do throws(CommitFailure) {
            conflicts = try withLedger { ledger throws(CommitFailure) in try ledger.commit(changes, tail) }
        } catch {
            if case .damaged(let damaged) = error { return serve(waiting, but: damaged) }
            let storeError = take(error)
            if storeError == .full { return serveFull(waiting) }
            if case .unavailable(let reason) = storeError { troubles.fail(reason) }
            for one in waiting { one.completion(.failure(storeError)) }
            return
        }
        troubles.recover()
        if !changes.allSatisfy(\.isEnd) { troubles.setFull(false) }
        let created = changes.indices.count { changes[$0].expectedVersion == 0 && conflicts[$0] == nil }
        sessionCount.add(created, ordering: .relaxed)
        var position = 0
        for one in waiting {
            let range = position..<position + one.changes.count
            position = range.upperBound
            one.completion(.success(conflicts.isEmpty ? [] : range.compactMap { conflicts[$0] }))
        }
        do throws(CommitFailure) { try tidy() } catch { _ = take(error) }
    }

    /// Refuses those whose sessions are damaged, and commits what the others wait for.
    ///
    /// - Parameter damaged: what is, by the positions of the changes.
    private func serve(_ waiting: [Waiting], but damaged: [Int: String]) {
        var others: [Waiting] = []
        var position = 0
        for one in waiting {
            let range = position..<position + one.changes.count
            position = range.upperBound
            guard let index = range.first(where: { damaged[$0] != nil }), let reason = damaged[index] else {
                others.append(one)
                continue
            }
            troubles.report(.session(one.changes[index - range.lowerBound].id, reason))
            one.completion(.failure(.damaged(reason: reason)))
        }
        if !others.isEmpty { serve(others) }
    }

    /// Where there is no room, sessions can be ended all the same.
    private func serveFull(_ waiting: [Waiting]) {
        let ends = waiting.filter { $0.changes.allSatisfy(\.isEnd) }
        let isAll = ends.count == waiting.count
        troubles.setFull(true)
        for one in waiting where isAll || !one.changes.allSatisfy(\.isEnd) { one.completion(.failure(.full)) }
        if !isAll, !ends.isEmpty { serve(ends) }
    }

    /// What cannot wait for a quiet moment.
    private func tidy() throws(CommitFailure) {
        try withLedger { ledger throws(CommitFailure) in
            let isMuch = tail.withLock {
                $0.recentCount >= Ledger.compactionRows || $0.recentSize >= Ledger.compactionBytes
            }
            // What the last round has dropped goes first.
            if isMuch, !ledger.hasChores { ledger.beginRound(tail) }
            try ledger.checkpoint(from: Ledger.copiedLogLimit, reader)
        }
    }

    func withLedger<Value>(
        _ body: (Ledger) throws(CommitFailure) -> sending Value
    ) throws(CommitFailure) -> Value {
        try ledger.withLock { ledger throws(CommitFailure) in
            guard let ledger else { throw .refused(.unavailable(reason: CommitQueue.closed)) }
            return try body(ledger)
        }
    }

    static let closed = "the store is closed"

    func take(_ failure: CommitFailure) -> StoreError {
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
}
