internal import Dispatch
internal import FoundationEssentials
internal import Sessions
internal import Synchronization

/// Chores, done while no commit is waiting.
extension CommitQueue {
    private static let quietTime = DispatchTimeInterval.milliseconds(200)
    private static let choreSize = 512

    func scheduleChores() {
        let lookCount = state.withLock { state -> Int? in
            if !doesChoresWhenQuiet || state.isTimerSet || state.failure != nil { return nil }
            state.isTimerSet = true
            return state.lookCount
        }
        guard let lookCount else { return }
        queue.asyncAfter(deadline: .now() + CommitQueue.quietTime) { self.doChores(since: lookCount) }
    }

    private func doChores(since lookCount: Int) {
        let isQuiet = state.withLock { state in
            state.isTimerSet = false
            return state.lookCount == lookCount && state.failure == nil
        }
        guard isQuiet else { return scheduleChores() }
        runChore { writer throws(CommitFailure) in
            // What came while a round was under way, the next one compacts: perhaps no other commit reminds of it.
            repeat {
                while writer.hasChores {
                    try writer.doChores(of: CommitQueue.choreSize)
                    if hasWaitingCommits { return }
                }
            } while beginRound(writer)
            while try giveBackPages(of: writer) {
                if hasWaitingCommits { return }
                try writer.checkpoint(from: JournalWriter.copiedLogLimit, reader)
            }
            try writer.checkpoint(from: JournalWriter.copiedLogLimit, reader)
        }
    }

    /// Does a slice of the chores, because a full store whose clients try again and again is never quiet.
    func makeRoom() {
        runChore { writer throws(CommitFailure) in
            beginRound(writer)
            if writer.hasChores { try writer.doChores(of: CommitQueue.choreSize) }
            noteSize(of: writer)
        }
    }

    /// Begins a round, unless there is one. Many sessions are put in order on another thread, because commits would wait for
    /// that.
    ///
    /// - Returns: whether one has begun at once.
    @discardableResult
    func beginRound(_ writer: JournalWriter) -> Bool {
        guard let content = writer.contentOfRound() else { return false }
        guard content.places.count > CommitQueue.choreSize else {
            writer.begin(CompactionRound(of: content))
            return true
        }
        DispatchQueue.global(qos: .utility).async {
            let round = CompactionRound(of: content)
            self.queue.async {
                self.writer.withLock { $0?.begin(round) }
                self.scheduleChores()
            }
        }
        return false
    }

    private func giveBackPages(of writer: JournalWriter) throws(CommitFailure) -> Bool {
        try writer.giveBackPages(keepsSpare: !reserve.withLock(\.isSpent))
    }

    private func noteSize(of writer: JournalWriter) {
        if let used = writer.usedBytes { usedBytes.store(used, ordering: .relaxed) }
    }

    /// Runs a chore. If it fails, it is tried again at the next quiet moment: nothing is lost, because the journal is
    /// complete.
    private func runChore(_ chore: (JournalWriter) throws(CommitFailure) -> Void) {
        do throws(CommitFailure) {
            try withWriter(mayUseReserve: true) { writer throws(CommitFailure) in
                // Otherwise the log would take the room that the file needs to grow.
                if reserve.withLock(\.isSpent) { try writer.checkpoint(from: 0, reader) }
                try chore(writer)
            }
        } catch {
            if case .unavailable(let reason) = handle(error) { troubles.report(.chore(reason)) }
        }
    }

    private var hasWaitingCommits: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Checks whether commits are possible, in case none has been tried for a while. Call now and then.
    ///
    /// - Parameter hasRoom: whether the disk has room for so many bytes, asked only if the last commit had none.
    func probe(_ hasRoom: @escaping @Sendable (Int) -> Bool) {
        queue.async {
            guard self.state.withLock({ $0.failure == nil }) else { return }
            do throws(CommitFailure) {
                try self.withWriter { writer throws(CommitFailure) in
                    // Acquires the lock that a commit needs, and releases it.
                    try writer.transaction {}
                    self.noteSize(of: writer)
                    self.troubles.noteLog(writer.logBytes)
                    if self.troubles.isFull, try writer.hasRoom { self.findRoom(hasRoom) }
                }
                self.troubles.logRoom()
                self.troubles.recover()
            } catch {
                if case .unavailable(let reason) = self.handle(error) { self.troubles.fail(reason) }
                return
            }
            // A store that is never quiet gives back free pages, too.
            self.runChore { writer throws(CommitFailure) in
                if try self.giveBackPages(of: writer) { self.scheduleChores() }
            }
        }
    }

    /// Looks for room for the reserve, if that is spent, and a few commits.
    private func findRoom(_ hasRoom: (Int) -> Bool) {
        let isFound = reserve.withLock { reserve in
            guard hasRoom(1 << 20 + reserve.missing) else { return false }
            if reserve.isSpent { reserve.fill() }
            return !reserve.isSpent
        }
        if isFound { troubles.setFull(false) }
    }

    /// Runs something on the writer's thread.
    ///
    /// - Parameter interrupts: whether it comes as soon as the batch is done that is being written; otherwise other
    ///   batches may come before.
    func run<Value: Sendable>(
        mayUseReserve: Bool = false, interrupts: Bool = true,
        _ body: @escaping @Sendable (JournalWriter) throws(CommitFailure) -> Value
    ) async throws(StoreError) -> Value {
        if interrupts { interruptions.add(1, ordering: .relaxed) }
        return try await queue.run { () throws(StoreError) in
            if interrupts { self.interruptions.subtract(1, ordering: .relaxed) }
            do throws(CommitFailure) {
                return try self.withWriter(mayUseReserve: mayUseReserve) { writer throws(CommitFailure) in
                    try body(writer)
                }
            } catch {
                // On this thread, so that the next batch finds a failed flush.
                throw self.handle(error)
            }
        }
    }

    /// How many times, at most, pages are given back when the store is closed.
    private static let lastVacuums = 1000

    /// Compacts what is left and closes the file; SQLite then copies its log into it.
    func close() async {
        await queue.run {
            self.state.withLock { $0.failure = $0.failure ?? CommitQueue.closed }
            self.writer.withLock { writer in
                // What cannot be compacted now is compacted when the store is opened again.
                try? writer?.compactAll()
                for _ in 0..<CommitQueue.lastVacuums {
                    guard let writer, (try? self.giveBackPages(of: writer)) == true else { break }
                }
                writer?.close()
                writer = nil
            }
            // So that the store can be opened again, whatever happens to the disk.
            self.reserve.withLock { if $0.isSpent { $0.fill() } }
        }
    }
}

extension JournalWriter {
    func compactAll() throws(CommitFailure) {
        repeat {
            isPreparing = false
            if let content = contentOfRound() { begin(CompactionRound(of: content)) }
            while hasChores { try doChores(of: 4096) }
        } while tail.withLock { $0.recentCount > 0 }
    }
}
