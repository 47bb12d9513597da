public import FoundationEssentials

/// At most so many a second, and at most as many at once: the generic cell rate algorithm (ITU-T I.371).
public struct RateLimit: Sendable {
    /// The least time between two in the mean, in nanoseconds.
    private let interval: Int

    private static let second = 1_000_000_000

    /// When the next one would come if all came evenly; what is to be kept from one to the next.
    public struct Due: Sendable {
        /// Nanoseconds since 1970.
        fileprivate var time = 0

        public init() {}

        /// Whether nothing counts any more.
        public func isOver(at now: Date) -> Bool { time <= now.nanoseconds }
    }

    /// - Returns: `nil` for 0, any number.
    public init?(perSecond rate: Int) {
        guard rate > 0 else { return nil }
        interval = max(1, RateLimit.second / rate)
    }

    /// - Returns: the whole seconds after which it may be tried again; `nil` where it may be done now.
    public func take(_ due: inout Due, at now: Date) -> Int? {
        let now = now.nanoseconds
        // It is never further off, unless the clock was put back.
        let next = due.time > now + RateLimit.second ? now : max(due.time, now)
        let wait = next - now + interval - RateLimit.second
        guard wait <= 0 else { return (wait + RateLimit.second - 1) / RateLimit.second }
        due.time = next + interval
        return nil
    }
}

extension Date {
    fileprivate var nanoseconds: Int { Int(exactly: (timeIntervalSince1970 * 1e9).rounded()) ?? 0 }
}
