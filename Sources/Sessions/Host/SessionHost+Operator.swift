internal import Coordinators
public import FoundationEssentials
internal import Synchronization

// What the operator may see and do, without a session's token.
extension SessionHost {
    /// A session, for the operator.
    ///
    /// - Throws: `unknownSession` if there is none.
    public func sessionForOperator(_ id: SessionID) async throws(SessionError) -> AuthorizedSession {
        let live: Session
        do throws(SessionError) {
            live = try await inMemory(id, for: nil)
            try await isCurrent(live)
        } catch {
            if case .unauthorized = error { throw .unknownSession }
            throw error
        }
        return AuthorizedSession(host: self, live: live, token: live.identity.token, isOperators: true)
    }

    /// The last committed states of sessions in memory that are not over, in no order.
    ///
    /// - Parameter limit: of how many sessions at most.
    public func liveStates(limit: Int) -> [SessionState] {
        let now = now()
        return live.withLock { $0.some(limit) }.compactMap { try? $0.current(for: nil, at: now) }
    }

    /// The schema version of an app.
    public func version(of app: String) -> Int? {
        apps.first { $0.name == app }?.version
    }
}

extension SessionState {
    /// When a client last used the session, to the minute.
    public var usedAt: Date {
        identity.tokens.reduce(identity.createdAt) { max($0, $1.usedAt) }
    }
}
