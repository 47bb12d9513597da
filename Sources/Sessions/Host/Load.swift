internal import Sodium
internal import Synchronization

/// A single-flight load of a session from the store into memory: one request loads it for all with the same token.
final class Load: Sendable {
    typealias Outcome = Result<Session, SessionError>

    private struct State {
        var outcome: Outcome?
        var waiting: [CheckedContinuation<Outcome, Never>] = []
    }

    let id: SessionID
    /// The token that the session must have; `nil` if the caller's right to the session is already proved.
    let token: SHA256Digest?
    private let state = Mutex(State())

    init(of id: SessionID, for token: SHA256Digest?) {
        self.id = id
        self.token = token
    }

    /// Waits for the request that loads the session.
    func session() async throws(SessionError) -> Session {
        let outcome = await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        return try outcome.get()
    }

    func finish(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }
}
