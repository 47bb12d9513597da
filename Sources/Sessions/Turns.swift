internal import Synchronization

/// Lets one event of a session through at a time, in the order of arrival.
final class Turns: Sendable {
    enum Entry: Sendable {
        /// It is the caller's turn; it must be given back by `leave`.
        case entered
        /// As many wait as may.
        case full
        /// There will be no turn any more.
        case closed
    }

    private struct State {
        var isTaken = false
        var isClosed = false
        var waiting: [CheckedContinuation<Entry, Never>] = []
    }

    private let state = Mutex(State())

    /// Takes the turn if it can be had; it must be given back by `leave`.
    func enterAtOnce() -> Bool {
        state.withLock { state in
            guard !state.isTaken, !state.isClosed else { return false }
            state.isTaken = true
            return true
        }
    }

    /// Waits for the turn.
    ///
    /// - Parameter limit: how many may wait.
    func enter(limit: Int) async -> Entry {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Entry? in
                if state.isClosed { return .closed }
                guard state.isTaken else {
                    state.isTaken = true
                    return .entered
                }
                guard state.waiting.count < limit else { return .full }
                state.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Hands the turn on to the one who waits longest.
    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Entry, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: .entered)
    }

    /// Whoever has the turn keeps it, and nobody will have it after: those who wait are told so.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: .closed) }
    }

    /// - Returns: whether nobody had the turn, so that nobody will have it again.
    func closeIfIdle() -> Bool {
        state.withLock { state in
            if !state.isTaken { state.isClosed = true }
            return state.isClosed
        }
    }
}
