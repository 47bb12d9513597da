package import Coordinators
internal import Synchronization

/// How a transition, or another call of an app, ended.
enum CallOutcome<Value: Sendable> {
    case done(Value)
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

/// Calls an app and stops waiting for it after `limit`: then its task is cancelled, and its result discarded when it
/// comes.
///
/// The task starts immediately on the caller's thread. If it never suspends, `completion` is called before this returns,
/// and no timer is started.
///
/// - Parameters:
///   - work: gets a function to call whenever a function of a coordinator is entered.
///   - late: what is reported of the call that is running at the deadline.
func carryOut<Value: Sendable>(
    within limit: Duration,
    _ work: @escaping @Sendable ((RunningCall) -> Void) async throws(NavigationError) -> Value,
    late: @escaping @Sendable (RunningCall?) -> SlowTransition,
    _ completion: @escaping @Sendable (CallOutcome<Value>) -> Void
) {
    let first = FirstOutcome(completion)
    let task = Task.immediate {
        do throws(NavigationError) {
            first.call(.done(try await work(first.enter)))
        } catch {
            first.call(.failed(error))
        }
    }
    guard !first.isCalled else { return }
    let timer = Task {
        try await Task.sleep(for: limit)
        first.call(.late(late(first.running)))
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
    try await outcome(of: run, within: limit).value(refusal)
}

/// Carries out a transition and waits for its result, for at most `limit`.
///
/// - Returns: `nil` if it takes longer.
package func result(
    of run: TransitionRun, within limit: Duration
) async throws(NavigationError) -> TransitionResult? {
    switch await outcome(of: run, within: limit) {
    case .done(let result): return result
    case .failed(let error): throw error
    case .late: return nil
    }
}

/// Makes the content of a screen, for at most `limit`.
func text(
    of run: ContentRun, within limit: Duration, _ refusal: (NavigationError) -> SessionError
) async throws(SessionError) -> [UInt8] {
    try await outcome(within: limit) { (_) async throws(NavigationError) in
        try await run.text()
    } late: { _ in
        SlowTransition(app: run.app, coordinator: run.coordinator, call: run.function, limit: limit)
    }.value(refusal)
}

private func outcome(of run: TransitionRun, within limit: Duration) async -> CallOutcome<TransitionResult> {
    // Not the run, which would be copied for it.
    let app = run.appName
    return await outcome(within: limit) { (enter) async throws(NavigationError) in
        var run = run
        return try await run.result(entering: enter)
    } late: { running in
        SlowTransition(
            app: app, coordinator: running?.coordinator, call: running?.function, limit: limit)
    }
}

private func outcome<Value: Sendable>(
    within limit: Duration,
    _ work: @escaping @Sendable ((RunningCall) -> Void) async throws(NavigationError) -> Value,
    late: @escaping @Sendable (RunningCall?) -> SlowTransition
) async -> CallOutcome<Value> {
    await withCheckedContinuation { continuation in
        carryOut(within: limit, work, late: late) { continuation.resume(returning: $0) }
    }
}

extension CallOutcome {
    fileprivate func value(_ refusal: (NavigationError) -> SessionError) throws(SessionError) -> Value {
        switch self {
        case .done(let value): return value
        case .failed(let error): throw refusal(error)
        case .late(let transition): throw .deadlineExceeded(transition)
        }
    }
}

/// Passes the first outcome to the completion and ignores later ones; records which call is running meanwhile.
private final class FirstOutcome<Value: Sendable>: Sendable {
    private let called = Atomic(false)
    private let entered = Mutex<RunningCall?>(nil)
    private let completion: @Sendable (CallOutcome<Value>) -> Void

    init(_ completion: @escaping @Sendable (CallOutcome<Value>) -> Void) {
        self.completion = completion
    }

    var isCalled: Bool { called.load(ordering: .acquiring) }

    var running: RunningCall? { entered.withLock { $0 } }

    func enter(_ running: RunningCall) {
        entered.withLock { $0 = running }
    }

    func call(_ outcome: CallOutcome<Value>) {
        if !called.exchange(true, ordering: .acquiringAndReleasing) { completion(outcome) }
    }
}
