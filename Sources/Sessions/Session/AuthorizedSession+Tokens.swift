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
        return try await host.change(live, waiting: .max) { (live) async throws(SessionError) in
            let now = host.now()
            let before = try with(live).state(if: condition, at: now)
            guard before.identity.tokens.contains(where: { $0.number == number }) else { throw .unknownToken }
            guard let identity = before.identity.revoking(number) else { throw .lastToken }
            let revoked = host.revised(before, as: identity, BuiltInEvent.tokenRevocation, at: now, of: live.app)
            let isCommitted = try await host.commit(revoked, after: before, at: now, of: live)
            return isCommitted ? .committed(revoked.state) : .outdated
        }
    }
}

extension OpenPairing {
    /// In seconds.
    static let lifetime: TimeInterval = 120
}

extension SessionHost {
    /// The version after `before` that differs from it only in the session's tokens.
    func revised(
        _ before: SessionState, as identity: SessionIdentity, _ event: String, at now: Date, of app: App
    ) -> AppliedEvent {
        let expiresAt = settings.expiry(of: app, createdAt: identity.createdAt, usedAt: now)
        return AppliedEvent(
            state: before.next(before.navigation, as: identity, expiresAt: expiresAt),
            transition: Transition(event: event))
    }
}
