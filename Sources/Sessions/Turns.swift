internal import Synchronization

/// Lets one event of a session through at a time, in the order of arrival.
final class Turns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Takes the turn if nobody has it; it must be given back by `leave`.
    func enterAtOnce() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken
        }
    }

    /// Waits for the turn; it must be given back by `leave`.
    ///
    /// - Returns: `false` when `limit` are waiting already: the turn was not taken.
    func enter(limit: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                guard state.waiting.count < limit else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Hands the turn on to the one who waits longest.
    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
