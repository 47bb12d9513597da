internal import Dispatch
internal import FoundationEssentials
internal import Sessions
internal import Synchronization

/// Chores, when nobody waits.
extension CommitQueue {
    private static let quietTime = DispatchTimeInterval.milliseconds(200)
    private static let choreSize = 512

    func waitForQuiet() {
        let turns = line.withLock { line -> Int? in
            if line.isTimed || line.failure != nil { return nil }
            line.isTimed = true
            return line.turns
        }
        guard let turns else { return }
        queue.asyncAfter(deadline: .now() + CommitQueue.quietTime) { [weak self] in
            self?.doChores(since: turns)
        }
    }

    private func doChores(since turns: Int) {
        let isQuiet = line.withLock { line in
            line.isTimed = false
            return line.turns == turns && line.failure == nil
        }
        guard isQuiet else { return waitForQuiet() }
        doing { ledger throws(CommitFailure) in
            ledger.beginRound(tail)
            while ledger.hasChores {
                try ledger.doChores(of: CommitQueue.choreSize, tail)
                if isAwaited { return }
            }
            while try ledger.giveBackPages(tail) {
                if isAwaited { return }
                try ledger.checkpoint(from: Ledger.copiedLogLimit, reader)
            }
            try ledger.checkpoint(from: Ledger.copiedLogLimit, reader)
        }
    }

    /// Does a chore. One that fails is tried again at the next quiet moment; the journal has everything.
    private func doing(_ chore: (Ledger) throws(CommitFailure) -> Void) {
        do throws(CommitFailure) {
            try withLedger { ledger throws(CommitFailure) in try chore(ledger) }
        } catch {
            if case .unavailable(let reason) = take(error) { troubles.report(.chore(reason)) }
        }
    }

    private var isAwaited: Bool { line.withLock { !$0.waiting.isEmpty } }

    /// Sees whether a commit is possible at all, where none was tried for a while; to be called now and then.
    func probe() {
        queue.async {
            guard self.line.withLock({ $0.failure == nil }) else { return }
            do throws(CommitFailure) {
                try self.withLedger { ledger throws(CommitFailure) in
                    try ledger.probe(self.tail)
                    // A full disk is left to the next commit.
                    if ledger.sizeLimit > 0, try ledger.hasRoom { self.troubles.setFull(false) }
                }
                self.troubles.recover()
            } catch {
                if case .unavailable(let reason) = self.take(error) { self.troubles.fail(reason) }
                return
            }
            // A store that is never quiet gives back what it does not need all the same.
            self.doing { ledger throws(CommitFailure) in
                if try ledger.giveBackPages(self.tail) { self.waitForQuiet() }
            }
        }
    }

    /// From now on nothing is acknowledged.
    func fail(_ reason: String) {
        line.withLock { $0.failure = $0.failure ?? reason }
        failed(reason)
    }

    func sweep(at now: Date, limit: Int) async throws(StoreError) -> [SessionID] {
        let milliseconds = Int(exactly: (now.timeIntervalSince1970 * 1000).rounded()) ?? .max
        var swept: [SessionID] = []
        while swept.count < limit {
            let outcome = await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: self.sweepSome(at: milliseconds)) }
            }
            let (examined, forgotten) = try outcome.get()
            swept += forgotten
            if examined < CommitQueue.sweepSize { break }
        }
        return swept
    }

    private static let sweepSize = 100
    /// How often pages are given back when the store is closed, at most.
    private static let lastVacuums = 1000

    private func sweepSome(at now: Int) -> Result<(examined: Int, forgotten: [SessionID]), StoreError> {
        do throws(CommitFailure) {
            let swept = try withLedger { ledger throws(CommitFailure) in
                try ledger.sweep(at: now, limit: CommitQueue.sweepSize, tail)
            }
            sessionCount.subtract(swept.forgotten.count, ordering: .relaxed)
            waitForQuiet()
            return .success(swept)
        } catch {
            return .failure(take(error))
        }
    }

    /// Forgets a session, whatever its time.
    ///
    /// - Returns: whether it was there.
    func forget(_ id: SessionID) async throws(StoreError) -> Bool {
        let outcome: Result<Bool, CommitFailure> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(CommitFailure) in
                        try self.withLedger { ledger throws(CommitFailure) in
                            try ledger.compactAll(self.tail)
                            let isKnown = try ledger.forget(id, self.tail)
                            if isKnown { self.sessionCount.subtract(1, ordering: .relaxed) }
                            return isKnown
                        }
                    })
            }
        }
        do { return try outcome.get() } catch { throw take(error) }
    }

    /// Compacts what is left and closes the file; SQLite then copies its log into it.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.line.withLock { $0.failure = $0.failure ?? CommitQueue.closed }
                self.ledger.withLock { ledger in
                    // What cannot be compacted now is when the store is opened again.
                    try? ledger?.compactAll(self.tail)
                    for _ in 0..<CommitQueue.lastVacuums {
                        guard (try? ledger?.giveBackPages(self.tail)) == true else { break }
                    }
                    ledger?.close(self.tail)
                    ledger = nil
                }
                continuation.resume()
            }
        }
    }
}

extension Ledger {
    func compactAll(_ tail: SharedTail) throws(CommitFailure) {
        repeat {
            beginRound(tail)
            while hasChores { try doChores(of: 4096, tail) }
        } while tail.withLock { $0.recentCount > 0 }
    }

    /// Takes the lock that a commit needs, and gives it back.
    fileprivate func probe(_ tail: SharedTail) throws(CommitFailure) {
        try transaction(tail) {}
    }
}
