internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class Session: Sendable {
    private struct State {
        var committed: SessionState
        var hasEnded = false
        /// Where the session is counted while it is in `LiveSessions`.
        var usage: LiveUsage?
        /// One event at a time.
        var turns = Turns()
        /// See `RateLimit`.
        var nextEvent = RateLimit.Due()
        var nextCode = RateLimit.Due()
        /// `nil` while no request has had an `Idempotency-Key`.
        var answered: AnsweredKeys?

        /// - Returns: `false` if the committed state is not earlier.
        mutating func replace(_ later: SessionState) -> Bool {
            guard committed.stamp.precedes(later.stamp) else { return false }
            usage?.add(
                bytes: later.footprint - committed.footprint,
                coordinators: later.coordinatorCount - committed.coordinatorCount)
            committed = later
            return true
        }
    }

    let id: SessionID
    let app: App
    /// Whether it was requested since the hand last passed it, see `LiveSessions`.
    let isInUse = Atomic(true)
    private let state: Mutex<State>

    init(_ committed: SessionState, of app: App, answered: AnsweredKeys? = nil) {
        self.id = committed.id
        self.app = app
        self.state = Mutex(State(committed: committed, answered: answered))
    }

    /// In the last committed state.
    var identity: SessionIdentity { state.withLock { $0.committed.identity } }

    /// Of the last committed state.
    var stamp: SessionStamp { state.withLock { $0.committed.stamp } }

    /// Whether the token is one of the session's.
    func isOpen(to token: SHA256Digest) -> Bool {
        state.withLock { $0.committed.identity.isOpen(to: token) }
    }

    /// Counts an event against the rate limit.
    func admit(_ limit: RateLimit?, at now: Date) throws(SessionError) {
        guard let limit, let wait = state.withLock({ limit.take(&$0.nextEvent, at: now) }) else { return }
        throw .tooManyEvents(rate: limit.rate, retryAfter: wait)
    }

    /// Counts a request for a pairing code.
    func admitCode(at now: Date) throws(SessionError) {
        guard let limit = Session.codeRate, let wait = state.withLock({ limit.take(&$0.nextCode, at: now) }) else {
            return
        }
        throw .tooManyCodeRequests(rate: limit.rate, retryAfter: wait)
    }

    /// A code is typed within two minutes; asking for another one is rare.
    private static let codeRate = RateLimit(30, in: 60)

    /// The last committed state.
    ///
    /// - Parameter token: the caller's; `nil` for the server itself.
    func current(for token: SHA256Digest?, at now: Date) throws(SessionError) -> SessionState {
        let (committed, hasEnded) = state.withLock { ($0.committed, $0.hasEnded) }
        if let token {
            guard let access = committed.identity.access(of: token) else { throw .unauthorized }
            access.noteUse(at: now)
        }
        guard !hasEnded else { throw .ended }
        guard committed.expiresAt > now else { throw .expired }
        return committed
    }

    /// Call while holding the turn, after the store has committed. A later state that a reader has loaded meanwhile is
    /// kept.
    ///
    /// - Parameters:
    ///   - key: the hashed `Idempotency-Key` of its event; `nil` if that had none.
    ///   - limit: how many keys to keep.
    func publish(_ committed: SessionState, answered key: String?, limit: Int) {
        state.withLock { state in
            guard state.replace(committed), let key else { return }
            // With a second reference, `insert` would copy the elements.
            var keys = state.answered ?? AnsweredKeys([], limit: limit)
            state.answered = nil
            keys.insert(key)
            state.answered = keys
        }
    }

    /// Takes over what another object of the session has loaded, if that is later.
    func takeOver(_ loaded: Session) {
        let (committed, answered) = loaded.state.withLock { ($0.committed, $0.answered) }
        state.withLock { if $0.replace(committed) { $0.answered = answered } }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
    }

    /// `false` if the key is not one of the last whose answers are kept. Otherwise it may be: only the store knows.
    func mayHaveAnswered(_ key: String) -> Bool {
        state.withLock { $0.answered?.mayContain(key) ?? false }
    }
}

// The session's turns: for events, for its end, and for forks, which its end must find.
extension Session {
    /// Takes the turn if it is free.
    func enterAtOnce() -> Bool {
        state.withLock { $0.turns.enterAtOnce() }
    }

    /// - Parameter limit: how many of the caller's kind may wait.
    func enter(as caller: Turns.Caller = .client, limit: Int) async -> Turns.Entry {
        await withCheckedContinuation { continuation in
            let entry = state.withLock { $0.turns.enter(continuation, as: caller, limit: limit) }
            if let entry { continuation.resume(returning: entry) }
        }
    }

    /// How many requests have got the turn since one last had it without having to wait.
    var successiveTurns: Int { state.withLock(\.turns.successive) }

    /// Passes the turn to the next request.
    func leave() {
        state.withLock { $0.turns.leave() }?.resume(returning: .entered)
    }

    /// Closes the queue. Requests that wait for their turn load the session again.
    func close() {
        for waiting in state.withLock({ $0.turns.close() }) { waiting.resume(returning: .closed) }
    }

    /// Closes the queue if nobody has the turn.
    ///
    /// - Returns: whether the queue is closed.
    func closeIfIdle() -> Bool {
        state.withLock { $0.turns.closeIfIdle() }
    }
}

// The session's memory.
extension Session {
    /// About how many bytes the session takes in memory.
    var footprint: Int { state.withLock { $0.committed.footprint } }

    /// Counts the session in `usage` from now on.
    func startCounting(in usage: LiveUsage) {
        state.withLock { state in
            state.usage = usage
            usage.add(
                sessions: 1, bytes: state.committed.footprint, coordinators: state.committed.coordinatorCount)
        }
    }

    func stopCounting() {
        state.withLock { state in
            state.usage?.add(
                sessions: -1, bytes: -state.committed.footprint, coordinators: -state.committed.coordinatorCount)
            state.usage = nil
        }
    }
}
