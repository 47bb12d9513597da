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

/// Whoever carries out a transition: is told of the calls of coordinators' functions, and says where they may run.
package protocol CallObserver: AnyObject, Sendable {
    /// - Returns: whether the function may be called on the thread that is running now. If not, `leaveThread` comes next.
    /// - Throws: if it may not be called at all for now.
    func enter(_ call: RunningCall) throws(Overloaded) -> Bool

    /// Goes on elsewhere, as soon as there is a thread.
    ///
    /// - Throws: if the function may not be called any more, or not now.
    func leaveThread(for call: RunningCall) async throws(Overloaded)

    /// The function has returned or thrown.
    func leave(_ call: RunningCall)
}

/// How a function of a coordinator has behaved: whether it may be called on a thread that serves connections.
///
/// Such a thread serves many clients, who all wait if a function blocks it with `Thread.sleep`, a lock or a synchronous
/// request. Only its conduct shows whether a function does. So it is called elsewhere until it has returned at once a
/// few times; again if it has blocked such a thread once, because a whole process may have been paused; and for good
/// if it has done so twice.
package final class FunctionConduct: Sendable {
    private struct State {
        /// Calls elsewhere that returned at once.
        var quickCalls = 0
        /// How often it has blocked a thread that serves connections.
        var strikes = 0
        /// Grows with each call on such a thread that did not return at once, and shrinks with the others.
        var debt = 0
        /// When the calls began that are running on such threads, in nanoseconds.
        var began: [Int] = []
        /// Calls that are still running after their deadline.
        var late = 0
        /// Threads elsewhere that it holds.
        var threads = 0

        mutating func strike() {
            strikes += 1
            (quickCalls, debt) = (0, 0)
            // What is running is to blame once.
            began = []
        }
    }

    package enum Place {
        /// On the thread of a connection.
        case here
        case elsewhere
        /// Elsewhere, because it is blocking such a thread now. That is news.
        case elsewhereFromNow
    }

    private static let proof = 8
    /// 20 ms, in nanoseconds.
    private static let atOnce = 20_000_000
    /// 100 ms.
    private static let tooLong = 100_000_000
    /// One call in sixteen may take longer than `atOnce`.
    private static let (slow, debtLimit) = (16, 160)
    private static let lateLimit = 32
    private static let threadLimit = 64

    private let state = Mutex(State())

    package init() {}

    /// Whether nothing more of it may be called for now, because so many calls are still running after their deadline.
    package var isExhausted: Bool { state.withLock { $0.late >= FunctionConduct.lateLimit } }

    /// Call on a thread that serves connections, before the function is called. If it may be called there, `end` must
    /// follow.
    ///
    /// - Parameter now: monotonic time in nanoseconds.
    package func begin(at now: Int) -> Place {
        state.withLock { state in
            guard state.quickCalls >= FunctionConduct.proof, state.strikes < 2 else { return .elsewhere }
            guard !state.began.contains(where: { now - $0 >= FunctionConduct.tooLong }) else {
                state.strike()
                return .elsewhereFromNow
            }
            state.began.append(now)
            return .here
        }
    }

    /// Call when the function has returned, or has suspended, on a thread that serves connections.
    ///
    /// - Parameters:
    ///   - began: the time that `begin` was given.
    /// - Returns: whether it has blocked the thread, and nobody knows yet.
    package func end(_ began: Int, at now: Int) -> Bool {
        state.withLock { state in
            guard let index = state.began.firstIndex(of: began) else { return false }
            state.began.remove(at: index)
            state.debt =
                now - began < FunctionConduct.atOnce ? max(0, state.debt - 1) : state.debt + FunctionConduct.slow
            let hasBlocked = now - began >= FunctionConduct.tooLong || state.debt >= FunctionConduct.debtLimit
            if hasBlocked { state.strike() }
            return hasBlocked
        }
    }

    /// Call on a thread elsewhere, before the function is called there.
    ///
    /// - Returns: `false` if it holds so many threads already.
    package func takeThread() -> Bool {
        state.withLock { state in
            guard state.threads < FunctionConduct.threadLimit else { return false }
            state.threads += 1
            return true
        }
    }

    /// Call when the function has returned or suspended on that thread.
    package func giveThreadBack() { state.withLock { $0.threads -= 1 } }

    /// Call when the function has returned on another thread.
    package func prove(by duration: Int) {
        state.withLock { state in
            if duration >= FunctionConduct.tooLong {
                state.quickCalls = 0
            } else if duration < FunctionConduct.atOnce, state.quickCalls < FunctionConduct.proof {
                state.quickCalls += 1
            }
        }
    }

    /// A call has outlived its deadline, or has ended after that.
    package func countLate(_ change: Int) { state.withLock { $0.late += change } }
}
