package import Coordinators
internal import Dispatch
internal import Measures
internal import Synchronization

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

/// What a server wants to know of its apps' functions.
package final class CallWatch: Sendable {
    /// How long a transition may take.
    let limit: Duration
    private let running = Atomic(0)
    /// Is told of a function that has blocked its thread.
    let reportBlocking: @Sendable (_ app: String, RunningCall) -> Void

    package init(
        limit: Duration, reportBlocking: @escaping @Sendable (_ app: String, RunningCall) -> Void = { _, _ in }
    ) {
        self.limit = limit
        self.reportBlocking = reportBlocking
    }

    /// The calls that are running after their deadline.
    package var lateCalls: Int { running.load(ordering: .relaxed) }

    fileprivate func countLate(_ change: Int) { running.add(change, ordering: .relaxed) }
}

/// How a transition, or another call of an app, ended.
enum CallOutcome<Value: Sendable>: Sendable {
    case done(Value)
    case failed(NavigationError)
    /// The deadline has passed.
    case late(SlowTransition)

    /// - Parameter refusal: returns the error to throw for a failed call.
    func value(_ refusal: (NavigationError) -> SessionError) throws(SessionError) -> Value {
        switch self {
        case .done(let value): return value
        case .failed(let error): throw refusal(error)
        case .late(let transition): throw .deadlineExceeded(transition)
        }
    }
}

/// A transition that has begun, in one place, so that it is not copied. Unchecked: only the call's task uses it, until
/// it has ended.
final class RunningTransition: @unchecked Sendable {
    @exclusivity(unchecked) private var run: TransitionRun
    private var result: TransitionResult?

    init(_ run: consuming TransitionRun) {
        self.run = run
    }

    /// Carries it out, and waits for its result until the deadline.
    func outcome(_ watch: CallWatch) async -> CallOutcome<TransitionResult> {
        let call = AppCall(of: run.appName, watch)
        run.observer = call
        let ending = await call.ending { () async throws(NavigationError) in
            self.result = try await self.run.result()
        }
        return ending.outcome { result }
    }
}

/// Carries out a transition, and waits for its result until the deadline.
///
/// - Returns: `nil` if it takes longer.
package func result(
    of run: consuming TransitionRun, _ watch: CallWatch
) async throws(NavigationError) -> TransitionResult? {
    switch await RunningTransition(run).outcome(watch) {
    case .done(let result): return result
    case .failed(let error): throw error
    case .late: return nil
    }
}

/// Makes the content of a screen, and waits for its text until the deadline.
func outcome(of content: ContentRun, _ watch: CallWatch) async -> CallOutcome<[UInt8]> {
    let call = AppCall(of: content.app, watch)
    let made = MadeText()
    let ending = await call.ending { () async throws(NavigationError) in
        let text = try await content.text(observer: call)
        made.text.withLock { $0 = text }
    }
    return ending.outcome { made.text.withLock(\.self) }
}

private final class MadeText: Sendable {
    let text = Mutex<[UInt8]?>(nil)
}

/// One call of an app, for whose end somebody waits until the deadline. Then its task is cancelled, and its result is
/// discarded when it comes.
private final class AppCall: CallObserver {
    enum Ending {
        case done
        case failed(NavigationError)
        case late(SlowTransition)

        /// - Parameter value: has the result if the call is done.
        func outcome<Value>(_ value: () -> Value?) -> CallOutcome<Value> {
            switch self {
            case .done:
                guard let value = value() else { preconditionFailure("a call that is done has a result") }
                return .done(value)
            case .failed(let error): return .failed(error)
            case .late(let transition): return .late(transition)
            }
        }
    }

    typealias Waiting = UnsafeContinuation<Ending, Never>

    private struct State {
        /// The first one; later ones are ignored.
        var ending: Ending?
        var waiting: Waiting?
        /// The function that is running, and since when, in nanoseconds of monotonic time.
        var running: RunningCall?
        var began = 0
    }

    private let app: String
    private let watch: CallWatch
    private let state = Mutex(State())
    /// Whether this is the call's first part, which runs on its caller's thread: that of a connection.
    private let isOnCallersThread = Atomic(true)

    init(of app: String, _ watch: CallWatch) {
        self.app = app
        self.watch = watch
    }

    /// Begins at once, on the caller's thread. If the app neither suspends nor blocks, nothing more is needed.
    func ending(of work: @escaping @Sendable () async throws(NavigationError) -> Void) async -> Ending {
        let task = Task.immediate(executorPreference: HandlerPool.shared) {
            let ending: Ending
            do throws(NavigationError) {
                try await work()
                ending = .done
            } catch {
                ending = .failed(error)
            }
            // The deadline has passed before.
            if !settle(ending) { countLate(-1) }
        }
        if let ending = leaveCallersThread() { return ending }
        let timer = HandlerPool.shared.timer(after: watch.limit) { [self] in
            // Before somebody learns of it.
            countLate(1)
            guard settle(.late(slowTransition)) else { return countLate(-1) }
            task.cancel()
        }
        defer { timer.cancel() }
        return await withUnsafeContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting = continuation }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// - Returns: the ending, if there is one.
    private func leaveCallersThread() -> Ending? {
        isOnCallersThread.store(false, ordering: .relaxed)
        let (ending, running, began) = state.withLock { ($0.ending, $0.running, $0.began) }
        if ending == nil, let running { hasLeft(running, since: began) }
        return ending
    }

    /// The function has returned, or suspended, on the caller's thread.
    private func hasLeft(_ call: RunningCall, since began: Int) {
        if call.conduct.end(after: MonotonicTime.nanoseconds - began) { watch.reportBlocking(app, call) }
    }

    /// - Returns: `false` if the call had ended before.
    private func settle(_ ending: Ending) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, Waiting?) in
            guard state.ending == nil else { return (false, nil) }
            state.ending = ending
            return (true, state.waiting)
        }
        waiting?.resume(returning: ending)
        return isFirst
    }

    private var slowTransition: SlowTransition {
        let running = state.withLock { $0.running }
        return SlowTransition(
            app: app, coordinator: running?.coordinator, call: running?.function, limit: watch.limit)
    }

    private func countLate(_ change: Int) {
        watch.countLate(change)
        let running = state.withLock { $0.running }
        running?.conduct.countLate(change)
    }

    func enter(_ call: RunningCall) throws(Overloaded) -> Bool {
        guard !call.conduct.isExhausted else { throw Overloaded(retryAfter: 10) }
        let now = MonotonicTime.nanoseconds
        state.withLock { state in
            // Of a call that is late, the function that was running at the deadline is counted.
            if case .late? = state.ending { return }
            state.running = call
            state.began = now
        }
        return !isOnCallersThread.load(ordering: .relaxed) || call.conduct.begin(at: now)
    }

    func leaveThread() async {
        // Whoever is resumed goes on in the pool; but a continuation that is resumed at once has not suspended.
        while isOnCallersThread.load(ordering: .relaxed) {
            await withUnsafeContinuation { continuation in HandlerPool.shared.later { continuation.resume() } }
        }
    }

    func leave(_ call: RunningCall) {
        let began = state.withLock { $0.began }
        if isOnCallersThread.load(ordering: .relaxed) {
            hasLeft(call, since: began)
        } else {
            call.conduct.prove(by: MonotonicTime.nanoseconds - began)
        }
    }
}

/// Threads for what must not run on a connection's thread: functions of coordinators that may block, and what is left of
/// those that have suspended.
private final class HandlerPool: TaskExecutor {
    static let shared = HandlerPool()

    private struct State {
        /// Serial queues, because the system has a thread at once for each of them, however many others are blocked.
        var free = (0..<HandlerPool.size).map { DispatchQueue(label: "handlers.\($0)") }
        var waiting: [UnownedJob] = []
    }

    private static let size = 128
    private let state = Mutex(State())
    private let clock = DispatchQueue(label: "deadlines")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let queue = state.withLock { state in
            if state.free.isEmpty { state.waiting.append(job) }
            return state.free.popLast()
        }
        queue?.async { self.run(job, on: queue) }
    }

    /// Runs the job, then those that wait.
    private func run(_ first: UnownedJob, on queue: DispatchQueue?) {
        var next: UnownedJob? = first
        while let job = next {
            job.runSynchronously(on: asUnownedTaskExecutor())
            next = state.withLock { state in
                if state.waiting.isEmpty { queue.map { state.free.append($0) } }
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
        }
    }

    func later(_ action: @escaping @Sendable () -> Void) { clock.async(execute: action) }

    /// Must be cancelled.
    func timer(after duration: Duration, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: clock)
        timer.schedule(deadline: .now() + duration / .seconds(1))
        timer.setEventHandler(handler: action)
        timer.activate()
        return timer
    }
}
