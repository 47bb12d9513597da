/// The wrong passwords of late, and how they slow an account down: after three in a row for a second, after each one
/// more for twice as long, at most a minute. It knows no accounts, so a name that has none is slowed down just the
/// same.
struct LoginFailures {
    typealias Instant = ContinuousClock.Instant

    private struct Streak {
        var count: Int
        /// Of the last failure, or of an attempt that is still to be one.
        var latest: Instant

        var isSlow: Bool { count >= LoginFailures.free }

        var slowUntil: Instant {
            isSlow ? latest + .seconds(min(1 << min(count - LoginFailures.free, 6), 60)) : latest
        }
    }

    /// Failures in a row that cost no time.
    private static let free = 3

    private var streaks: [AccountName: Streak] = [:]
    private let limit: Int

    /// - Parameter limit: names that are remembered. Beyond it the one that failed longest ago is forgotten; to push a
    ///   name out takes as many checks of passwords.
    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int { streaks.count }

    /// Throws while the account is slowed down.
    func check(_ account: AccountName, at now: Instant) throws(LoginError) {
        guard let streak = streaks[account], now < streak.slowUntil else { return }
        let left = (streak.slowUntil - now).components
        throw .tooManyFailures(retryAfter: Int(left.seconds) + (left.attoseconds > 0 ? 1 : 0))
    }

    /// To be called when a password is about to be checked. Once an account has been slowed down, attempts come one at
    /// a time: until the outcome is known, others wait as if it had failed.
    mutating func begin(_ account: AccountName, at now: Instant) throws(LoginError) {
        try check(account, at: now)
        if streaks[account]?.isSlow == true { streaks[account]?.latest = now }
    }

    mutating func fail(_ account: AccountName, at now: Instant) {
        if streaks[account] == nil, streaks.count >= limit,
            let oldest = streaks.min(by: { $0.value.latest < $1.value.latest })
        {
            streaks[oldest.key] = nil
        }
        // One above what the longest delay takes is enough.
        let count = min((streaks[account]?.count ?? 0) + 1, LoginFailures.free + 6)
        streaks[account] = Streak(count: count, latest: now)
    }

    mutating func succeed(_ account: AccountName) {
        streaks[account] = nil
    }
}
