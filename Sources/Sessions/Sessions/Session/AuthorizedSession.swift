public import Coordinators
internal import FoundationEssentials
internal import Measures
internal import Sodium

/// A session, for a caller whose token was checked.
public struct AuthorizedSession: Sendable {
    let host: SessionHost
    private(set) var live: Session
    /// The session's token when this was made. It may have been replaced since.
    private(set) var token: SHA256Digest
    /// Whether the caller is still an operator, who needs no token; `nil` if it is none.
    var isStillOperator: (@Sendable () -> Bool)?

    /// Whether the caller is an operator, who needs no token.
    var isOperator: Bool { isStillOperator != nil }

    public var id: SessionID { live.id }

    /// The last committed state, as the caller's device sees it.
    ///
    /// - Parameter condition: which versions the caller allows.
    public func state(if condition: VersionCondition? = nil) throws(SessionError) -> SessionState {
        let state = try drawn(try committed(at: host.now()))
        try condition?.check(state)
        return state
    }

    /// The last committed state, as it is stored.
    func committed(at now: Date) throws(SessionError) -> SessionState {
        try live.current(for: isOperator ? nil : token, at: now)
    }

    /// A state as the caller's device sees it.
    func drawn(_ state: SessionState) throws(SessionError) -> SessionState {
        try state.drawn(for: device(in: state), of: live.app)
    }

    /// Applies one event, whole or not at all. It is committed when this returns.
    ///
    /// - Parameters:
    ///   - condition: which versions the event may be applied to.
    ///   - once: if given, an event that was already applied under the same key is not applied again.
    public func apply(
        _ event: PostedEvent, if condition: VersionCondition? = nil, once: IdempotentRequest? = nil
    ) async throws(SessionError) -> Outcome {
        let measures = host.measures.events
        do throws(SessionError) {
            try live.admit(host.eventRate, at: host.now())
            let outcome = try await host.change(live) { (live) async throws(SessionError) in
                try await with(live).attempt(event, if: condition, once: once)
            }
            if case .applied(let applied) = outcome, applied.asksFirst {
                throw .refused(.answerFirst, state: applied.state)
            }
            // Not before the turn is over, because two sessions may end each other.
            if !outcome.endings.isEmpty { try await host.carryOutEndings(of: outcome, for: id) }
            measures?.count(event.type, of: live.app.name, outcome.isReplay ? .replayed : .applied)
            return outcome
        } catch {
            measures?.count(event.type, of: live.app.name, EventOutcome(error))
            throw error
        }
    }

    /// Applies the event to the last committed state, and commits the result. Call while holding the turn.
    private func attempt(
        _ event: PostedEvent, if condition: VersionCondition?, once: IdempotentRequest?
    ) async throws(SessionError) -> Attempt<Outcome> {
        let now = host.now()
        if let once, let answer = try await answer(keptUnder: once.key, at: now) {
            return .unchanged(try replay(answer, to: once.key, repeatedBy: once))
        }
        let before = try committed(at: now)
        let drawn = try drawn(before)
        try condition?.check(drawn)
        let result = try await transition(event, on: drawn, at: now, once: once)
        var applied = nextVersion(result, after: before, as: drawn, at: now, once: once)
        if let request = applied.transition.changes?.pairingRequest {
            applied = try await with(code: request, applied, at: now, once: once)
        }
        let shown =
            drawn.isForOnlooker
            ? AppliedEvent(
                state: try self.drawn(applied.state), transition: applied.transition, token: applied.token,
                pairing: applied.pairing) : applied
        // An event that the client has to post again is not carried out yet, so no answer is kept under its key.
        let answer = applied.asksFirst ? nil : once?.stored(shown, for: token)
        let hasChange = applied.state.version != before.version || answer != nil
        if hasChange {
            do throws(SessionError) {
                let isCommitted = try await host.commit(applied, after: before, at: now, keeping: answer, of: live)
                guard isCommitted else { return .outdated }
            } catch {
                if let pairing = applied.pairing { await close(pairing, after: error) }
                throw error
            }
        }
        if let pairing = applied.pairing { await give(pairing, to: applied.token?.digest ?? token) }
        guard hasChange else { return .unchanged(.applied(shown)) }
        return .committed(Outcome(of: shown, keeping: answer))
    }

    /// The same with a code for another device. It is opened before the commit, so that an event whose code cannot be had
    /// changes nothing; nobody learns the code of an event that is not committed, and earlier ones stay open until then.
    private func with(
        code request: PairingRequest, _ applied: AppliedEvent, at now: Date, once: IdempotentRequest?
    ) async throws(SessionError) -> AppliedEvent {
        try live.admitCode(at: now)
        let (state, token) = (applied.state, applied.token)
        let code = once?.key.code(version: state.version, of: id, secret: host.store.secret) ?? .random()
        let pairing = try await open(code, for: token?.digest ?? self.token, of: state, request, at: now)
        return AppliedEvent(
            state: state, transition: applied.transition, token: token, pairing: pairing,
            asksFirst: applied.asksFirst)
    }

    /// The version that a transition leads to, or the one before if the transition changes nothing.
    ///
    /// - Parameter drawn: the state before as the caller's device sees it.
    private func nextVersion(
        _ result: TransitionResult, after before: SessionState, as drawn: SessionState, at now: Date,
        once: IdempotentRequest?
    ) -> AppliedEvent {
        let version = before.version + 1
        let changes = result.transition.changes
        // Derived from the `Idempotency-Key` if there is one that cannot be guessed, so that a replay can return it again.
        let token =
            changes?.tokenRotation == nil
            ? nil : once?.key.token(version: version, of: id, secret: host.store.secret) ?? .random()
        let identity = before.identity.after(
            changes, token, for: self.token, client: result.state.client, at: now,
            version: version)
        let expiresAt = host.settings.expiry(of: live.app, createdAt: before.identity.createdAt, usedAt: now)
        guard
            result.state != drawn.navigation || identity != nil
                || host.settings.isWorthCommitting(expiresAt, after: before.expiresAt, of: live.app)
        else { return AppliedEvent(state: drawn, transition: result.transition) }
        // What a device says about itself that only looks is its own: the state stays drawn for who acted.
        let state = before.next(
            drawn.isForOnlooker ? before.navigation : result.state, as: identity ?? before.identity.withLastUses(),
            expiresAt: expiresAt)
        return AppliedEvent(
            state: state, transition: result.transition, token: token, asksFirst: result.asksFirst)
    }

    private func transition(
        _ event: PostedEvent, on state: SessionState, at now: Date, once: IdempotentRequest? = nil,
        isDryRun: Bool = false
    ) async throws(SessionError) -> TransitionResult {
        let measures = host.measures.events
        let began = measures == nil && host.timings == nil ? 0 : MonotonicTime.nanoseconds
        switch try begin(event, on: state, at: now, once: once, isDryRun: isDryRun) {
        case .finished(let result):
            measures?.add(MonotonicTime.nanoseconds - began, to: nil, of: live.app.name)
            return result
        case .running(let running, let coordinator):
            defer {
                if began > 0 {
                    let duration = MonotonicTime.nanoseconds - began
                    measures?.add(duration, to: coordinator, of: live.app.name)
                    host.timings?.add(live.app.name, event.type, .nanoseconds(duration))
                }
            }
            let result = try await running.outcome(host.callWatch).value { .refused($0, state: state) }
            host.reportCaught(result, in: id, of: live.app)
            return result
        }
    }

    private enum StartedTransition {
        /// No coordinator had to be called: there is nothing to wait for.
        case finished(TransitionResult)
        /// `coordinator` is called first.
        case running(RunningTransition, coordinator: String?)
    }

    private func begin(
        _ event: PostedEvent, on state: SessionState, at now: Date, once: IdempotentRequest?, isDryRun: Bool
    ) throws(SessionError) -> StartedTransition {
        var run: TransitionRun
        do throws(NavigationError) {
            run = try live.app.begin(event, on: state.navigation, at: now, by: device(in: state))
            if let result = try run.resultAtOnce() { return .finished(result) }
        } catch {
            throw .refused(error, state: state)
        }
        let coordinator = host.measures.events == nil ? nil : run.recipient
        let origin = HostOrigin(
            host, of: event, in: state, of: live.app, by: isOperator ? nil : token, once: once, isDryRun: isDryRun)
        return .running(RunningTransition(run, from: origin), coordinator: coordinator)
    }

    /// The caller's device; `nil` for the operator, who acts as the device that acted last.
    private func device(in state: SessionState) -> Device? {
        isOperator ? nil : state.identity.device(of: token, in: live.app)
    }

    /// Requires that the role of the caller's device, which never changes, gives it a right.
    func require(_ hasRight: (DeviceRole) -> Bool) throws(SessionError) {
        let state = try committed(at: host.now())
        guard !isOperator, let role = device(in: state)?.role ?? state.navigation.role, !hasRight(role) else { return }
        throw .notForRole(role.name)
    }

    /// The caller's device, as it is now.
    var device: Device? { isOperator ? nil : live.identity.device(of: token, in: live.app) }

    /// The answer to a request that was already carried out. It is found before the caller's token is looked at, which may
    /// be the one that the request has replaced while this waited; `replay` looks at it.
    private func answer(keptUnder key: RequestKey, at now: Date) async throws(SessionError) -> StoredAnswer? {
        guard live.mayHaveAnswered(key.digest) else { return nil }
        _ = try live.current(for: nil, at: now)
        return try await host.answer(to: key.digest, of: id)
    }

    /// The answer to a request that was already carried out.
    ///
    /// - Parameter once: the request if it is sent again; `nil` if the client only asks for the answer.
    private func replay(
        _ answer: StoredAnswer, to key: RequestKey, repeatedBy once: IdempotentRequest? = nil
    ) throws(SessionError) -> Outcome {
        let (identity, stamp) = (live.identity, live.stamp)
        let newToken = key.token(replayedBy: answer, to: identity, for: token, secret: host.store.secret)
        // The token may have been replaced while this waited. The event that replaced it may still be replayed with it.
        guard let access = identity.access(of: newToken?.digest ?? token) else { throw .unauthorized }
        try once?.check(answer, host.measures)
        // What was before the token is sealed, see `AccessToken.firstVersion`.
        guard answer.body != nil, answer.version >= access.firstVersion else {
            throw .answerForgotten(try? state())
        }
        host.measures.count(.replayed)
        let pairing = key.pairing(
            replayedBy: answer, to: newToken?.digest ?? token, secret: host.store.secret)
        return .answered(
            answer, generation: stamp.generation, replayedAt: stamp.version, token: newToken, pairing: pairing)
    }

    /// What became of the event with that key, for a client that did not receive the answer: the answer again. This waits
    /// for its turn, so it finds an event that arrived before it.
    ///
    /// - Returns: `nil` if nothing was carried out under the key. An event that arrives later still may be, unless the
    ///   key is withdrawn.
    public func answer(to key: RequestKey) async throws(SessionError) -> Outcome? {
        try await answer(to: key, withdrawing: false)
    }

    /// Withdraws the key of an event whose client has given it up: from then on nothing is carried out under it.
    ///
    /// - Returns: the answer to the event if it was carried out before; `nil` if the key is withdrawn.
    public func withdraw(_ key: RequestKey) async throws(SessionError) -> Outcome? {
        try await answer(to: key, withdrawing: true)
    }

    private func answer(to key: RequestKey, withdrawing: Bool) async throws(SessionError) -> Outcome? {
        try live.admit(host.eventRate, at: host.now())
        let outcome = try await host.change(live) { (live) async throws(SessionError) in
            try await with(live).attempt(key, withdrawing: withdrawing)
        }
        if let outcome, !outcome.endings.isEmpty { try await host.carryOutEndings(of: outcome, for: id) }
        return outcome
    }

    private func attempt(
        _ key: RequestKey, withdrawing: Bool
    ) async throws(SessionError) -> Attempt<Outcome?> {
        let now = host.now()
        let kept = try await answer(keptUnder: key, at: now)
        if let kept, !kept.isWithdrawal { return .unchanged(try replay(kept, to: key)) }
        let state = try committed(at: now)
        guard withdrawing, kept == nil else { return .unchanged(nil) }
        try require(\.mayAct)
        let unchanged = AppliedEvent(state: state, transition: Transition(event: nil))
        let withdrawal = StoredAnswer.withdrawal(of: key, in: state)
        let isCommitted = try await host.commit(unchanged, after: state, at: now, keeping: withdrawal, of: live)
        return isCommitted ? .committed(nil) : .outdated
    }

    /// What one event would do to the last committed state. The session does not change, and no request waits for this;
    /// a handler's effects outside the session do happen.
    public func preview(
        _ event: PostedEvent, if condition: VersionCondition? = nil
    ) async throws(SessionError) -> AppliedEvent {
        let now = host.now()
        try live.admit(host.eventRate, at: now)
        let before = try drawn(try committed(at: now))
        try condition?.check(before)
        let result = try await transition(event, on: before, at: now, isDryRun: true)
        let after = SessionState(
            before.identity, stamp: before.stamp, expiresAt: before.expiresAt, navigation: result.state, base: nil)
        if result.asksFirst { throw .refused(.answerFirst, state: after) }
        return AppliedEvent(state: after, transition: result.transition)
    }

    /// What a client shows on a screen of the last committed state, as JSON text. It counts as an event for the
    /// session's rate.
    ///
    /// - Parameter key: the screen's.
    /// - Returns: the text, and the state that it belongs to.
    public func content(of key: String) async throws(SessionError) -> (text: [UInt8], state: SessionState) {
        let now = host.now()
        let state = try drawn(try committed(at: now))
        try live.admit(host.eventRate, at: now)
        guard let run = ContentRun(of: key, in: state.navigation, of: live.app, session: id.text, at: now) else {
            throw .unknownScreen
        }
        let text = try await outcome(of: run, host.callWatch).value { .refused($0, state: state) }
        return (text, state)
    }

    /// Ends the session, and its forks if its app sets `endsForks`. A tombstone is kept for
    /// `SessionSettings.tombstoneLifetime`.
    public func end(if condition: VersionCondition? = nil) async throws(SessionError) {
        // Whose session it is alone, may always end it.
        if try committed(at: host.now()).identity.tokens.count > 1 { try require(\.mayEndOthers) }
        try await host.end(live, for: isOperator ? nil : token, if: condition)
    }

    /// The same session, if it was loaded again.
    func with(_ live: Session) -> AuthorizedSession {
        guard live !== self.live else { return self }
        var session = self
        session.live = live
        if isOperator { session.token = live.identity.token }
        return session
    }
}

extension VersionCondition {
    func check(_ state: SessionState) throws(SessionError) {
        guard holds(for: state.tag) else { throw .stale(state) }
    }
}

extension AuthorizedSession {
    /// The session's tokens.
    ///
    /// - Returns: also the number of the caller's own.
    public func tokens() throws(SessionError) -> (all: [AccessToken], own: Int) {
        let identity = try committed(at: host.now()).identity
        guard let own = identity.access(of: token) else { throw .unauthorized }
        return (identity.tokens, own.number)
    }

    /// The devices that have the session's tokens, in the same order.
    public func devices() throws(SessionError) -> [Device] {
        let state = try committed(at: host.now())
        return state.identity.devices(with: state.navigation, in: live.app)
    }

    /// The last committed state as each device sees it: once for those that see the same, the device that acted last first.
    /// A drawing that fails is the refusal of that device alone.
    public func drawings() throws(SessionError) -> [Drawing] {
        let state = try committed(at: host.now())
        var drawings: [Drawing] = []
        for device in state.identity.devices(with: state.navigation, in: live.app) {
            if let known = drawings.firstIndex(where: { $0.devices[0].seesTheSame(as: device) }) {
                drawings[known].devices.append(device)
            } else {
                let drawn = Result { () throws(SessionError) in try state.drawn(for: device, of: live.app) }
                drawings.append(Drawing(devices: [device], state: drawn))
            }
        }
        let first = drawings.firstIndex { state.navigation.isDrawn(for: $0.devices[0]) }
        if let first { drawings.swapAt(0, first) }
        return drawings
    }

    /// A code for another device. An earlier one that was given out for the same token is worthless from then on.
    ///
    /// - Parameters:
    ///   - label: what the device is to be called; see `AccessToken.isLabel`.
    ///   - role: the name of its role; `nil` if it may choose, see `Pairing.role`.
    public func openPairing(label: String?, role: String? = nil) async throws(SessionError) -> OpenPairing {
        let now = host.now()
        let state = try committed(at: now)
        if let role, !live.app.roles.contains(where: { $0.name == role }) { throw .unknownRole }
        try require { $0.mayGive(role) }
        try live.admitCode(at: now)
        let request = PairingRequest(label: label, role: role)
        let pairing = try await open(.random(), for: token, of: state, request, at: now)
        await give(pairing, to: token)
        return pairing
    }

    /// - Parameter issuer: the token that asks for the code.
    private func open(
        _ code: PairingCode, for issuer: SHA256Digest, of state: SessionState, _ request: PairingRequest, at now: Date
    ) async throws(SessionError) -> OpenPairing {
        guard state.identity.tokens.count < AccessToken.limit else { throw .tooManyTokens }
        let expiresAt = now.wholeSeconds + OpenPairing.lifetime
        try await host.pairings.open(
            code.digest(host.store.secret),
            for: Pairing(session: id, issuer: issuer, label: request.label, role: request.role, expiresAt: expiresAt),
            at: now)
        return OpenPairing(code: code, expiresAt: expiresAt)
    }

    /// Makes the earlier codes of a client worthless.
    private func give(_ pairing: OpenPairing, to issuer: SHA256Digest) async {
        await host.pairings.closeOthers(than: pairing.code.digest(host.store.secret), of: issuer)
    }

    /// Closes the code of an event that is not committed. The client may learn it later if that is unknown.
    private func close(_ pairing: OpenPairing, after error: SessionError) async {
        if case .unknownOutcome = error { return }
        await host.pairings.close(pairing.code.digest(host.store.secret))
    }

    /// Revokes a token, which may be the caller's own, but not the only one. Requests with it that wait for their turn
    /// are refused: this one goes before all that wait, however many these are.
    ///
    /// - Returns: the new state, which shows the same.
    @discardableResult
    public func revokeToken(
        _ number: Int, if condition: VersionCondition? = nil
    ) async throws(SessionError) -> SessionState {
        if try tokens().own != number { try require(\.mayEndOthers) }
        try live.admit(host.eventRate, at: host.now())
        let revoked = try await host.change(live, as: .ending) { (live) async throws(SessionError) in
            let now = host.now()
            let session = with(live)
            let before = try session.committed(at: now)
            try condition?.check(try session.drawn(before))
            guard before.identity.tokens.contains(where: { $0.number == number }) else { throw .unknownToken }
            guard let identity = before.identity.revoking(number) else { throw .lastToken }
            let revoked = host.revised(before, as: identity, BuiltInEvent.tokenRevocation, at: now, of: live.app)
            let isCommitted = try await host.commit(revoked, after: before, at: now, of: live)
            return isCommitted ? .committed(revoked.state) : .outdated
        }
        return (try? drawn(revoked)) ?? revoked
    }
}

extension SessionHost {
    /// The version after `before` that shows the same.
    ///
    /// - Parameter identity: the new one if the session's tokens change; `nil` if only its expiry moves.
    func revised(
        _ before: SessionState, as identity: SessionIdentity?, _ event: String, at now: Date, of app: App
    ) -> AppliedEvent {
        let expiresAt = settings.expiry(of: app, createdAt: before.identity.createdAt, usedAt: now)
        return AppliedEvent(
            state: before.next(before.navigation, as: identity, expiresAt: expiresAt),
            transition: Transition(event: event))
    }
}

/// A state as some devices of its session see it.
public struct Drawing: Sendable {
    public fileprivate(set) var devices: [Device]
    public let state: Result<SessionState, SessionError>
}
