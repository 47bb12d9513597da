import Foundation
import Synchronization

/// What the clients of one test have seen, and which of it is a fault.
final class Findings: Sendable {
    enum Count {
        case events, replays, reads, ended, expired, putAside
    }

    private struct State {
        var faults: [String] = []
        var faultCount = 0
        var counts: [Count: Int] = [:]
        var refusals: [(time: ClosedRange<ContinuousClock.Instant>, what: String)] = []
        var outages: [ClosedRange<ContinuousClock.Instant>] = []
    }

    let clock: MovedClock
    private let state = Mutex(State())
    private let end = Atomic(false)

    init(_ clock: MovedClock) {
        self.clock = clock
    }

    /// Whether the clients are to stop.
    var hasEnded: Bool { end.load(ordering: .relaxed) }

    func endAll() { end.store(true, ordering: .relaxed) }

    func fault(_ what: String) {
        state.withLock { state in
            state.faultCount += 1
            if state.faults.count < 20 { state.faults.append(what) }
        }
    }

    func add(_ count: Count, _ number: Int = 1) {
        state.withLock { $0.counts[count, default: 0] += number }
    }

    subscript(_ count: Count) -> Int { state.withLock { $0.counts[count] ?? 0 } }

    /// The first faults, and how many there are.
    var faults: (first: [String], count: Int) { state.withLock { ($0.faults, $0.faultCount) } }

    /// Records that a client was cut off or refused through no fault of its own, between the last time that its
    /// connection was certainly whole and now.
    func refusal(_ what: String, _ client: BlockingClient) {
        let time = client.wholeAt...ContinuousClock.now
        state.withLock { $0.refusals.append((time, what)) }
    }

    /// Records that the server was ended, or has ended itself, and is running again.
    ///
    /// - Parameter start: when it was running last.
    func outage(since start: ContinuousClock.Instant) {
        let outage = start...ContinuousClock.now
        state.withLock { state in
            state.outages.append(outage)
            state.refusals.removeAll { $0.time.overlaps(outage) }
        }
    }

    /// Refusals while the server was running.
    var unexplainedRefusals: [String] {
        state.withLock { state in
            state.refusals.filter { refusal in !state.outages.contains { $0.overlaps(refusal.time) } }.map(\.what)
        }
    }
}
