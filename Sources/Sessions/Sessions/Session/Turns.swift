internal import Synchronization

/// Lets one caller at a time through, in order of arrival. Used under its owner's lock; waiting callers are resumed
/// after the lock is released.
struct Turns {
    enum Entry: Sendable {
        /// The caller has the turn, and must give it back by `leave`.
        case entered
        /// As many callers wait already as `limit` allows.
        case full
        /// Nobody gets a turn any more.
        case closed
    }

    typealias Waiting = CheckedContinuation<Entry, Never>

    private var isTaken = false
    private var isClosed = false
    private var waiting: [Waiting] = []
    /// How many callers have got the turn since somebody last had it without having to wait.
    private(set) var successive = 0

    /// Takes the turn if it is free.
    mutating func enterAtOnce() -> Bool {
        guard !isTaken, !isClosed else { return false }
        isTaken = true
        return true
    }

    /// - Parameter limit: how many may wait.
    /// - Returns: `nil` if the caller has to wait.
    mutating func enter(_ continuation: Waiting, limit: Int) -> Entry? {
        if isClosed { return .closed }
        if enterAtOnce() { return .entered }
        guard waiting.count < limit else { return .full }
        waiting.append(continuation)
        return nil
    }

    /// - Returns: the waiting caller that now has the turn, to be resumed; `nil` if nobody waits.
    mutating func leave() -> Waiting? {
        isTaken = !waiting.isEmpty
        successive = isTaken ? successive + 1 : 0
        return isTaken ? waiting.removeFirst() : nil
    }

    /// Whoever has the turn keeps it, and nobody gets it afterwards.
    ///
    /// - Returns: the waiting callers, to be resumed with `closed`.
    mutating func close() -> [Waiting] {
        isClosed = true
        defer { waiting = [] }
        return waiting
    }

    /// Closes the queue if nobody has the turn.
    ///
    /// - Returns: whether the queue is closed.
    mutating func closeIfIdle() -> Bool {
        if !isTaken { isClosed = true }
        return isClosed
    }
}

/// Turns by session id; the session need not exist yet.
final class KeyedTurns: Sendable {
    private let turns = Mutex<[SessionID: Turns]>([:])

    /// Does the work after all earlier work of the same id.
    func inTurn<Value, Failure: Error>(
        _ id: SessionID, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        _ = await withCheckedContinuation { continuation in
            let entry = turns.withLock { $0[id, default: Turns()].enter(continuation, limit: .max) }
            if let entry { continuation.resume(returning: entry) }
        }
        defer {
            let next = turns.withLock { turns in
                let next = turns[id]?.leave()
                if next == nil { turns[id] = nil }
                return next
            }
            next?.resume(returning: .entered)
        }
        return try await work()
    }
}
