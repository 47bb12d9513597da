internal import Synchronization

/// A call of a coordinator's function.
public struct RunningCall: Sendable {
    private enum Function {
        case transition(TransitionRun.Call)
        /// By its name.
        case other(String)
    }

    public let coordinator: String
    private let called: Function
    /// How earlier calls of the function have behaved.
    package let conduct: FunctionConduct

    init(_ call: TransitionRun.Call, of coordinator: LivingCoordinator) {
        self.coordinator = coordinator.name
        self.called = .transition(call)
        self.conduct = coordinator.type.conduct(of: call)
    }

    /// A call outside a transition.
    ///
    /// - Parameter function: its name, with that of the screen or the effect.
    init(_ function: String, of coordinator: LivingCoordinator, _ conduct: FunctionConduct) {
        self.coordinator = coordinator.name
        self.called = .other(function)
        self.conduct = conduct
    }

    /// The function as its author knows it, without the values: `start`, `handle(login)`.
    public var function: String {
        switch called {
        case .transition(let call): call.name
        case .other(let function): function
        }
    }
}

/// Traces the calls of coordinators' functions. Must call `call` once, and throw what `call` throws.
public typealias CallWrapper =
    @Sendable (RunningCall, _ call: () async throws -> Void) async throws -> Void

/// Observes the calls of coordinators' functions in a transition, and decides on which threads they run.
package protocol CallObserver: AnyObject, Sendable {
    /// A function is about to be called.
    ///
    /// - Returns: whether it may be called on the current thread. If not, `leaveThread` comes next.
    /// - Throws: if it may not be called at all for now.
    func enter(_ call: RunningCall) throws(Overloaded) -> Bool

    /// Continues on another thread, as soon as one is free.
    ///
    /// - Throws: if the function may no longer be called, or not now.
    func leaveThread(for call: RunningCall) async throws(Overloaded)

    /// The function has returned or thrown.
    func leave(_ call: RunningCall)

    /// What comes next may fail: if it takes too long, this is the transition's result.
    func keep(_ spare: TransitionResult)
}

/// How a function of a coordinator has behaved: whether it may be called on a thread that serves connections.
///
/// Such a thread serves many clients, who all wait while a function blocks it with `Thread.sleep`, a lock or a
/// synchronous request. Only measuring shows whether a function blocks. So every function runs on other threads first,
/// until `firstProof` calls have been quick. A function that then blocks a connection thread has to prove itself again,
/// because a busy machine may merely have interrupted the thread: each time by four times as many calls in a row.
package final class FunctionConduct: Sendable {
    private struct State {
        /// Quick calls on other threads since the last strike, or since the last one there that would have been one.
        var quickCalls = 0
        var quickCallsRequired = FunctionConduct.firstProof
        /// Grows with each slow call on a connection thread, and shrinks with each quick one.
        var debt = 0
        /// The start times of the calls that are running on connection threads, in nanoseconds.
        var startTimes: [Int] = []
        /// The number of calls that are still running after their deadline.
        var late = 0
        /// The number of other threads that the function's calls hold.
        var threads = 0

        /// The function has blocked a connection thread.
        mutating func strike() {
            quickCallsRequired = min(4 * quickCallsRequired, FunctionConduct.longestProof)
            (quickCalls, debt) = (0, 0)
            // Otherwise each call that is blocked now would count as another strike.
            startTimes = []
        }
    }

    package enum Place {
        /// On the current thread, which serves connections.
        case here
        case elsewhere
        /// Elsewhere, because a call is blocking a connection thread now, which was not known before.
        case elsewhereFromNow
    }

    private static let (firstProof, longestProof) = (8, 8 << 20)
    /// A call that takes less is quick: 20 ms, in nanoseconds.
    private static let quickLimit = 20_000_000
    /// A call that takes as long blocks its thread: 100 ms, in nanoseconds.
    private static let blockingLimit = 100_000_000
    /// A slow call adds as much debt as sixteen quick ones pay off. Ten slow calls in a row reach the limit.
    private static let (debtOfSlowCall, debtLimit) = (16, 160)
    private static let lateLimit = 32
    private static let threadLimit = 64

    private let state = Mutex(State())

    package init() {}

    /// Whether the function may not be called for now, because too many calls are still running after their deadline.
    package var isExhausted: Bool { state.withLock { $0.late >= FunctionConduct.lateLimit } }

    /// Call on a connection thread, before the function is called. If the result is `here`, `end` must follow.
    ///
    /// - Parameter now: monotonic time in nanoseconds.
    package func begin(at now: Int) -> Place {
        state.withLock { state in
            guard state.quickCalls >= state.quickCallsRequired else { return .elsewhere }
            guard !state.startTimes.contains(where: { now - $0 >= FunctionConduct.blockingLimit }) else {
                state.strike()
                return .elsewhereFromNow
            }
            state.startTimes.append(now)
            return .here
        }
    }

    /// Call when the function has returned, or has suspended, on a connection thread.
    ///
    /// - Parameters:
    ///   - began: the time that was passed to `begin`.
    ///   - now: monotonic time in nanoseconds.
    /// - Returns: whether this call shows for the first time that the function blocks its thread.
    package func end(_ began: Int, at now: Int) -> Bool {
        state.withLock { state in
            guard let index = state.startTimes.firstIndex(of: began) else { return false }
            state.startTimes.remove(at: index)
            state.debt =
                now - began < FunctionConduct.quickLimit
                ? max(0, state.debt - 1) : state.debt + FunctionConduct.debtOfSlowCall
            let hasBlocked = now - began >= FunctionConduct.blockingLimit || state.debt >= FunctionConduct.debtLimit
            if hasBlocked { state.strike() }
            return hasBlocked
        }
    }

    /// Call before the function is called on another thread than a connection's. If the result is `true`,
    /// `giveThreadBack` must follow.
    ///
    /// - Returns: `false` if the function's calls already hold `threadLimit` threads.
    package func takeThread() -> Bool {
        state.withLock { state in
            guard state.threads < FunctionConduct.threadLimit else { return false }
            state.threads += 1
            return true
        }
    }

    /// Call when the function has returned or suspended on that thread.
    package func giveThreadBack() { state.withLock { $0.threads -= 1 } }

    /// Call when the function has returned on another thread than a connection's.
    ///
    /// - Parameter duration: how long the call took, in nanoseconds.
    package func prove(by duration: Int) {
        state.withLock { state in
            if duration >= FunctionConduct.blockingLimit {
                state.quickCalls = 0
            } else if duration < FunctionConduct.quickLimit, state.quickCalls < state.quickCallsRequired {
                state.quickCalls += 1
            }
        }
    }

    /// Call with 1 when a call has passed its deadline, and with -1 when such a call has ended.
    package func countLate(_ change: Int) { state.withLock { $0.late += change } }
}
