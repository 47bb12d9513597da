internal import Synchronization

/// The work took longer than it may.
struct DeadlineExceeded: Error {}

/// Runs `work` and gives up waiting for it after `limit`; then it is cancelled, and its result thrown away when it comes.
///
/// The work starts at once on the caller's thread. When it never suspends, neither does this, and no timer is set.
func withDeadline<Value: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Value
) async throws(DeadlineExceeded) -> Value {
    let outcome = FirstOutcome<Value>()
    let task = Task.immediate { outcome.settle(await work()) }
    if case .some(.some(let value)) = outcome.settled { return value }
    let timer = Task {
        try await Task.sleep(for: limit)
        outcome.settle(nil)
    }
    let value = await outcome.value
    timer.cancel()
    guard let value else {
        task.cancel()
        throw DeadlineExceeded()
    }
    return value
}

/// Holds what is settled first: the value, or `nil` when the time was up. For one who waits.
private final class FirstOutcome<Value: Sendable>: Sendable {
    private struct State {
        var settled: Value??
        var waiting: CheckedContinuation<Value?, Never>?
    }

    private let state = Mutex(State())

    var settled: Value?? {
        state.withLock { $0.settled }
    }

    func settle(_ value: Value?) {
        let waiting = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            guard state.settled == nil else { return nil }
            state.settled = .some(value)
            return state.waiting.take()
        }
        waiting?.resume(returning: value)
    }

    var value: Value? {
        get async {
            await withCheckedContinuation { continuation in
                let settled = state.withLock { state -> Value?? in
                    if state.settled == nil { state.waiting = continuation }
                    return state.settled
                }
                if let settled { continuation.resume(returning: settled) }
            }
        }
    }
}
