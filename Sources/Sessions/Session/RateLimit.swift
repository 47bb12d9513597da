public import FoundationEssentials

/// At most a given number of requests a second, and at most as many at once: the generic cell rate algorithm
/// (ITU-T I.371).
public struct RateLimit: Sendable {
    /// How many requests are allowed in a second.
    public let rate: Int
    /// The least mean time between two requests, in nanoseconds.
    private let interval: Int

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
        guard rate > 0 else { return nil }
        self.rate = min(rate, RateLimit.second)
        interval = RateLimit.second / self.rate
    }

    /// Counts a request if it is allowed.
    ///
    /// - Returns: the whole seconds after which to try again; `nil` if the request is allowed now.
    public func take(_ due: inout Due, at now: Date) -> Int? {
        let now = now.nanoseconds
        // It is never more than a second ahead, unless the clock was set back.
        let next = due.time > now + RateLimit.second ? now : max(due.time, now)
        let wait = next - now + interval - RateLimit.second
        guard wait <= 0 else { return (wait + RateLimit.second - 1) / RateLimit.second }
        due.time = next + interval
        return nil
    }

    /// How many more requests are allowed now, all at once. Call after `take`, with the same time.
    public func remaining(_ due: Due, at now: Date) -> Int {
        (RateLimit.second - (due.time - now.nanoseconds)) / interval
    }
}

extension Date {
    fileprivate var nanoseconds: Int { Int(exactly: (timeIntervalSince1970 * 1e9).rounded()) ?? 0 }
}
