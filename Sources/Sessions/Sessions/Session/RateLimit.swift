public import FoundationEssentials

/// At most a given number of requests in a period, and at most as many at once: the generic cell rate algorithm
/// (ITU-T I.371).
///
/// Its times come from a clock that is never set back. One that a thread has read before another's, and uses after it, gives
/// no new budget.
public struct RateLimit: Sendable {
    /// How many requests are allowed in a period.
    public let rate: Int
    /// The period in seconds.
    public let seconds: Int
    /// The least mean time between two requests, in nanoseconds.
    private let interval: Int
    private var period: Int { seconds * RateLimit.second }

    private static let second = 1_000_000_000

    /// When the next request would come if all came evenly. The caller keeps it from one request to the next.
    public struct Due: Sendable {
        /// Nanoseconds since 1970.
        fileprivate var time = 0

        public init() {}

        /// Whether no earlier request counts any more.
        public func isOver(at now: Date) -> Bool { time <= now.nanoseconds }
    }

    /// - Returns: `nil` for 0, which means no limit.
    public init?(perSecond rate: Int) {
        self.init(rate, in: 1)
    }

    /// - Parameter seconds: from 1 to a day.
    /// - Returns: `nil` for a rate of 0, which means no limit.
    public init?(_ rate: Int, in seconds: Int) {
        guard rate > 0 else { return nil }
        self.rate = min(rate, RateLimit.second)
        self.seconds = seconds
        interval = seconds * RateLimit.second / self.rate
    }

    /// Counts a request if it is allowed.
    ///
    /// - Returns: the whole seconds after which to try again; `nil` if the request is allowed now.
    public func take(_ due: inout Due, at now: Date) -> Int? {
        let now = now.nanoseconds
        let next = next(due, at: now)
        if let wait = wait(until: next, at: now) { return wait }
        due.time = next + interval
        return nil
    }

    /// Undoes what `take` has counted.
    public func giveBack(_ due: inout Due) { due.time -= interval }

    /// What `take` would return, without counting a request.
    public func wait(_ due: Due, at now: Date) -> Int? {
        wait(until: next(due, at: now.nanoseconds), at: now.nanoseconds)
    }

    private func next(_ due: Due, at now: Int) -> Int { max(due.time, now) }

    private func wait(until next: Int, at now: Int) -> Int? {
        let wait = next - now + interval - period
        return wait > 0 ? (wait + RateLimit.second - 1) / RateLimit.second : nil
    }

    /// How many more requests are allowed now, all at once. Call after `take`, with the same time.
    public func remaining(_ due: Due, at now: Date) -> Int {
        (period - (due.time - now.nanoseconds)) / interval
    }
}

extension Date {
    fileprivate var nanoseconds: Int { Int(exactly: (timeIntervalSince1970 * 1e9).rounded()) ?? 0 }
}
