internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// What a new session is to be.
public struct SessionRequest: Sendable {
    /// The first app where it is `nil`.
    public var app: String?
    /// Opened right away.
    public var link: String?

    public init(app: String? = nil, link: String? = nil) {
        self.app = app
        self.link = link
    }
}

extension SessionHost {
    /// Opens a session.
    ///
    /// - Parameter once: where given, it tells the session too: its id and its token follow from the key, so the request
    ///   can be repeated and the token told again, although it is not kept. Whoever knows the key has the session.
    public func create(
        _ request: SessionRequest = SessionRequest(), once: IdempotentRequest? = nil
    ) async throws(SessionError) -> CreatedSession {
        guard let app = apps.first(where: { request.app == nil || $0.name == request.app }) else { throw .unknownApp }
        return try await create(once) { () async throws(SessionError) in
            let now = self.now()
            return (
                app,
                try await self.launched(app) { () throws(NavigationError) in
                    try app.beginLaunch(at: now, link: request.link)
                }, nil
            )
        }
    }

    /// Opens a session where another one is, or was. It lives no longer than the other one can.
    ///
    /// - Parameter version: of the other session; `nil` for its last one.
    public func fork(
        _ session: AuthorizedSession, version: Int?, once: IdempotentRequest? = nil
    ) async throws(SessionError) -> CreatedSession {
        guard session.live.app.endsForks else { return try await create(once, from: session, version) }
        // The other one ends before this, so that there is no fork, or after, so that its end finds the fork.
        switch await session.live.enter(limit: settings.waitingLimit) {
        case .entered: break
        case .full: throw .tooManyWaiting
        case .closed: return try await fork(try await session.again(), version: version, once: once)
        }
        defer { session.live.leave() }
        return try await create(once, from: session, version)
    }

    private func create(
        _ once: IdempotentRequest?, from session: AuthorizedSession, _ version: Int?
    ) async throws(SessionError) -> CreatedSession {
        try await create(once) { () async throws(SessionError) in
            let past = try await session.past(version)
            let transition = Transition(event: nil)
            return (
                session.live.app, TransitionResult(state: past.navigation, transition: transition), past.identity
            )
        }
    }

    /// The first state, and the session that it was another one's of.
    private typealias First =
        @Sendable () async throws(SessionError) -> (App, TransitionResult, origin: SessionIdentity?)

    private func create(
        _ once: IdempotentRequest?, _ first: First
    ) async throws(SessionError) -> CreatedSession {
        guard let once else {
            while true {
                let created = try await commit(.random(), .random(), nil, first)
                // The id is taken, which will not happen; if it does, another one is not.
                if let created { return created }
            }
        }
        let id = SessionID(from: once.secretKey, secret: store.secret)
        let token = SessionToken(from: once.secretKey, secret: store.secret)
        return try await creations.inTurn(id) { () async throws(SessionError) in
            if let answered = try await self.answered(once, id, token) { return answered }
            if let created = try await self.commit(id, token, once, first) { return created }
            // Another server was faster.
            guard let answered = try await self.answered(once, id, token) else { throw .conflict }
            return answered
        }
    }

    /// - Returns: `nil` where there is a session of that id.
    private func commit(
        _ id: SessionID, _ token: SessionToken, _ once: IdempotentRequest?, _ first: First
    ) async throws(SessionError) -> CreatedSession? {
        guard store.sessionCount < settings.sessionLimit else { throw .tooManySessions }
        let (app, result, origin) = try await first()
        let now = now()
        let createdAt = origin?.createdAt ?? now
        let identity = SessionIdentity(
            id: id, app: app.name, token: token.digest, createdAt: createdAt.wholeSeconds, origin: origin?.id)
        let state = SessionState(
            identity, version: 1, expiresAt: settings.expiry(of: app, createdAt: createdAt, usedAt: now),
            navigation: result.state)
        guard origin == nil || state.expiresAt > now else { throw .expired }
        let applied = AppliedEvent(state: state, transition: result.transition)
        let answer = once?.stored(applied)
        let change = SessionChange(
            id: id, expectedVersion: 0,
            record: SessionRecord(state, result.transition, at: now, keptUntil: settings.keptUntil(state, of: app)),
            answer: answer)
        let keys = answer.map { AnsweredKeys([$0.key], limit: retention.answers) }
        switch await commitFirst(change, of: Session(state, of: app, answered: keys)) {
        case .failure(let error): throw SessionError(error)
        case .success(let conflicts) where !conflicts.isEmpty: return nil
        case .success: break
        }
        return CreatedSession(
            outcome: answer.map { .answered($0, isReplay: false) } ?? .applied(applied), id: id, token: token)
    }

    /// The answer to an earlier creation under the same key.
    private func answered(
        _ once: IdempotentRequest, _ id: SessionID, _ token: SessionToken
    ) async throws(SessionError) -> CreatedSession? {
        guard let loaded = try await loaded(id, for: nil) else { return nil }
        guard !loaded.record.isEnd else { throw .ended }
        // The app has given it another token since, which must not be told here.
        guard loaded.record.identity.token == token.digest else { throw .answerForgotten(nil) }
        // As many others came since as are kept.
        guard let answer = try await answer(to: once.key, of: id) else { throw .answerForgotten(nil) }
        guard answer.fingerprint == once.fingerprint else { throw .keyReused }
        guard answer.body != nil else { throw .answerForgotten(nil) }
        return CreatedSession(outcome: .answered(answer, isReplay: true), id: id, token: token)
    }
}
