internal import Coordinators
internal import FoundationEssentials
internal import Sodium

extension AuthorizedSession {
    /// The session's tokens.
    ///
    /// - Returns: also the number of the caller's own.
    public func tokens() throws(SessionError) -> (all: [AccessToken], own: Int) {
        let identity = try state().identity
        guard let own = identity.access(of: token) else { throw .unauthorized }
        return (identity.tokens, own.number)
    }

    /// A code for another device. An earlier one that was given out for the same token is worthless from then on.
    ///
    /// - Parameter label: what the device is to be called; see `AccessToken.isLabel`.
    public func openPairing(label: String?) async throws(SessionError) -> OpenPairing {
        let now = host.now()
        try live.admitCode(at: now)
        guard try state().identity.tokens.count < AccessToken.limit else { throw .tooManyTokens }
        let code = PairingCode.random()
        let expiresAt = now.wholeSeconds + OpenPairing.lifetime
        try await host.pairings.open(
            code.digest(host.store.secret),
            for: Pairing(session: id, issuer: token, label: label, expiresAt: expiresAt), at: now)
        return OpenPairing(code: code, expiresAt: expiresAt)
    }

    /// Revokes a token, which may be the caller's own, but not the only one. Requests with it that wait for their turn
    /// are refused. However many wait, this finds a place.
    ///
    /// - Returns: the new state, which shows the same.
    @discardableResult
    public func revokeToken(
        _ number: Int, if condition: VersionCondition? = nil
    ) async throws(SessionError) -> SessionState {
        try live.admit(host.eventRate, at: host.now())
        guard case .entered = await live.enter(limit: .max) else {
            return try await again().revokeToken(number, if: condition)
        }
        defer {
            live.leave()
            host.evictIfOver()
        }
        return try await host.changing(live) { () async throws(SessionError) in
            let before = try state(if: condition)
            guard before.identity.tokens.contains(where: { $0.number == number }) else { throw .unknownToken }
            guard let identity = before.identity.revoking(number) else { throw .lastToken }
            let committed = try await host.commit(identity, after: before, BuiltInEvent.tokenRevocation, of: live)
            return committed.map { .committed($0.applied.state) } ?? .outdated
        }
    }
}

extension OpenPairing {
    /// In seconds.
    static let lifetime: TimeInterval = 120
}

extension SessionHost {
    /// Commits a version that differs from the one before only in the session's tokens. Call while holding the turn.
    ///
    /// - Returns: `nil` after a conflict.
    func commit(
        _ identity: SessionIdentity, after before: SessionState, _ event: String, of session: Session,
        once: IdempotentRequest? = nil
    ) async throws(SessionError) -> (applied: AppliedEvent, answer: StoredAnswer?)? {
        let now = now()
        let state = before.next(
            before.navigation, as: identity,
            expiresAt: settings.expiry(of: session.app, createdAt: identity.createdAt, usedAt: now))
        let applied = AppliedEvent(state: state, transition: Transition(event: event))
        let answer = once?.stored(applied)
        let record = EncodedRecord(
            state, applied.transition, at: now, keptUntil: settings.keptUntil(state, of: session.app))
        let change = SessionChange(
            id: session.id, expected: before.stamp, record: record, answer: answer)
        guard try await commit(change, of: session) else { return nil }
        session.publish(state, answered: answer?.key, limit: retention.answers)
        feed.report(session.id, SessionUpdate(state, applied.transition))
        return (applied, answer)
    }
}
