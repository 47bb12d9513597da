public import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// How to create a session.
public struct SessionRequest: Sendable {
    /// `nil` for the first app.
    public var app: String?
    /// A deep link to open at once; `nil` for none.
    public var link: String?
    /// What the client says about itself.
    public var client: ClientInfo?

    public init(app: String? = nil, link: String? = nil, client: ClientInfo? = nil) {
        self.app = app
        self.link = link
        self.client = client
    }
}

extension SessionHost {
    /// Creates a session.
    ///
    /// - Parameter once: if given, the session's id and token are derived from the key, so that a replay returns the
    ///   same token, although it is not kept. Whoever knows the key has access to the session.
    public func create(
        _ request: SessionRequest = SessionRequest(), once: IdempotentRequest? = nil
    ) async throws(SessionError) -> CreatedSession {
        guard let app = apps.first(where: { request.app == nil || $0.name == request.app }) else { throw .unknownApp }
        return try await create(once) { (id) async throws(SessionError) in
            let now = self.now()
            let first = try await self.launched(app, id, once: once) { () throws(NavigationError) in
                try app.beginLaunch(at: now, link: request.link, client: request.client)
            }
            self.reportCaught(first, in: id, of: app)
            return (app, first, nil)
        }
    }

    /// Creates a session with another session's state at some version. Its absolute lifetime counts from the other
    /// session's creation.
    ///
    /// - Parameter version: the other session's; `nil` for its last one.
    public func fork(
        _ session: AuthorizedSession, version: Int?, once: IdempotentRequest? = nil
    ) async throws(SessionError) -> CreatedSession {
        // A fork outlives what its device may no longer do, and has the user signed in.
        try session.require(\.mayEndOthers)
        guard session.live.app.endsForks else { return try await create(once, from: session, version) }
        // While this holds the turn, the other session cannot end: it has ended before, so that there is no fork, or
        // ends later, and then ends the fork too.
        let session = session.with(try await turn(of: session.live))
        defer { session.live.leave() }
        let fork = try await create(once, from: session, version)
        do throws(SessionError) {
            // Another server may have ended the other session meanwhile, before it could see the fork.
            try await isCurrent(session.live)
        } catch {
            // Whoever repeats the request after another error is checked again.
            if [.ended, .expired, .unauthorized].contains(error) { try await end(fork.id) }
            throw error
        }
        return fork
    }

    private func create(
        _ once: IdempotentRequest?, from session: AuthorizedSession, _ version: Int?
    ) async throws(SessionError) -> CreatedSession {
        try await create(once) { (_) async throws(SessionError) in
            let past = try await session.past(version, toContinue: true)
            let app = session.live.app
            do throws(NavigationError) {
                let state = try app.fork(of: past.navigation, for: session.device, at: now())
                return (app, TransitionResult(state: state, transition: Transition(event: nil)), past.identity)
            } catch {
                throw .refused(error, state: past)
            }
        }
    }

    private static let creationAttempts = 5

    /// Makes the first state of the session with that id. Returns also the app, and for a fork the identity of the
    /// session that the state was taken from.
    private typealias MakeFirstState =
        @Sendable (SessionID) async throws(SessionError) -> (App, TransitionResult, origin: SessionIdentity?)

    private func create(
        _ once: IdempotentRequest?, _ first: MakeFirstState
    ) async throws(SessionError) -> CreatedSession {
        guard let once else {
            // Tried again if the id is already in use, which is all but impossible, or if the store has just lost
            // commits.
            for _ in 0..<SessionHost.creationAttempts {
                if let created = try await commit(.random(), .random(), nil, first) { return created }
            }
            throw .conflict
        }
        let id = SessionID(from: once.key.text, secret: store.secret)
        let token = SessionToken(from: once.key.text, secret: store.secret)
        return try await creations.inTurn(id) { () async throws(SessionError) in
            if let replayed = try await self.replayedCreation(once, id, token) { return replayed }
            if let created = try await self.commit(id, token, once, first) { return created }
            // Another server created the session first.
            guard let replayed = try await self.replayedCreation(once, id, token) else { throw .conflict }
            return replayed
        }
    }

    /// - Returns: `nil` if there already is a session with that id.
    private func commit(
        _ id: SessionID, _ token: SessionToken, _ once: IdempotentRequest?, _ first: MakeFirstState
    ) async throws(SessionError) -> CreatedSession? {
        if let clockFailure { throw .notApplied(reason: clockFailure) }
        let hasPlace = creating.withLock { creating in
            guard store.sessionCount + creating < settings.sessionLimit else { return false }
            creating += 1
            return true
        }
        guard hasPlace else { throw .tooManySessions }
        defer { creating.withLock { $0 -= 1 } }
        let (app, result, origin) = try await first(id)
        let now = now()
        let createdAt = origin?.createdAt ?? now
        let identity = SessionIdentity(
            id: id, app: app.name, tokens: [AccessToken(token.digest, createdAt: now)],
            createdAt: createdAt.wholeSeconds, origin: origin?.id,
            user: result.transition.changes?.userChange.map(\.user) ?? origin?.user)
        let before = SessionStamp.none(in: store.generation)
        let state = SessionState(
            identity, stamp: before.next(version: 1),
            expiresAt: settings.expiry(of: app, createdAt: createdAt, usedAt: now),
            navigation: result.state)
        guard origin == nil || state.expiresAt > now else { throw .expired }
        let applied = AppliedEvent(state: state, transition: result.transition)
        let answer = once?.stored(applied)
        let record = record(of: state, result.transition, at: now, of: app)
        let change = SessionChange(id: id, expected: before, record: record, answer: answer)
        let keys = answer.map { AnsweredKeys([$0.key], limit: retention.answers) }
        let outcome = await commitCreation(change, of: Session(state, of: app, answered: keys))
        guard try isCommitted(outcome) else { return nil }
        measures.count(origin == nil ? .created : .forked)
        if !state.navigation.pending.isEmpty { followEffects(of: state) }
        return CreatedSession(outcome: Outcome(of: applied, keeping: answer), id: id, token: token)
    }

    /// The answer to an earlier creation under the same key.
    private func replayedCreation(
        _ once: IdempotentRequest, _ id: SessionID, _ token: SessionToken
    ) async throws(SessionError) -> CreatedSession? {
        guard let loaded = try await loaded(id, for: nil) else { return nil }
        guard !loaded.record.isEnd, loaded.record.ending == nil else { throw .ended }
        // The app has replaced the token since, and the new one must not be revealed here; or it was revoked.
        guard loaded.record.identity.isOpen(to: token.digest) else { throw .answerForgotten(nil) }
        // Later answers have displaced this one.
        guard let answer = try await answer(to: once.key.digest, of: id) else { throw .answerForgotten(nil) }
        return CreatedSession(outcome: try replay(answer, to: once, at: loaded.stamp), id: id, token: token)
    }
}
