internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class Session: Sendable {
    private struct State {
        var committed: SessionState
        var hasEnded = false
        /// Where it counts, as long as it is among the `LiveSessions`.
        var usage: LiveUsage?
        /// One event at a time.
        var turns = Turns()
        /// See `RateLimit`.
        var nextEvent = RateLimit.Due()
        /// `nil` as long as no request had a key.
        var answered: AnsweredKeys?
    }

    let id: SessionID
    let app: App
    /// Whether it was asked for since it was last looked at, see `LiveSessions`.
    let isInUse = Atomic(true)
    private let state: Mutex<State>

    init(_ committed: SessionState, of app: App, answered: AnsweredKeys? = nil) {
        self.id = committed.id
        self.app = app
        self.state = Mutex(State(committed: committed, answered: answered))
    }

    /// As of the last committed state.
    var identity: SessionIdentity { state.withLock { $0.committed.identity } }

    /// Whether the token is the session's.
    func isOpen(to token: SHA256Digest) -> Bool {
        state.withLock { $0.committed.identity.token == token }
    }

    /// Counts an event.
    func admit(_ limit: RateLimit?, at now: Date) throws(SessionError) {
        guard let limit, let wait = state.withLock({ limit.take(&$0.nextEvent, at: now) }) else { return }
        throw .tooManyEvents(retryAfter: wait)
    }

    /// The last committed state.
    ///
    /// - Parameter token: of who asks; `nil` for the server itself.
    func current(for token: SHA256Digest?, at now: Date) throws(SessionError) -> SessionState {
        let (committed, hasEnded) = state.withLock { ($0.committed, $0.hasEnded) }
        guard token == nil || committed.identity.token == token else { throw .unauthorized }
        guard !hasEnded else { throw .ended }
        guard committed.expiresAt > now else { throw .expired }
        return committed
    }

    /// Call while holding the turn, after the store has committed.
    ///
    /// - Parameters:
    ///   - key: that it was committed under.
    ///   - limit: how many keys are kept.
    func publish(_ committed: SessionState, answered key: String?, limit: Int) {
        state.withLock { state in
            state.usage?.add(bytes: committed.footprint - state.committed.footprint)
            state.committed = committed
            guard let key else { return }
            // Not two of them, or the elements would be copied.
            var keys = state.answered ?? AnsweredKeys([], limit: limit)
            state.answered = nil
            keys.insert(key)
            state.answered = keys
        }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
    }

    /// Whether an answer may be kept under the key; the store knows.
    func mayHaveAnswered(_ key: String) -> Bool {
        state.withLock { $0.answered?.mayContain(key) ?? false }
    }
}

// Its turns: events, its end, and forks that its end must find.
extension Session {
    /// Takes the turn if it can be had.
    func enterAtOnce() -> Bool {
        state.withLock { $0.turns.enterAtOnce() }
    }

    /// - Parameter limit: how many may wait.
    func enter(limit: Int) async -> Turns.Entry {
        await withCheckedContinuation { continuation in
            let entry = state.withLock { $0.turns.enter(continuation, limit: limit) }
            if let entry { continuation.resume(returning: entry) }
        }
    }

    /// Hands the turn on to the one who waits longest.
    func leave() {
        state.withLock { $0.turns.leave() }?.resume(returning: .entered)
    }

    /// Those who wait for their turn load the session anew.
    func close() {
        for waiting in state.withLock({ $0.turns.close() }) { waiting.resume(returning: .closed) }
    }

    /// - Returns: whether nobody had the turn, so that nobody will have it again.
    func closeIfIdle() -> Bool {
        state.withLock { $0.turns.closeIfIdle() }
    }
}

// What it takes.
extension Session {
    /// About how many bytes.
    var footprint: Int { state.withLock { $0.committed.footprint } }

    /// Counts it from now on.
    func count(in usage: LiveUsage) {
        state.withLock { state in
            state.usage = usage
            usage.add(sessions: 1, bytes: state.committed.footprint)
        }
    }

    func countNoMore() {
        state.withLock { state in
            state.usage?.add(sessions: -1, bytes: -state.committed.footprint)
            state.usage = nil
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
