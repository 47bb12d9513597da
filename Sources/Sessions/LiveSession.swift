internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A session in memory: its last committed state, and the queue for its next one.
final class LiveSession: Sendable {
    struct Committed {
        var state: SessionState
        /// `state.navigation` as it is stored.
        var encoded: [UInt8]
        var hasEnded = false
    }

    let id: SessionID
    let app: App
    let token: SHA256Digest
    let createdAt: Date
    let turns = Turns()
    private let committed: Mutex<Committed>

    init(_ stored: StoredSession, of app: App, navigation: NavigationState) {
        self.id = stored.id
        self.app = app
        self.token = stored.token
        self.createdAt = stored.createdAt
        self.committed = Mutex(
            Committed(
                state: SessionState(
                    id: stored.id, app: stored.app, version: stored.version, expiresAt: stored.expiresAt,
                    navigation: navigation),
                encoded: stored.state))
    }

    /// The last committed state.
    func current(at now: Date) throws(SessionError) -> Committed {
        let committed = committed.withLock { $0 }
        if committed.hasEnded { throw .ended }
        if committed.state.expiresAt <= now { throw .expired }
        return committed
    }

    /// To be called by who has the turn, after the store has committed.
    func publish(_ state: SessionState, encoded: [UInt8]) {
        committed.withLock { $0 = Committed(state: state, encoded: encoded) }
    }

    func end() {
        committed.withLock { $0.hasEnded = true }
    }
}
