internal import FoundationEssentials
internal import Synchronization

/// The time that sessions live by: the system's, and never put back, or what has expired would live again.
///
/// Where the system's clock is put back, time goes on from where it was, as fast as the machine has been up for longer.
final class SteadyClock: Sendable {
    private let wall: @Sendable () -> Date
    /// Microseconds that only ever grow, at the pace of time.
    private let uptime: @Sendable () -> Int
    /// The most that the wall's time was ever seen ahead of the uptime.
    private let lead: Atomic<Int>

    /// - Parameter start: the time that it has been before.
    init(
        startingAt start: Date, wall: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> Int = SteadyClock.uptime
    ) {
        self.wall = wall
        self.uptime = uptime
        lead = Atomic(start.microseconds - uptime())
    }

    func now() -> Date {
        // In this order: a thread that is held up in between must not move the clock forward for good.
        let time = wall().microseconds
        let uptime = uptime()
        let known = lead.load(ordering: .relaxed)
        let ahead = time - uptime
        guard ahead > known else { return Date(microseconds: uptime + known) }
        lead.max(ahead, ordering: .relaxed)
        return Date(microseconds: time)
    }

    private static let start = ContinuousClock.now

    static let uptime: @Sendable () -> Int = {
        Int(start.duration(to: .now).attoseconds / 1_000_000_000_000)
    }
}

extension Date {
    /// Since 1970; some 30,000 years around it, beyond which no clock goes.
    fileprivate var microseconds: Int {
        Int((min(max(timeIntervalSince1970, -1e12), 1e12) * 1e6).rounded())
    }

    fileprivate init(microseconds: Int) {
        self.init(timeIntervalSince1970: TimeInterval(microseconds) / 1e6)
    }
}
