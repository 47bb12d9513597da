internal import Coordinators
internal import Synchronization

/// Carries out a transition and gives up waiting for it after `limit`; then it is cancelled, and its result thrown away
/// when it comes: `SessionError.deadlineExceeded`.
///
/// A task of its own starts at once on the caller's thread. When it never suspends, neither does this, and no timer is
/// set up.
func outcome(
    of run: TransitionRun, within limit: Duration
) async throws(SessionError) -> Result<TransitionResult, NavigationError> {
    let pending = PendingTransition()
    let task = Task.immediate {
        do throws(NavigationError) {
            var run = run
            pending.settle(.success(try await run.result()))
        } catch {
            pending.settle(.failure(error))
        }
    }
    if let outcome = pending.takeSettled() { return outcome }

    let timer = Task {
        try await Task.sleep(for: limit)
        pending.settle(nil)
    }
    let outcome = await pending.outcome
    timer.cancel()
    guard let outcome else {
        task.cancel()
        throw .deadlineExceeded
    }
    return outcome
}

private typealias TransitionOutcome = Result<TransitionResult, NavigationError>

/// Holds what is settled first: the outcome, or `nil` when the time was up. For one who waits.
private final class PendingTransition: Sendable {
    private struct State {
        var settled: TransitionOutcome??
        var waiting: CheckedContinuation<TransitionOutcome?, Never>?
    }

    private let state = Mutex(State())

    func settle(_ outcome: TransitionOutcome?) {
        let waiting = state.withLock { state -> CheckedContinuation<TransitionOutcome?, Never>? in
            guard state.settled == nil else { return nil }
            state.settled = .some(outcome)
            return state.waiting.take()
        }
        waiting?.resume(returning: outcome)
    }

    /// The outcome, when it is there already; it is not kept.
    func takeSettled() -> TransitionOutcome? { state.withLock { $0.settled.take() ?? nil } }

    var outcome: TransitionOutcome? {
        get async {
            await withCheckedContinuation { continuation in
                let settled = state.withLock { state -> TransitionOutcome?? in
                    if state.settled == nil { state.waiting = continuation }
                    return state.settled
                }
                if let settled { continuation.resume(returning: settled) }
            }
        }
    }
}
