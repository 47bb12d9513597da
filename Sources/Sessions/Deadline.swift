internal import Synchronization

/// The work took longer than it may.
struct DeadlineExceeded: Error {}

/// Runs `work` and gives up waiting for it after `limit`; then it is cancelled, and its result thrown away when it comes.
///
/// The work starts at once on the caller's thread. When it never suspends, neither does this, and nothing is set up for
/// the deadline.
func withDeadline<Value: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Value
) async throws(DeadlineExceeded) -> Value {
    let flag = Flag()
    let task = Task.immediate {
        let value = await work()
        flag.isSet.store(true, ordering: .releasing)
        return value
    }
    if flag.isSet.load(ordering: .acquiring) { return await task.value }

    let outcome = FirstOutcome<Value>()
    Task { outcome.settle(await task.value) }
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

/// Whether the work has ended.
private final class Flag: Sendable {
    let isSet = Atomic(false)
}

/// Holds what is settled first: the value, or `nil` when the time was up. For one who waits.
private final class FirstOutcome<Value: Sendable>: Sendable {
    private struct State {
        var settled: Value??
        var waiting: CheckedContinuation<Value?, Never>?
    }

    private let state = Mutex(State())

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
