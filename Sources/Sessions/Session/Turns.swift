/// Lets one at a time through, in the order of arrival. Used under the lock of its owner; who waits is resumed behind that.
struct Turns {
    enum Entry: Sendable {
        /// It is the caller's turn; it must be given back by `leave`.
        case entered
        /// As many wait as may.
        case full
        /// There will be no turn any more.
        case closed
    }

    typealias Waiting = CheckedContinuation<Entry, Never>

    private var isTaken = false
    private var isClosed = false
    private var waiting: [Waiting] = []

    /// Takes the turn if it can be had.
    mutating func enterAtOnce() -> Bool {
        guard !isTaken, !isClosed else { return false }
        isTaken = true
        return true
    }

    /// - Parameter limit: how many may wait.
    /// - Returns: `nil` where it has to wait.
    mutating func enter(_ continuation: Waiting, limit: Int) -> Entry? {
        if isClosed { return .closed }
        if enterAtOnce() { return .entered }
        guard waiting.count < limit else { return .full }
        waiting.append(continuation)
        return nil
    }

    /// - Returns: the one who has the turn from now on, and is to be resumed.
    mutating func leave() -> Waiting? {
        isTaken = !waiting.isEmpty
        return isTaken ? waiting.removeFirst() : nil
    }

    /// Whoever has the turn keeps it, and nobody will have it after.
    ///
    /// - Returns: those who wait, to be told so.
    mutating func close() -> [Waiting] {
        isClosed = true
        defer { waiting = [] }
        return waiting
    }

    /// - Returns: whether nobody had the turn, so that nobody will have it again.
    mutating func closeIfIdle() -> Bool {
        if !isTaken { isClosed = true }
        return isClosed
    }
}
