internal import Dispatch
internal import Synchronization

/// Runs long computations on its own threads, so that they delay no other work: one computation per lane at a time, and
/// a short queue in front of the lanes, in which each client has a fair share.
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
    ///   - count: the number of lanes.
    ///   - waitingLimit: computations that may wait for a lane.
    init(count: Int, waitingLimit: Int) {
        // Each lane is a serial queue: libdispatch runs these on threads outside its pools. A concurrent queue would
        // share the pool of one thread per core on which Swift's tasks run, and delay them.
        let lanes = (0..<max(1, count)).map { DispatchQueue(label: "lane \($0)") }
        load = Mutex(Load(idle: lanes, waiting: FairQueue(limit: waitingLimit)))
    }

    /// The value of the computation, which goes on even if the caller's task is cancelled.
    ///
    /// - Returns: `nil` if the queue is full, or if clients that have less in it have displaced the computation.
    func run<Value: Sendable>(for client: Client, _ computation: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let work = Work {
                continuation.resume(returning: computation())
            } turnAway: {
                continuation.resume(returning: nil)
            }
            submit(work, for: client)?.turnAway()
        }
    }

    /// - Returns: the work that is displaced, which may be the new one.
    private func submit(_ work: Work, for client: Client) -> Work? {
        load.withLock { load in
            guard let lane = load.idle.popLast() else { return load.waiting.append(work, of: client) }
            lane.async { self.carryOut(work, on: lane) }
            return nil
        }
    }

    /// Carries out the first work, then whatever waits; then the lane is idle again.
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
