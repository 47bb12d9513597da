internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class LiveSession: Sendable {
    private struct Committed {
        var state: SessionState
        var hasEnded = false
        /// Where it counts, as long as it is among the `LiveSessions`.
        var usage: LiveUsage?
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

    /// The last committed state.
    ///
    /// - Parameter token: of who asks; `nil` for the server itself.
    func current(for token: SHA256Digest?, at now: Date) throws(SessionError) -> SessionState {
        let (state, hasEnded) = committed.withLock { ($0.state, $0.hasEnded) }
        guard token == nil || state.identity.token == token else { throw .unauthorized }
        guard !hasEnded else { throw .ended }
        guard state.expiresAt > now else { throw .expired }
        return state
    }

    /// Call while holding the turn, after the store has committed.
    func publish(_ state: SessionState) {
        committed.withLock { committed in
            committed.usage?.add(bytes: state.footprint - committed.state.footprint)
            committed.state = state
        }
    }

    /// About how many bytes it takes.
    var footprint: Int { committed.withLock { $0.state.footprint } }

    /// Counts it from now on.
    func enter(_ usage: LiveUsage) {
        committed.withLock { committed in
            committed.usage = usage
            usage.add(sessions: 1, bytes: committed.state.footprint)
        }
    }

    func leave() {
        committed.withLock { committed in
            committed.usage?.add(sessions: -1, bytes: -committed.state.footprint)
            committed.usage = nil
        }
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
    /// The state as a version of its session.
    convenience init(_ state: SessionState, _ transition: Transition, at time: Date, keptUntil: Date) {
        self.init(
            state.identity, version: state.version, time: time, keptUntil: keptUntil,
            content: .state(state, transition))
    }

    /// The end of a session after that version.
    convenience init(endOf identity: SessionIdentity, after version: Int, at time: Date, keptUntil: Date) {
        self.init(identity, version: version + 1, time: time, keptUntil: keptUntil, content: .ended)
    }
}
