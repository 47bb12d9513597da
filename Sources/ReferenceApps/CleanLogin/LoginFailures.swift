internal import Coordinators

/// An account, and from where somebody tries to log in to it.
struct LoginAttempt: Hashable {
    let account: AccountName
    let client: ClientAddress?
}

/// The wrong passwords of late, and how they slow a client down at an account: after three in a row for a second, after
/// each one more for twice as long, at most a minute. Other clients are not slowed down, so nobody locks an account's
/// owner out from elsewhere. It knows no accounts: a name that has none is slowed down just the same.
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

    private var streaks: [LoginAttempt: Streak] = [:]
    private let limit: Int

    /// - Parameter limit: names and clients that are remembered. Beyond it the pair that failed longest ago is
    ///   forgotten; to push one out takes as many checks of passwords.
    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int { streaks.count }

    /// Throws while the attempt is to wait.
    func check(_ attempt: LoginAttempt, at now: Instant) throws(LoginError) {
        guard let streak = streaks[attempt], now < streak.slowUntil else { return }
        let left = (streak.slowUntil - now).components
        throw .tooManyFailures(retryAfter: Int(left.seconds) + (left.attoseconds > 0 ? 1 : 0))
    }

    /// To be called when a password is about to be checked. Once a client has been slowed down at an account, its
    /// attempts come one at a time: until the outcome is known, others wait as if it had failed.
    mutating func begin(_ attempt: LoginAttempt, at now: Instant) throws(LoginError) {
        try check(attempt, at: now)
        if streaks[attempt]?.isSlow == true { streaks[attempt]?.latest = now }
    }

    mutating func fail(_ attempt: LoginAttempt, at now: Instant) {
        if streaks[attempt] == nil, streaks.count >= limit,
            let oldest = streaks.min(by: { $0.value.latest < $1.value.latest })
        {
            streaks[oldest.key] = nil
        }
        // One above what the longest delay takes is enough.
        let count = min((streaks[attempt]?.count ?? 0) + 1, LoginFailures.free + 6)
        streaks[attempt] = Streak(count: count, latest: now)
    }

    mutating func succeed(_ attempt: LoginAttempt) {
        streaks[attempt] = nil
    }
}
