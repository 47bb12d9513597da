import Dispatch
import Foundation
import Glibc
import Simulation
import Synchronization

/// The thread of a walk, and its time: runs one job at a time, chosen by numbers that the step has.
///
/// A job is whatever a task does until it suspends. All jobs of the walk's tasks come here instead of to Swift's own
/// threads, because the runtime asks `Jobs` first. Time stands still while jobs run; it passes in `advance`.
///
/// Unchecked: everything but `outside` is used on the walk's thread only.
final class Scheduler: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []
    private var sleepers: [Sleeper] = []
    private var lastSleeper = 0
    /// Chooses the next job; `nil` for the order in which they came.
    var numbers: Numbers?
    /// In milliseconds since 1970: whole ones, so that no record rounds them.
    private(set) var time = 1_800_000_000_000
    /// How many jobs have run.
    private(set) var count = 0
    /// Whether jobs have followed each other without end. Then nothing runs any longer.
    private(set) var isStuck = false
    /// How many jobs may follow each other while time stands still.
    private static let limit = 1_000_000

    private struct Sleeper {
        let number: Int
        let due: Int
        let wake: () -> Void
    }

    /// The scheduler of this thread.
    static var current: Scheduler? {
        pthread_getspecific(Jobs.key).map { Unmanaged<Scheduler>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Calls `body` on a thread of its own, whose jobs come here.
    static func walk<Value: Sendable>(_ body: @escaping @Sendable (Scheduler) -> Value) async -> Value {
        Jobs.arrive
        return await withCheckedContinuation { continuation in
            let thread = Thread {
                let scheduler = Scheduler()
                pthread_setspecific(Jobs.key, Unmanaged.passUnretained(scheduler).toOpaque())
                let value = withExtendedLifetime(scheduler) { body(scheduler) }
                pthread_setspecific(Jobs.key, nil)
                continuation.resume(returning: value)
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }

    fileprivate func add(_ job: UnownedJob) { jobs.append(job) }

    /// Runs jobs until none is left.
    ///
    /// - Parameter limit: how many at most.
    func run(atMost limit: Int = .max) {
        let end = count + min(limit, Scheduler.limit)
        while !jobs.isEmpty, !isStuck {
            guard count < end else {
                isStuck = limit == .max
                return
            }
            let index = numbers?.below(jobs.count) ?? 0
            count += 1
            jobs.remove(at: index).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Lets time pass: whoever sleeps wakes in between, at the time that is due.
    ///
    /// - Parameter leap: whether all jobs stand still meanwhile, as those of a stopped process do.
    func advance(by milliseconds: Int, leap: Bool = false) {
        let end = time + max(0, milliseconds)
        if leap { time = end }
        run()
        while let next = sleepers.min(by: { ($0.due, $0.number) < ($1.due, $1.number) }), next.due <= end {
            time = max(time, next.due)
            sleepers.removeAll { $0.number == next.number }
            next.wake()
            run()
        }
        time = end
    }

    /// Wakes all who sleep until nobody does, without letting time pass.
    func drain() {
        for _ in 0..<1000 {
            run()
            guard !sleepers.isEmpty, !isStuck else { return }
            let woken = sleepers
            sleepers = []
            for sleeper in woken { sleeper.wake() }
        }
        fatalError("somebody does not stop")
    }

    var now: Date { Date(timeIntervalSince1970: Double(time) / 1000) }

    /// Calls `wake` when so much time has passed.
    @discardableResult
    func wake(after duration: Duration, _ wake: @escaping () -> Void) -> Int {
        lastSleeper += 1
        let due = time + Int(max(0, duration / .milliseconds(1)).rounded(.up))
        sleepers.append(Sleeper(number: lastSleeper, due: due, wake: wake))
        return lastSleeper
    }

    func sleep(for duration: Duration) async throws {
        let sleep = Sleep()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sleep.continuation = continuation
                if Task.isCancelled { return sleep.end() }
                sleep.number = wake(after: duration) { sleep.end() }
            }
        } onCancel: {
            sleepers.removeAll { $0.number == sleep.number }
            sleep.end()
        }
        try Task.checkCancellation()
    }

    /// Unchecked: only used on the walk's thread.
    private final class Sleep: @unchecked Sendable {
        var continuation: CheckedContinuation<Void, Never>?
        var number = 0

        func end() {
            continuation?.resume()
            continuation = nil
        }
    }

    /// Carries out in a task what does not suspend.
    func wait<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
        let result = Result<Value>()
        Task { result.value.withLock { $0 = body() } }
        run()
        guard let value = result.value.withLock({ $0 }) else { fatalError("nothing was returned") }
        return value
    }

    /// Lets other jobs run first.
    func turn() async { await Task.yield() }

    /// Carries out on Swift's own threads what has threads of its own, and waits for it.
    func outside<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let result = Result<Value>()
        let isDone = DispatchSemaphore(value: 0)
        pthread_setspecific(Jobs.key, nil)
        Task.detached {
            let value = await body()
            result.value.withLock { $0 = value }
            isDone.signal()
        }
        pthread_setspecific(Jobs.key, Unmanaged.passUnretained(self).toOpaque())
        isDone.wait()
        guard let value = result.value.withLock({ $0 }) else { fatalError("nothing was returned") }
        return value
    }

    private final class Result<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}

/// Where the runtime enqueues jobs that have no executor of their own: with the scheduler of the thread, if it has one.
///
/// `swift_task_enqueueGlobal_hook` is a variable of the runtime, for tests: a function that is called in place of its
/// own, which is its last parameter. It is set once for the process.
private enum Jobs {
    typealias Original = @convention(thin) (UnownedJob) -> Void
    typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    static let arrive: Void = {
        guard let variable = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
            fatalError("this runtime cannot be driven")
        }
        variable.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            if let scheduler = Scheduler.current { scheduler.add(job) } else { original(job) }
        }
    }()
}
