internal import Coordinators
internal import Synchronization

/// How a transition ended: by itself, or `nil` when the time was up.
typealias TransitionOutcome = Result<TransitionResult, NavigationError>?

/// Carries out a transition and gives up waiting for it after `limit`; then it is cancelled, and its result thrown away
/// when it comes.
///
/// A task of its own starts at once on the caller's thread. When it never suspends, `completion` is called before this
/// returns, and no timer is set up.
func carryOut(
    _ run: TransitionRun, within limit: Duration, _ completion: @escaping @Sendable (TransitionOutcome) -> Void
) {
    let first = First(completion)
    let task = Task.immediate {
        do throws(NavigationError) {
            var run = run
            first.call(.success(try await run.result()))
        } catch {
            first.call(.failure(error))
        }
    }
    guard !first.isCalled else { return }
    let timer = Task {
        try await Task.sleep(for: limit)
        first.call(nil)
        task.cancel()
    }
    Task {
        await task.value
        timer.cancel()
    }
}

/// The same for one who can wait.
///
/// - Parameter refusal: what a transition's failure is to the caller.
func result(
    of run: TransitionRun, within limit: Duration, _ refusal: (NavigationError) -> SessionError
) async throws(SessionError) -> TransitionResult {
    let outcome = await withCheckedContinuation { continuation in
        carryOut(run, within: limit) { continuation.resume(returning: $0) }
    }
    switch outcome {
    case .success(let result)?: return result
    case .failure(let error)?: throw refusal(error)
    case nil: throw .deadlineExceeded
    }
}

/// A completion that is called once, by whoever is first.
private final class First: Sendable {
    private let called = Atomic(false)
    private let completion: @Sendable (TransitionOutcome) -> Void

    init(_ completion: @escaping @Sendable (TransitionOutcome) -> Void) {
        self.completion = completion
    }

    var isCalled: Bool { called.load(ordering: .acquiring) }

    func call(_ outcome: TransitionOutcome) {
        if !called.exchange(true, ordering: .acquiringAndReleasing) { completion(outcome) }
    }
}
