internal import Coordinators
internal import Dispatch
internal import Synchronization

/// Carries out a transition on threads of its own, and notes which functions of coordinators hold their thread for long:
/// with `Thread.sleep`, a lock, a synchronous request, or a long computation. A server has few threads, and each serves
/// many clients.
///
/// It measures each part of a function that runs without suspension, so a function that awaits for long is not noted.
/// What runs on an actor with an executor of its own, such as the main actor, is not measured.
final class ThreadWatch: TaskExecutor, CallObserver {
    /// So long that a busy machine, on which a thread waits for a processor, is no reason for a warning.
    private static let limit = Duration.seconds(1)

    /// The time by which functions are measured. Tests set their own.
    @TaskLocal static var clock: @Sendable () -> ContinuousClock.Instant = { .now }

    private struct State {
        var running: RunningCall?
        /// When the running function, or the part of it that runs now, began.
        var began: ContinuousClock.Instant
        var slow: [RunningCall] = []

        mutating func endPart(at now: ContinuousClock.Instant) {
            guard let running, now - began >= ThreadWatch.limit else { return }
            slow.append(running)
        }
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    init() {
        let now = ThreadWatch.clock
        self.now = now
        state = Mutex(State(began: now()))
    }

    /// The functions that have held their thread, each as a sentence without its full stop.
    var findings: [String] {
        state.withLock { $0.slow }.map {
            "“\($0.coordinator)” blocks its thread in \($0.function) for more than a second, without await"
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.global().async { [self] in
            let start = now()
            state.withLock { $0.began = start }
            job.runSynchronously(on: asUnownedTaskExecutor())
            let end = now()
            state.withLock { $0.endPart(at: end) }
        }
    }

    func enter(_ call: RunningCall) -> Bool {
        let start = now()
        state.withLock { state in (state.running, state.began) = (call, start) }
        return true
    }

    func leaveThread(for call: RunningCall) {}

    func keep(_ spare: TransitionResult) {}

    func leave(_ call: RunningCall) {
        let end = now()
        state.withLock { state in
            state.endPart(at: end)
            state.running = nil
        }
    }
}

extension TransitionRun {
    /// The result, whether or not a coordinator has to be called.
    func wholeResult(_ findings: inout Findings) async throws(NavigationError) -> TransitionResult {
        if let result = try resultAtOnce() { return result }
        return try await watchedResult(&findings)
    }

    /// - Parameter findings: receives what the functions that are called do to their threads, also if the transition
    ///   fails.
    func watchedResult(_ findings: inout Findings) async throws(NavigationError) -> TransitionResult {
        let watch = ThreadWatch()
        var run = self
        run.observer = watch
        defer { findings.note(blocking: watch.findings) }
        return try await withTaskExecutorPreference(watch) { () async throws(NavigationError) in
            try await run.result()
        }
    }
}
