internal import Dispatch
internal import Synchronization

/// Computes what takes long on threads of its own, so that nobody else's are held up: one computation a lane at a time,
/// and a short queue in front of the lanes, of which each client has a fair share.
final class WorkLanes<Client: Hashable & Sendable>: Sendable {
    private struct Work: Sendable {
        let carryOut: @Sendable () -> Void
        let turnAway: @Sendable () -> Void
    }

    private struct Load {
        var idle: [DispatchQueue]
        var waiting: FairQueue<Client, Work>
    }

    private let load: Mutex<Load>

    /// - Parameters:
    ///   - count: lanes.
    ///   - waitingLimit: computations that may wait for one.
    init(count: Int, waitingLimit: Int) {
        // Each lane a serial queue: libdispatch runs these on threads beyond its pools. A concurrent queue would share
        // the pool of one thread a core that Swift's tasks run on, and hold them up.
        let lanes = (0..<max(1, count)).map { DispatchQueue(label: "lane \($0)") }
        load = Mutex(Load(idle: lanes, waiting: FairQueue(limit: waitingLimit)))
    }

    /// The value of the computation, which goes on even if the caller's task is cancelled.
    ///
    /// - Returns: `nil` when the queue is full, or when others, who have less in it, have filled it meanwhile.
    func run<Value: Sendable>(for client: Client, _ computation: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let work = Work {
                continuation.resume(returning: computation())
            } turnAway: {
                continuation.resume(returning: nil)
            }
            take(work, for: client)?.turnAway()
        }
    }

    /// - Returns: what has to go.
    private func take(_ work: Work, for client: Client) -> Work? {
        load.withLock { load in
            guard let lane = load.idle.popLast() else { return load.waiting.append(work, of: client) }
            lane.async { self.carryOut(work, on: lane) }
            return nil
        }
    }

    /// The first, then whatever waits; then the lane is idle again.
    private func carryOut(_ first: Work, on lane: DispatchQueue) {
        var next: Work? = first
        while let work = next {
            work.carryOut()
            next = load.withLock { load in
                if let work = load.waiting.popFirst() { return work }
                load.idle.append(lane)
                return nil
            }
        }
    }
}
