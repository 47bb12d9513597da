internal import FoundationEssentials
internal import Measures
internal import Synchronization

/// The time for sessions: the system's, except that it never goes back, because that would revive expired sessions.
///
/// If the system's clock is set back, time continues from where it was, at the pace of the machine's uptime.
final class SteadyClock: Sendable {
    private let wall: @Sendable () -> Date
    /// Monotonic time in microseconds.
    private let uptime: @Sendable () -> Int
    /// The most that the wall clock was ever seen ahead of the uptime, in microseconds.
    private let lead: Atomic<Int>

    /// - Parameter start: a time that is past: the clock starts there or later.
    init(
        startingAt start: Date, wall: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> Int = SteadyClock.uptime
    ) {
        self.wall = wall
        self.uptime = uptime
        lead = Atomic(start.microseconds - uptime())
    }

    func now() -> Date {
        // In this order: a thread that is delayed in between must not move the clock forward for good.
        let time = wall().microseconds
        let uptime = uptime()
        let known = lead.load(ordering: .relaxed)
        let ahead = time - uptime
        guard ahead > known else { return Date(microseconds: uptime + known) }
        lead.max(ahead, ordering: .relaxed)
        return Date(microseconds: time)
    }

    static let uptime: @Sendable () -> Int = { MonotonicTime.nanosecondsOfUptime / 1000 }
}

extension Date {
    /// Since 1970, within some 30,000 years of it, beyond which no clock goes.
    fileprivate var microseconds: Int {
        Int((min(max(timeIntervalSince1970, -1e12), 1e12) * 1e6).rounded())
    }

    fileprivate init(microseconds: Int) {
        self.init(timeIntervalSince1970: TimeInterval(microseconds) / 1e6)
    }
}
