internal import Coordinators
internal import Synchronization

/// How a transition ended.
enum TransitionOutcome {
    case done(TransitionResult)
    case failed(NavigationError)
    /// The deadline has passed.
    case late(SlowTransition)
}

/// A transition that took too long.
public struct SlowTransition: Equatable, Sendable {
    public let app: String
    /// The coordinator that was running at the deadline, and its function; `nil` if none had been called yet.
    public let coordinator: String?
    public let call: String?
    /// How long it was allowed to take.
    public let limit: Duration

    public init(app: String, coordinator: String?, call: String?, limit: Duration) {
        self.app = app
        self.coordinator = coordinator
        self.call = call
        self.limit = limit
    }
}

/// Carries out a transition and stops waiting for it after `limit`: then the transition is cancelled, and its result
/// discarded when it comes.
///
/// The transition's task starts immediately on the caller's thread. If it never suspends, `completion` is called before
/// this returns, and no timer is started.
func carryOut(
    _ run: TransitionRun, within limit: Duration, _ completion: @escaping @Sendable (TransitionOutcome) -> Void
) {
    let first = FirstOutcome(completion)
    let task = Task.immediate {
        do throws(NavigationError) {
            var run = run
            first.call(.done(try await run.result(entering: first.enter)))
        } catch {
            first.call(.failed(error))
        }
    }
    guard !first.isCalled else { return }
    let timer = Task {
        try await Task.sleep(for: limit)
        let running = first.running
        first.call(
            .late(
                SlowTransition(
                    app: run.appName, coordinator: running?.coordinator, call: running?.function, limit: limit)))
        task.cancel()
    }
    Task {
        await task.value
        timer.cancel()
    }
}

/// Carries out a transition and waits for its result, for at most `limit`.
///
/// - Parameter refusal: returns the error to throw for a failed transition.
func result(
    of run: TransitionRun, within limit: Duration, _ refusal: (NavigationError) -> SessionError
) async throws(SessionError) -> TransitionResult {
    let outcome = await withCheckedContinuation { continuation in
        carryOut(run, within: limit) { continuation.resume(returning: $0) }
    }
    switch outcome {
    case .done(let result): return result
    case .failed(let error): throw refusal(error)
    case .late(let transition): throw .deadlineExceeded(transition)
    }
}

/// Passes the first outcome to the completion and ignores later ones; records which call is running meanwhile.
private final class FirstOutcome: Sendable {
    private let called = Atomic(false)
    private let entered = Mutex<RunningCall?>(nil)
    private let completion: @Sendable (TransitionOutcome) -> Void

    init(_ completion: @escaping @Sendable (TransitionOutcome) -> Void) {
        self.completion = completion
    }

    var isCalled: Bool { called.load(ordering: .acquiring) }

    var running: RunningCall? { entered.withLock { $0 } }

    func enter(_ running: RunningCall) {
        entered.withLock { $0 = running }
    }

    func call(_ outcome: TransitionOutcome) {
        if !called.exchange(true, ordering: .acquiringAndReleasing) { completion(outcome) }
    }
}
