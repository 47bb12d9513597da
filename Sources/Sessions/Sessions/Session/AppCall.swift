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
    private let late = Atomic(0)

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

    fileprivate func countLate(_ change: Int) { late.add(change, ordering: .relaxed) }
}

/// How a transition, or another call of an app, ended.
enum CallOutcome<Value: Sendable>: Sendable {
    case done(Value)
    case failed(NavigationError)
    /// The deadline has passed.
    case late(SlowTransition)

    func map<Result>(_ transform: (Value) -> Result) -> CallOutcome<Result> {
        switch self {
        case .done(let value): .done(transform(value))
        case .failed(let error): .failed(error)
        case .late(let transition): .late(transition)
        }
    }

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
/// until that has ended.
final class RunningTransition: @unchecked Sendable {
    @exclusivity(unchecked) private var run: TransitionRun
    /// Set when it is done.
    private var result: TransitionResult!

    init(_ run: consuming TransitionRun) {
        self.run = run
    }

    /// Carries it out, and waits for its result until the deadline.
    func outcome(_ watch: CallWatch) async -> CallOutcome<TransitionResult> {
        let call = AppCall(of: run.appName, watch)
        run.observer = watch.reportBlocking == nil ? nil : call
        let ending = await call.ending { () async throws(NavigationError) in
            self.result = try await self.run.result()
        }
        if case .late = ending, let spare = call.spare { return .done(spare) }
        return ending.map { result }
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
        let text = try await content.text(observer: watch.reportBlocking == nil ? nil : call)
        made.text.withLock { $0 = text }
    }
    return ending.map { made.text.withLock { $0 } }
}

/// Makes an attempt of an effect, and waits for its end until the deadline, or until the current task is cancelled.
func outcome(
    of effect: EffectRun, _ watch: CallWatch, _ wrapper: CallWrapper?
) async -> Result<SentSignal?, any Error> {
    let call = AppCall(of: effect.app, watch, isInBackground: true)
    let kept = EffectResult()
    let ending = await call.ending { () async throws(NavigationError) in
        do {
            let signal = try await effect.signal(observer: call, wrapper: wrapper)
            kept.result.withLock { $0 = .success(signal) }
        } catch {
            kept.result.withLock { $0 = .failure(error) }
        }
    }
    if case .late = ending { return .failure(EffectDeadlineExceeded()) }
    return kept.result.withLock { $0 } ?? .failure(CancellationError())
}

private final class EffectResult: Sendable {
    let result = Mutex<Result<SentSignal?, any Error>?>(nil)
}

private final class MadeText: Sendable {
    let text = Mutex<[UInt8]>([])
}

/// One call of an app. Its caller waits for its end until the deadline. Then its task is cancelled, and a result that
/// comes later is discarded.
///
/// One case is not covered: a function that had always returned at once, and now blocks the thread of a connection.
/// Until it returns, nothing can be sent on that connection, so the deadline is only noticed afterwards.
private final class AppCall: CallObserver {
    typealias Ending = CallOutcome<Void>
    typealias Waiting = UnsafeContinuation<Ending, Never>

    private struct State {
        /// The first one; later ones are ignored.
        var ending: Ending?
        var waiting: Waiting?
        /// Whether this is the call's first part, which runs on its caller's thread: that of a connection.
        var isOnCallersThread: Bool
        /// The function that is running, and since when, in nanoseconds of monotonic time.
        var running: RunningCall?
        var began = 0
        /// The function that was running at the deadline.
        var late: FunctionConduct?
        var spare: TransitionResult?

        /// Ends the call that is running on the caller's thread.
        ///
        /// - Returns: the call, and when it began; `nil` if there is none.
        mutating func endCallOnCallersThread() -> (RunningCall, began: Int)? {
            guard isOnCallersThread, let running else { return nil }
            self.running = nil
            return (running, began)
        }
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

    /// Begins at once, on the caller's thread. If the app neither suspends nor blocks, nothing more is needed.
    func ending(of work: @escaping @Sendable () async throws(NavigationError) -> Void) async -> Ending {
        if isInBackground { return await endingInBackground(of: work) }
        let start = MonotonicTime.nanoseconds
        let task = Task.immediate(executorPreference: HandlerPool.shared) {
            do throws(NavigationError) {
                try await work()
                settle(.done(()))
            } catch {
                settle(.failed(error))
            }
        }
        let passed = Duration.nanoseconds(MonotonicTime.nanoseconds - start)
        if let ending = leaveCallersThread() {
            // It has blocked this thread.
            return passed < watch.limit ? ending : .late(slowTransition(nil))
        }
        let giveUp = { @Sendable [self] in if expire() { task.cancel() } }
        let timer = HandlerPool.shared.timer(after: watch.limit - passed, giveUp)
        defer { timer.cancel() }
        watch.observeDeadline?(giveUp)
        return await settled()
    }

    private func endingInBackground(
        of work: @escaping @Sendable () async throws(NavigationError) -> Void
    ) async -> Ending {
        let task = Task(executorPreference: watch.executor ?? HandlerPool.shared) {
            do throws(NavigationError) {
                try await work()
                self.settle(.done(()))
            } catch {
                self.settle(.failed(error))
            }
        }
        let giveUp = { @Sendable [self] in if expire() { task.cancel() } }
        let timer = HandlerPool.shared.timer(after: watch.limit, giveUp)
        defer { timer.cancel() }
        watch.observeDeadline?(giveUp)
        return await withTaskCancellationHandler {
            await settled()
        } onCancel: {
            giveUp()
        }
    }

    /// Waits for the ending.
    private func settled() async -> Ending {
        await withUnsafeContinuation { continuation in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiting = continuation }
                return state.ending
            }
            if let ending { continuation.resume(returning: ending) }
        }
    }

    /// - Returns: the ending, if there is one.
    private func leaveCallersThread() -> Ending? {
        let (ending, left) = state.withLock { state in
            let running = state.running
            let left = state.endCallOnCallersThread()
            state.running = running
            state.isOnCallersThread = false
            return (state.ending, left)
        }
        if let left { end(left) }
        return ending
    }

    /// A function has returned, or suspended, on the caller's thread.
    private func end(_ left: (call: RunningCall, began: Int)) {
        if left.call.conduct.end(left.began, at: MonotonicTime.nanoseconds) { watch.reportBlocking?(app, left.call) }
    }

    /// The work has ended.
    private func settle(_ ending: Ending) {
        let (waiting, late) = state.withLock { state -> (Waiting?, FunctionConduct??) in
            if case .late? = state.ending { return (nil, .some(state.late)) }
            state.ending = ending
            return (state.waiting, nil)
        }
        waiting?.resume(returning: ending)
        if let late { countLate(-1, late) }
    }

    /// The deadline has passed.
    ///
    /// - Returns: `false` if the work has ended before.
    private func expire() -> Bool {
        let late = state.withLock { state -> (Ending, Waiting?, FunctionConduct?)? in
            guard state.ending == nil else { return nil }
            let ending = Ending.late(slowTransition(state.running))
            state.ending = ending
            state.late = state.running?.conduct
            return (ending, state.waiting, state.late)
        }
        guard let (ending, waiting, conduct) = late else { return false }
        // First, so that whoever learns of it finds it counted.
        countLate(1, conduct)
        waiting?.resume(returning: ending)
        return true
    }

    private func slowTransition(_ running: RunningCall?) -> SlowTransition {
        SlowTransition(app: app, coordinator: running?.coordinator, call: running?.function, limit: watch.limit)
    }

    private func countLate(_ change: Int, _ conduct: FunctionConduct?) {
        watch.countLate(change)
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
        guard state.withLock({ $0.ending == nil }), HandlerPool.shared.hold(by: call.conduct) else {
            throw Overloaded()
        }
        note(call, at: MonotonicTime.nanoseconds)
    }

    func keep(_ spare: TransitionResult) {
        state.withLock { if $0.ending == nil { $0.spare = spare } }
    }

    /// The result that counts after the deadline; `nil` if there is none.
    var spare: TransitionResult? { state.withLock(\.spare) }

    func leave(_ call: RunningCall) {
        let (left, began) = state.withLock { state in
            let began = state.began
            let left = state.endCallOnCallersThread()
            state.running = nil
            return (left, began)
        }
        if let left { return end(left) }
        call.conduct.prove(by: MonotonicTime.nanoseconds - began)
    }
}

/// Threads for what must not run on a connection's thread: functions of coordinators that may block, and the rest of
/// functions that have suspended.
private final class HandlerPool: TaskExecutor {
    static let shared = HandlerPool()

    private struct State {
        /// Serial queues, because the system has a thread at once for each of them, however many others are blocked.
        var free = (0..<HandlerPool.size).map { number in
            let queue = DispatchQueue(label: "handlers.\(number)")
            queue.setSpecific(key: HandlerPool.holder, value: ThreadHolder())
            return queue
        }
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
            queue?.getSpecific(key: HandlerPool.holder)?.release()
            next = state.withLock { state in
                let next = state.next()
                if next == nil, let queue { state.free.append(queue) }
                return next
            }
        }
    }

    private static let holder = DispatchSpecificKey<ThreadHolder>()

    /// Notes that a function holds the thread until the job that is running has ended.
    ///
    /// - Returns: `false` if it holds too many.
    func hold(by conduct: FunctionConduct) -> Bool {
        guard let holder = DispatchQueue.getSpecific(key: HandlerPool.holder) else { return true }
        return holder.assign(to: conduct)
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

/// Which function holds one of the pool's threads.
private final class ThreadHolder: Sendable {
    private let conduct = Mutex<FunctionConduct?>(nil)

    func assign(to conduct: FunctionConduct) -> Bool {
        release()
        guard conduct.takeThread() else { return false }
        self.conduct.withLock { $0 = conduct }
        return true
    }

    func release() {
        let conduct = self.conduct.withLock { conduct in
            defer { conduct = nil }
            return conduct
        }
        conduct?.giveThreadBack()
    }
}
