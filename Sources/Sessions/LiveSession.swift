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

    let id: SessionID
    let app: App
    let token: SHA256Digest
    let createdAt: Date
    let turns = Turns()
    private let committed: Mutex<Committed>

    init(_ state: SessionState, of app: App, token: SHA256Digest, createdAt: Date) {
        self.id = state.id
        self.app = app
        self.token = token
        self.createdAt = createdAt
        self.committed = Mutex(.state(state))
    }

    /// As it is stored in `state`, known for `graveTime` longer than it lives.
    func stored(_ state: SessionState, graveTime: TimeInterval) -> StoredSession {
        StoredSession(
            id: id, version: state.version, token: token, keptUntil: state.expiresAt + graveTime,
            content: .init(
                app: app.name, createdAt: createdAt, expiresAt: state.expiresAt, state: .committed(state)))
    }

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
}
