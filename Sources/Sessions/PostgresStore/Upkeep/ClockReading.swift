internal import FoundationEssentials
internal import Measures

/// The database's clock at some moment. From there its time goes on with this machine's uptime: this machine's own clock
/// may be set while the server runs, and all servers on the database share its time.
struct ClockReading: Sendable {
    let stored: Date
    /// For how many seconds the answer was waited for.
    let duration: TimeInterval
    /// How much later the database's clock is than this machine's, in seconds.
    let offset: TimeInterval
    /// In nanoseconds, when the answer was there.
    private let uptime: Int

    /// Call when the answer is there.
    ///
    /// - Parameters:
    ///   - milliseconds: the database's time, since 1970.
    ///   - start: the uptime when it was asked for, in nanoseconds.
    init(milliseconds: Int, askedAt start: Int) {
        stored = Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
        uptime = MonotonicTime.nanosecondsOfUptime
        duration = TimeInterval(uptime - start) / 1e9
        offset = stored.timeIntervalSince(Date()) + duration / 2
    }

    /// The database's time now, or earlier by at most `duration`: rather than early, a timer is late.
    var now: Date { stored + TimeInterval(MonotonicTime.nanosecondsOfUptime - uptime) / 1e9 }
}
