internal import Dispatch
internal import Synchronization

/// Computes what takes long on threads of its own, so that nobody else's are held up: one computation a lane at a time,
/// and a short queue in front of the lanes.
final class WorkLanes: Sendable {
    private typealias Work = @Sendable () -> Void

    private struct Load {
        var idle: [DispatchQueue]
        var waiting: [Work] = []
    }

    private let load: Mutex<Load>
    private let waitingLimit: Int

    /// - Parameters:
    ///   - count: lanes.
    ///   - waitingLimit: computations that may wait for one.
    init(count: Int, waitingLimit: Int) {
        // Each lane a serial queue: libdispatch runs these on threads beyond its pools. A concurrent queue would share
        // the pool of one thread a core that Swift's tasks run on, and hold them up.
        load = Mutex(Load(idle: (0..<max(1, count)).map { DispatchQueue(label: "lane \($0)") }))
        self.waitingLimit = waitingLimit
    }

    /// The value of the computation, which goes on even if the caller's task is cancelled.
    ///
    /// - Returns: `nil`, at once, when the queue is full.
    func run<Value: Sendable>(_ computation: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let isTaken = take { continuation.resume(returning: computation()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    private func take(_ work: @escaping Work) -> Bool {
        load.withLock { load in
            if let lane = load.idle.popLast() {
                lane.async { self.carryOut(work, on: lane) }
                return true
            }
            guard load.waiting.count < waitingLimit else { return false }
            load.waiting.append(work)
            return true
        }
    }

    /// The first, then whatever waits; then the lane is idle again.
    private func carryOut(_ first: @escaping Work, on lane: DispatchQueue) {
        var next: Work? = first
        while let work = next {
            work()
            next = load.withLock { load in
                guard load.waiting.isEmpty else { return load.waiting.removeFirst() }
                load.idle.append(lane)
                return nil
            }
        }
    }
}
