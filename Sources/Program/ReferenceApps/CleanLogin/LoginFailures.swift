internal import Coordinators

/// An account, and the client that tries to log in to it.
struct LoginAttempt: Hashable {
    let account: AccountName
    let client: ClientAddress?
}

/// Recent wrong passwords, and how long they delay a client at an account: a second after three in a row, twice as long
/// after each further one, at most a minute. Other clients are not delayed, so nobody can lock an account's owner out
/// from elsewhere. It knows no accounts: a name without an account is delayed just the same.
struct LoginFailures {
    typealias Instant = ContinuousClock.Instant

    private struct Streak {
        var count: Int
        /// When the last failure was, or when an attempt began whose outcome is not known yet.
        var latest: Instant

        var isSlow: Bool { count >= LoginFailures.free }

        var slowUntil: Instant {
            isSlow ? latest + .seconds(min(1 << min(count - LoginFailures.free, 6), 60)) : latest
        }
    }

    /// Failures in a row that cause no delay.
    private static let free = 3

    private var streaks: [LoginAttempt: Streak] = [:]
    private let limit: Int

    /// - Parameter limit: pairs of name and client that are remembered. Beyond it, the pair that failed longest ago is
    ///   forgotten; to displace a pair takes as many password checks.
    init(limit: Int = 10_000) {
        self.limit = limit
    }

    var count: Int { streaks.count }

    /// Throws while the attempt has to wait.
    func check(_ attempt: LoginAttempt, at now: Instant) throws(LoginError) {
        guard let streak = streaks[attempt], now < streak.slowUntil else { return }
        let left = (streak.slowUntil - now).components
        throw .tooManyFailures(retryAfter: Int(left.seconds) + (left.attoseconds > 0 ? 1 : 0))
    }

    /// Call before a password is checked. Once a client is delayed at an account, its attempts are checked one at a
    /// time: until the outcome of one is known, the others wait as if it had failed.
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
        // This count has the longest delay; higher ones would not change it.
        let count = min((streaks[attempt]?.count ?? 0) + 1, LoginFailures.free + 6)
        streaks[attempt] = Streak(count: count, latest: now)
    }

    mutating func succeed(_ attempt: LoginAttempt) {
        streaks[attempt] = nil
    }
}
