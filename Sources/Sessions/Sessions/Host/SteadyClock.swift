internal import FoundationEssentials
internal import Measures
internal import Synchronization

/// The time for sessions: the system's, except that it never goes back, because that would revive expired sessions.
///
/// If the system's clock is set back, time continues from where it was, at the pace of the machine's uptime. So it does if
/// the clock is set ahead by more than a day, until that has lasted for a minute: a mistake that somebody mends at once
/// ends no session.
final class SteadyClock: Sendable {
    private let wall: @Sendable () -> Date
    /// Monotonic time in microseconds.
    private let uptime: @Sendable () -> Int
    /// The most that the wall clock was ever seen ahead of the uptime, in microseconds.
    private let lead: Atomic<Int>
    /// For how long a clock that is far ahead is not followed, in microseconds.
    private let patience: Int
    /// The uptime at which the wall clock was first seen far ahead, and has been since; 0 if it is not.
    private let farSince = Atomic(0)

    /// - Parameters:
    ///   - start: a time that is past: the clock starts there or later.
    ///   - patience: for how many seconds a wall clock that is far ahead is not followed.
    init(
        startingAt start: Date, wall: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> Int = SteadyClock.uptime, patience: Int = 60
    ) {
        self.wall = wall
        self.uptime = uptime
        self.patience = patience * 1_000_000
        let uptime = uptime()
        // What the first reading says is no jump.
        lead = Atomic(max(start.microseconds, wall().microseconds) - uptime)
    }

    func now() -> Date {
        // In this order: a thread that is delayed in between must not move the clock forward for good.
        let time = wall().microseconds
        let uptime = uptime()
        let known = lead.load(ordering: .relaxed)
        let ahead = time - uptime
        guard isFollowed(ahead - known, uptime) else { return Date(microseconds: uptime + known) }
        lead.max(ahead, ordering: .relaxed)
        return Date(microseconds: time)
    }

    /// Whether a wall clock that is ahead by so much is right.
    private func isFollowed(_ jump: Int, _ uptime: Int) -> Bool {
        let since = farSince.load(ordering: .relaxed)
        guard jump > SteadyClock.farAhead * 1_000_000, patience > 0 else {
            if since != 0 { farSince.store(0, ordering: .relaxed) }
            return jump > 0
        }
        if since == 0 { farSince.store(uptime, ordering: .relaxed) }
        return since != 0 && uptime - since >= patience
    }

    /// In seconds.
    static let farAhead = 86_400

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
