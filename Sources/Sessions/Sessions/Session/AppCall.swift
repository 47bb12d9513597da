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
}

/// For tests: receives, for each call of an app that has suspended, what happens at its deadline, so that a test can let
/// the deadline pass at a certain moment.
package typealias DeadlineObserver = @Sendable (_ pass: @escaping @Sendable () -> Void) -> Void

/// The time limit for calls of apps, and the number of calls that exceed it.
package final class CallWatch: Sendable {
    /// For all functions of one transition together.
    let limit: Duration
    /// Called with a function that has blocked a thread that serves connections. `nil` if no such thread makes the
    /// calls: then nothing is learned about how functions behave.
    let reportBlocking: (@Sendable (_ app: String, RunningCall) -> Void)?
    fileprivate let observeDeadline: DeadlineObserver?
    /// Where calls in the background run; `nil` for threads that they may block.
    fileprivate let executor: (any TaskExecutor)?
    fileprivate let late = Atomic(0)

    package init(
        limit: Duration, observeDeadline: DeadlineObserver? = nil,
        reportBlocking: (@Sendable (_ app: String, RunningCall) -> Void)? = nil, executor: (any TaskExecutor)? = nil
    ) {
        self.limit = limit
        self.observeDeadline = observeDeadline
        self.reportBlocking = reportBlocking
        self.executor = executor
    }

    /// The calls that are running after their deadline.
    package var lateCalls: Int { late.load(ordering: .relaxed) }
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

/// A transition that has begun; a class, so that the run is not copied. Unchecked: only the call's task uses the run
/// and the outcome until that has ended.
final class RunningTransition: @unchecked Sendable {
    @exclusivity(unchecked) private var run: TransitionRun
    /// Set when it has ended.
    private var outcome: CallOutcome<TransitionResult>!

    /// - Parameter origin: `nil` if the transition is of no session.
    init(_ run: consuming TransitionRun, from origin: HostOrigin? = nil) {
        self.run = run
        guard let origin else { return }
        self.run.origin = origin
        self.run.wrapper = origin.wrapper(for: self.run.appName)
    }

    /// Carries it out, and waits for its result until the deadline.
    func outcome(_ watch: CallWatch) async -> CallOutcome<TransitionResult> {
        let call = AppCall(of: run.appName, watch)
        run.observer = watch.reportBlocking == nil ? nil : call
        let delay = await call.delay {
            do throws(NavigationError) {
                self.outcome = .done(try await self.run.result())
            } catch {
                self.outcome = .failed(error)
            }
        }
        guard let delay else { return outcome }
        return call.spare.map { .done($0) } ?? .late(delay)
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
    let made = Mutex<CallOutcome<[UInt8]>?>(nil)
    let delay = await call.delay {
        let outcome: CallOutcome<[UInt8]>
        do throws(NavigationError) {
            outcome = .done(try await content.text(observer: watch.reportBlocking == nil ? nil : call))
        } catch {
            outcome = .failed(error)
        }
        made.withLock { $0 = outcome }
    }
    return delay.map { .late($0) } ?? made.withLock { $0! }
}

/// Makes an attempt of an effect, and waits for its end until the deadline, or until the current task is cancelled.
func outcome(
    of effect: EffectRun, _ watch: CallWatch, _ wrapper: CallWrapper?
) async -> Result<SentSignal?, any Error> {
    let call = AppCall(of: effect.app, watch, isInBackground: true)
    let made = Mutex<Result<SentSignal?, any Error>?>(nil)
    let delay = await call.delay {
        let outcome: Result<SentSignal?, any Error>
        do {
            outcome = .success(try await effect.signal(observer: call, wrapper: wrapper))
        } catch {
            outcome = .failure(error)
        }
        made.withLock { $0 = outcome }
    }
    return delay == nil ? made.withLock { $0! } : .failure(EffectDeadlineExceeded())
}

/// One call of an app. Its caller waits for its end until the deadline. Then its task is cancelled, and a result that
/// comes later is discarded.
///
/// One case is not covered: a function that had always returned at once, and now blocks the thread of a connection.
/// Until it returns, nothing can be sent on that connection, so the deadline is only noticed afterwards.
private final class AppCall: CallObserver {
    private enum Ending {
        case inTime
        /// The deadline has passed, with this function running.
        case late(SlowTransition, FunctionConduct?)
    }

    private typealias Waiting = UnsafeContinuation<SlowTransition?, Never>

    private struct State {
        /// The first one; later ones are ignored.
        var ending: Ending?
        var waiting: Waiting?
        /// Whether this is the call's first part, which runs on its caller's thread: that of a connection.
        var isOnCallersThread: Bool
        /// The function that is running, and since when, in nanoseconds of monotonic time.
        var running: RunningCall?
        var began = 0
        var spare: TransitionResult?
    }

    private let app: String
    private let watch: CallWatch
    private let isInBackground: Bool
    private let state: Mutex<State>

    /// - Parameter isInBackground: whether nobody waits for it on a thread that serves connections: then it never runs
    ///   on its caller's thread, and is given up when the current task is cancelled, as at the deadline.
    init(of app: String, _ watch: CallWatch, isInBackground: Bool = false) {
        self.app = app
        self.watch = watch
        self.isInBackground = isInBackground
        self.state = Mutex(State(isOnCallersThread: !isInBackground))
    }

    /// Carries out the work, and waits for its end until the deadline.
    ///
    /// It begins at once, on the caller's thread. If the app neither suspends nor blocks, nothing more is needed.
    ///
    /// - Returns: what took too long; `nil` if the work has ended in time.
    func delay(of work: @escaping @Sendable () async -> Void) async -> SlowTransition? {
        if isInBackground { return await delayInBackground(of: work) }
        let start = MonotonicTime.nanoseconds
        let task = Task.immediate(executorPreference: HandlerPool.shared) {
            await work()
            self.settle()
        }
        let passed = Duration.nanoseconds(MonotonicTime.nanoseconds - start)
        if leaveCallersThread() {
            // It has blocked this thread.
            return passed < watch.limit ? nil : slowTransition(nil)
        }
        return await delay(of: task, within: watch.limit - passed)
    }

    private func delayInBackground(of work: @escaping @Sendable () async -> Void) async -> SlowTransition? {
        let task = Task(executorPreference: watch.executor ?? HandlerPool.shared) {
            await work()
            self.settle()
        }
        return await withTaskCancellationHandler {
            await delay(of: task, within: watch.limit)
        } onCancel: {
            giveUp(task)
        }
    }

    /// Waits for the ending.
    private func delay(of task: Task<Void, Never>, within limit: Duration) async -> SlowTransition? {
        let giveUp = { @Sendable in self.giveUp(task) }
        let timer = HandlerPool.shared.timer(after: limit, giveUp)
        defer { timer.cancel() }
        watch.observeDeadline?(giveUp)
        return await withUnsafeContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting = continuation }
                return state.ending
            }
            switch ending {
            case .inTime?: continuation.resume(returning: nil)
            case .late(let transition, _)?: continuation.resume(returning: transition)
            case nil: break
            }
        }
    }

    /// - Returns: whether the work has ended.
    private func leaveCallersThread() -> Bool {
        let (hasEnded, running, began) = state.withLock { state in
            state.isOnCallersThread = false
            return (state.ending != nil, state.running, state.began)
        }
        if let running { endOnCallersThread(running, began) }
        return hasEnded
    }

    /// A function has returned, or suspended, on the caller's thread.
    private func endOnCallersThread(_ call: RunningCall, _ began: Int) {
        if call.conduct.end(began, at: MonotonicTime.nanoseconds) { watch.reportBlocking?(app, call) }
    }

    /// The work has ended.
    private func settle() {
        let (earlier, waiting) = state.withLock { state in
            let earlier = state.ending
            if earlier == nil { state.ending = .inTime }
            return (earlier, state.waiting)
        }
        if case .late(_, let conduct)? = earlier { return countLate(-1, conduct) }
        waiting?.resume(returning: nil)
    }

    /// The deadline has passed. Nothing happens if the work has ended before.
    private func giveUp(_ task: Task<Void, Never>) {
        let late = state.withLock { state -> (SlowTransition, FunctionConduct?, Waiting?)? in
            guard state.ending == nil else { return nil }
            let (transition, conduct) = (slowTransition(state.running), state.running?.conduct)
            state.ending = .late(transition, conduct)
            return (transition, conduct, state.waiting)
        }
        guard let (transition, conduct, waiting) = late else { return }
        // First, so that whoever learns of it finds it counted.
        countLate(1, conduct)
        waiting?.resume(returning: transition)
        task.cancel()
    }

    private func slowTransition(_ running: RunningCall?) -> SlowTransition {
        SlowTransition(app: app, coordinator: running?.coordinator, call: running?.function, limit: watch.limit)
    }

    private func countLate(_ change: Int, _ conduct: FunctionConduct?) {
        watch.late.add(change, ordering: .relaxed)
        conduct?.countLate(change)
    }

    func enter(_ call: RunningCall) throws(Overloaded) -> Bool {
        guard !call.conduct.isExhausted else { throw Overloaded(retryAfter: 10) }
        let now = MonotonicTime.nanoseconds
        let (isOnCallersThread, isOver) = state.withLock { ($0.isOnCallersThread, $0.ending != nil) }
        // Its deadline has passed: nothing that it would do counts.
        if isOver { throw Overloaded() }
        // A thread of the pool, but one that the function may hold.
        if isInBackground { return false }
        if isOnCallersThread {
            switch call.conduct.begin(at: now) {
            case .here: break
            case .elsewhere: return false
            case .elsewhereFromNow:
                watch.reportBlocking?(app, call)
                return false
            }
        }
        note(call, at: now)
        return true
    }

    private func note(_ call: RunningCall, at now: Int) {
        state.withLock { state in
            state.running = call
            state.began = now
        }
    }

    /// Moves the call to a thread of the pool. The time that it waits for the thread is not counted as the function's.
    func leaveThread(for call: RunningCall) async throws(Overloaded) {
        // A task that is resumed continues in the pool; but a continuation that is resumed at once does not suspend it.
        while state.withLock({ $0.isOnCallersThread }) {
            await withUnsafeContinuation { continuation in HandlerPool.shared.runLater { continuation.resume() } }
        }
        guard state.withLock({ $0.ending == nil }), PoolThread.hold(by: call.conduct) else { throw Overloaded() }
        note(call, at: MonotonicTime.nanoseconds)
    }

    func keep(_ spare: TransitionResult) {
        state.withLock { if $0.ending == nil { $0.spare = spare } }
    }

    /// The result that counts after the deadline; `nil` if there is none.
    var spare: TransitionResult? { state.withLock(\.spare) }

    func leave(_ call: RunningCall) {
        let (isOnCallersThread, began) = state.withLock { state in
            state.running = nil
            return (state.isOnCallersThread, state.began)
        }
        if isOnCallersThread { return endOnCallersThread(call, began) }
        call.conduct.prove(by: MonotonicTime.nanoseconds - began)
    }
}

/// Threads for what must not run on a connection's thread: functions of coordinators that may block, and the rest of
/// functions that have suspended.
private final class HandlerPool: TaskExecutor {
    static let shared = HandlerPool()

    private struct State {
        var free = (0..<HandlerPool.size).map(PoolThread.init)
        var waiting: [UnownedJob] = []
        /// The first of those that wait.
        var first = 0

        mutating func next() -> UnownedJob? {
            guard first < waiting.count else { return nil }
            defer {
                first += 1
                if first == waiting.count { (waiting, first) = ([], 0) }
            }
            return waiting[first]
        }
    }

    private static let size = 256
    private let state = Mutex(State())
    private let clock = DispatchQueue(label: "deadlines")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let thread = state.withLock { state in
            if state.free.isEmpty { state.waiting.append(job) }
            return state.free.popLast()
        }
        if let thread { thread.queue.async { self.run(job, on: thread) } }
    }

    /// Runs the job, then those that wait.
    private func run(_ first: UnownedJob, on thread: PoolThread) {
        var next: UnownedJob? = first
        while let job = next {
            job.runSynchronously(on: asUnownedTaskExecutor())
            thread.release()
            next = state.withLock { state in
                let next = state.next()
                if next == nil { state.free.append(thread) }
                return next
            }
        }
    }

    func runLater(_ action: @escaping @Sendable () -> Void) { clock.async(execute: action) }

    /// Calls `action` when `duration` has passed. The caller must cancel the timer.
    func timer(after duration: Duration, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: clock)
        timer.schedule(deadline: .now() + duration / .seconds(1))
        timer.setEventHandler(handler: action)
        timer.activate()
        return timer
    }
}

/// A thread of the pool, and which function holds it.
private final class PoolThread: Sendable {
    private static let current = DispatchSpecificKey<PoolThread>()

    /// Serial, because the system has a thread at once for each such queue, however many others are blocked.
    let queue: DispatchQueue
    private let holder = Mutex<FunctionConduct?>(nil)

    init(number: Int) {
        queue = DispatchQueue(label: "handlers.\(number)")
        queue.setSpecific(key: PoolThread.current, value: self)
    }

    /// Notes that a function holds the current thread until the job that is running has ended.
    ///
    /// - Returns: `false` if it holds too many.
    static func hold(by conduct: FunctionConduct) -> Bool {
        guard let thread = DispatchQueue.getSpecific(key: current) else { return true }
        thread.release()
        guard conduct.takeThread() else { return false }
        thread.holder.withLock { $0 = conduct }
        return true
    }

    func release() {
        let conduct = holder.withLock { holder in
            defer { holder = nil }
            return holder
        }
        conduct?.giveThreadBack()
    }
}
