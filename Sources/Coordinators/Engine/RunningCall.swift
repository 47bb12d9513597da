internal import Synchronization

/// A call of a coordinator's function.
public struct RunningCall: Sendable {
    private enum Function {
        case transition(TransitionRun.Call)
        case content(String)
    }

    public let coordinator: String
    private let called: Function
    /// What is known of the function.
    package let conduct: FunctionConduct

    init(_ call: TransitionRun.Call, of coordinator: LivingCoordinator) {
        self.coordinator = coordinator.name
        self.called = .transition(call)
        self.conduct = coordinator.type.conduct(of: call)
    }

    /// A call of `content`.
    ///
    /// - Parameter function: its name, with that of the screen.
    init(content function: String, of coordinator: LivingCoordinator) {
        self.coordinator = coordinator.name
        self.called = .content(function)
        self.conduct = coordinator.type.conductOfContent
    }

    /// The function as its author knows it, without the values: `start`, `handle(login)`.
    public var function: String {
        switch called {
        case .transition(let call): call.name
        case .content(let function): function
        }
    }
}

/// Surrounds the calls of coordinators' functions, to trace them: must call `call` once, and throw what it throws.
public typealias CallWrapper =
    @Sendable (RunningCall, _ call: () async throws -> Void) async throws -> Void

/// Whoever carries out a transition: is told of the calls of coordinators' functions.
package protocol CallObserver: AnyObject, Sendable {
    /// - Returns: whether the function may be called on the thread that is running now. If not, `leaveThread` comes next.
    /// - Throws: if it may not be called at all for now.
    func enter(_ call: RunningCall) throws(Overloaded) -> Bool

    /// Goes on elsewhere.
    func leaveThread() async

    /// The function has returned or thrown.
    func leave(_ call: RunningCall)
}

/// How a function of a coordinator has behaved: whether it may be called on a thread that serves connections.
///
/// Such a thread serves many clients, who all wait if a function blocks it with `Thread.sleep`, a lock or a synchronous
/// request. Only its conduct shows whether a function does. So it is called elsewhere until it has returned at once a
/// few times, and for good once it has blocked.
package final class FunctionConduct: Sendable {
    /// Calls that returned at once; `blocking` if one has blocked.
    private let quickCalls = Atomic(0)
    /// When a call began on a thread that serves connections; 0 if none is running there.
    private let began = Atomic(0)
    /// Calls that are still running after their deadline.
    private let late = Atomic(0)

    package init() {}

    private static let blocking = -1
    private static let proof = 8
    /// 20 ms, in nanoseconds.
    private static let atOnce = 20_000_000
    /// 100 ms.
    private static let tooLong = 100_000_000
    private static let lateLimit = 64

    /// Whether nothing more of it may be called for now, because so many calls are still running after their deadline.
    package var isExhausted: Bool { late.load(ordering: .relaxed) >= FunctionConduct.lateLimit }

    /// Call before the function is called on a thread that serves connections.
    ///
    /// - Parameter now: monotonic time in nanoseconds.
    /// - Returns: `false` if it must not be.
    package func begin(at now: Int) -> Bool {
        guard quickCalls.load(ordering: .relaxed) >= FunctionConduct.proof else { return false }
        let earlier = began.load(ordering: .relaxed)
        guard earlier == 0 || now - earlier < FunctionConduct.tooLong else {
            quickCalls.store(FunctionConduct.blocking, ordering: .relaxed)
            return false
        }
        began.store(now, ordering: .relaxed)
        return true
    }

    /// Call when the function has returned, or has suspended, on a thread that serves connections.
    ///
    /// - Returns: whether it has blocked the thread for the first time.
    package func end(after duration: Int) -> Bool {
        began.store(0, ordering: .relaxed)
        guard duration >= FunctionConduct.tooLong else { return false }
        return quickCalls.exchange(FunctionConduct.blocking, ordering: .relaxed) != FunctionConduct.blocking
    }

    /// Call when the function has returned on another thread.
    package func prove(by duration: Int) {
        let known = quickCalls.load(ordering: .relaxed)
        guard known != FunctionConduct.blocking else { return }
        if duration >= FunctionConduct.tooLong {
            quickCalls.store(0, ordering: .relaxed)
        } else if duration < FunctionConduct.atOnce, known < FunctionConduct.proof {
            quickCalls.add(1, ordering: .relaxed)
        }
    }

    /// A call has outlived its deadline, or has ended after that.
    package func countLate(_ change: Int) { late.add(change, ordering: .relaxed) }
}
