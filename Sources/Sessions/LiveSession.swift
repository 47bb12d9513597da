internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class LiveSession: Sendable {
    private enum Committed {
        case state(SessionState)
        case ended
    }

    let identity: SessionIdentity
    let app: App
    let turns = Turns()
    /// Whether it was asked for since it was last looked at, see `LiveSessions`.
    let isInUse = Atomic(true)
    private let committed: Mutex<Committed>
    /// `nil` as long as no request had a key.
    private let answered: Mutex<AnsweredKeys?>

    init(_ state: SessionState, of app: App, answered: AnsweredKeys? = nil) {
        self.identity = state.identity
        self.app = app
        self.committed = Mutex(.state(state))
        self.answered = Mutex(answered)
    }

    var id: SessionID { identity.id }

    /// The last committed state.
    func current(at now: Date) throws(SessionError) -> SessionState {
        switch committed.withLock({ $0 }) {
        case .ended: throw .ended
        case .state(let state):
            guard state.expiresAt > now else { throw .expired }
            return state
        }
    }

    /// To be called by who has the turn, after the store has committed.
    func publish(_ state: SessionState) {
        committed.withLock { $0 = .state(state) }
    }

    func end() {
        committed.withLock { $0 = .ended }
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
