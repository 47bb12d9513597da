internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class LiveSession: Sendable {
    private struct Committed {
        var state: SessionState
        var hasEnded = false
    }

    let id: SessionID
    let app: App
    let turns = Turns()
    /// Whether it was asked for since it was last looked at, see `LiveSessions`.
    let isInUse = Atomic(true)
    private let committed: Mutex<Committed>
    /// See `RateLimit`.
    private let nextEvent = Mutex(RateLimit.Due())
    /// `nil` as long as no request had a key.
    private let answered: Mutex<AnsweredKeys?>

    init(_ state: SessionState, of app: App, answered: AnsweredKeys? = nil) {
        self.id = state.id
        self.app = app
        self.committed = Mutex(Committed(state: state))
        self.answered = Mutex(answered)
    }

    /// As of the last committed state.
    var identity: SessionIdentity { committed.withLock { $0.state.identity } }

    /// Whether the token is the session's.
    func isOpen(to token: SHA256Digest) -> Bool {
        committed.withLock { $0.state.identity.token == token }
    }

    /// Counts an event.
    func admit(_ limit: RateLimit?, at now: Date) throws(SessionError) {
        guard let limit, let wait = nextEvent.withLock({ limit.take(&$0, at: now) }) else { return }
        throw .tooManyEvents(retryAfter: wait)
    }

    /// The last committed state, for who has the token.
    func current(for token: SHA256Digest, at now: Date) throws(SessionError) -> SessionState {
        let (state, hasEnded) = committed.withLock { ($0.state, $0.hasEnded) }
        guard state.identity.token == token else { throw .unauthorized }
        guard !hasEnded else { throw .ended }
        guard state.expiresAt > now else { throw .expired }
        return state
    }

    /// To be called by who has the turn, after the store has committed.
    func publish(_ state: SessionState) {
        committed.withLock { $0.state = state }
    }

    func end() {
        committed.withLock { $0.hasEnded = true }
    }

    /// Whether an answer may be kept under the key; the store knows.
    func mayHaveAnswered(_ key: String) -> Bool {
        answered.withLock { $0?.mayContain(key) ?? false }
    }

    func remember(answered key: String, limit: Int) {
        answered.withLock { answered in
            var keys = answered ?? AnsweredKeys([], limit: limit)
            answered = nil
            keys.insert(key)
            answered = keys
        }
    }
}

extension SessionRecord {
    /// The state as a version of its session, known for `graveTime` longer than it lives.
    convenience init(_ state: SessionState, _ transition: Transition, at time: Date, graveTime: TimeInterval) {
        self.init(
            state.identity, version: state.version, time: time, keptUntil: state.expiresAt + graveTime,
            content: .state(state, transition))
    }
}
