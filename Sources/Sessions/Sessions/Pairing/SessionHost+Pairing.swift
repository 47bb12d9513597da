public import Coordinators
internal import Sodium

extension SessionHost {
    /// Gives a device a token of its own for the session that a code stands for. A code can be used once.
    ///
    /// - Parameters:
    ///   - code: as it was typed.
    ///   - label: what the device calls itself; used only if no label was given when the code was opened.
    ///   - role: the name of the role that it asks for, see `Pairing.role`.
    ///   - client: what it says about itself.
    ///   - once: if given, the token is derived from the key, so that the same request gets it again for ten minutes,
    ///     unless the codes are in this process's memory and it is restarted.
    /// - Throws: `unknownCode`, `tooManyTries`, `tooManyTokens`, `unknownRole`.
    public func pair(
        _ code: String, label: String? = nil, role: String? = nil, client: ClientInfo? = nil,
        once: IdempotentRequest? = nil
    ) async throws(SessionError) -> CreatedSession {
        // A text that cannot be a code does not count as a guess.
        guard let digest = PairingCode(typed: code)?.digest(store.secret) else { throw .unknownCode }
        let pairing = try await pairings.find(digest, key: once?.key.digest, at: now())
        var claim: CodeClaim?
        let paired: CreatedSession
        do throws(SessionError) {
            let session = try await inMemory(pairing.session, for: nil)
            paired = try await change(session) { (session) async throws(SessionError) in
                try await attempt(digest, pairing, label, role, client, with: session, once: once, &claim)
            }
        } catch {
            // The token may have been added.
            if case .unknownOutcome = error { throw error }
            if claim == .taken { await pairings.giveBack(digest) }
            switch error {
            // A code must not reveal what has become of its session.
            case .unauthorized, .ended, .expired: throw .unknownCode
            default: throw error
            }
        }
        if !paired.outcome.endings.isEmpty { try await carryOutEndings(of: paired.outcome, for: paired.id) }
        return paired
    }

    /// The role that a device gets, which may have asked for one.
    private func role(
        _ asked: String?, with pairing: Pairing, _ issuer: AccessToken, _ state: SessionState, of app: App
    ) throws(SessionError) -> DeviceRole? {
        if let role = pairing.role {
            guard asked == nil || asked == role else { throw .unknownRole }
            return app.role(role)
        }
        let own = issuer.client == nil ? state.navigation.role : app.role(issuer.role)
        guard let asked else { return own }
        guard let role = app.roles.first(where: { $0.name == asked }), own?.mayGive(asked) == true else {
            throw .unknownRole
        }
        return role
    }

    /// How a request got the right to use a code.
    private enum CodeClaim {
        /// It has marked the code as used.
        case taken
        /// The code was already marked as used under the request's key: by another server that handles the same
        /// request, or that stopped before it had carried it out. Both derive the same token, and only one of them can
        /// commit it.
        case takenUnderKey
    }

    private func claim(
        _ code: SHA256Digest, _ once: IdempotentRequest?, at now: Date
    ) async throws(SessionError) -> CodeClaim {
        if try await pairings.take(code, key: once?.key.digest, at: now) { return .taken }
        guard let once else { throw .unknownCode }
        _ = try await pairings.find(code, key: once.key.digest, at: now)
        return .takenUnderKey
    }

    private func attempt(
        _ code: SHA256Digest, _ pairing: Pairing, _ label: String?, _ role: String?, _ client: ClientInfo?,
        with session: Session, once: IdempotentRequest?, _ claim: inout CodeClaim?
    ) async throws(SessionError) -> Attempt<CreatedSession> {
        if let once, session.mayHaveAnswered(once.key.digest),
            let answer = try await answer(to: once.key.digest, of: session.id)
        {
            return .unchanged(try replay(answer, to: once, of: session))
        }
        let now = now()
        let before = try session.current(for: nil, at: now)
        // The token that asked for the code may have been revoked or replaced since.
        guard let issuer = before.identity.access(of: pairing.issuer) else { throw .unknownCode }
        guard before.identity.tokens.count < AccessToken.limit else { throw .tooManyTokens }
        let given = try self.role(role, with: pairing, issuer, before, of: session.app)
        if claim == nil { claim = try await self.claim(code, once, at: now) }
        let version = before.version + 1
        let token = once?.key.token(version: version, of: session.id, secret: store.secret) ?? .random()
        let device = PairedDevice(
            before.identity.nextNumber, label: pairing.label ?? label, role: given, client: client, pairedAt: now)
        let identity = before.identity.adding(token.digest, of: device, beside: before.navigation, from: version)
        let applied = await told(
            of: device, revised(before, as: identity, BuiltInEvent.tokenAddition, at: now, of: session.app),
            after: before, at: now, session)
        let drawn = try applied.state.drawn(
            for: applied.state.identity.device(of: token.digest, in: session.app), of: session.app)
        let shown = AppliedEvent(state: drawn, transition: applied.transition)
        let answer = once?.stored(shown)
        guard try await commit(applied, after: before, at: now, keeping: answer, of: session) else { return .outdated }
        let outcome = Outcome(of: shown, keeping: answer)
        return .committed(CreatedSession(outcome: outcome, id: session.id, token: token))
    }

    /// The version that adds the device's token, and what `deviceDidPair` makes of it. If that fails, the device is
    /// paired all the same.
    ///
    /// - Parameter silent: the version if the app is not told.
    private func told(
        of device: PairedDevice, _ silent: AppliedEvent, after before: SessionState, at now: Date, _ session: Session
    ) async -> AppliedEvent {
        guard session.app.isToldOfDevices else { return silent }
        do throws(SessionError) {
            let result = try await transition(.pairing(device), on: before, of: session, at: now, showsErrors: true)
            guard let result else { return silent }
            let paired = silent.state.identity
            let identity = result.transition.changes.flatMap(paired.after) ?? paired
            return AppliedEvent(
                state: before.next(result.state, as: identity, expiresAt: silent.state.expiresAt),
                transition: result.transition)
        } catch {
            report("session \(session.id.text): a device was paired, but \(error.wordsForOperator)")
            return silent
        }
    }

    /// The answer to an earlier request under the same key.
    private func replay(
        _ answer: StoredAnswer, to once: IdempotentRequest, of session: Session
    ) throws(SessionError) -> CreatedSession {
        try once.check(answer, measures)
        let state = try session.current(for: nil, at: now())
        // The token may have been revoked or replaced since.
        guard answer.body != nil,
            let token = once.key.token(version: answer.version, of: session.id, secret: store.secret),
            state.identity.isOpen(to: token.digest)
        else { throw .answerForgotten(nil) }
        return CreatedSession(
            outcome: .answered(answer, generation: state.stamp.generation, replayedAt: state.version), id: session.id,
            token: token)
    }
}
