public import Coordinators
internal import FoundationEssentials
internal import Measures
internal import Sodium

/// A session, for a caller whose token was checked.
public struct AuthorizedSession: Sendable {
    let host: SessionHost
    let live: Session
    /// The session's token when this was made. It may have been replaced since.
    let token: SHA256Digest
    /// Whether the caller is the operator, whom no change of the tokens concerns.
    var isOperators = false

    public var id: SessionID { live.id }

    /// The last committed state.
    ///
    /// - Parameter condition: which versions the caller allows.
    public func state(if condition: VersionCondition? = nil) throws(SessionError) -> SessionState {
        try state(if: condition, at: host.now())
    }

    private func state(if condition: VersionCondition?, at now: Date) throws(SessionError) -> SessionState {
        let state = try live.current(for: isOperators ? nil : token, at: now)
        try condition?.check(state)
        return state
    }

    /// Applies one event, whole or not at all. It is committed when this returns.
    ///
    /// - Parameters:
    ///   - condition: which versions the event may be applied to.
    ///   - once: if given, an event that was already applied under the same key is not applied again.
    public func apply(
        _ event: PostedEvent, if condition: VersionCondition? = nil, once: IdempotentRequest? = nil
    ) async throws(SessionError) -> Outcome {
        guard let events = host.measures.events else { return try await carryOut(event, if: condition, once: once) }
        do throws(SessionError) {
            let outcome = try await carryOut(event, if: condition, once: once)
            events.count(event.type, of: live.app.name, outcome.isReplay ? .replayed : .applied)
            return outcome
        } catch {
            events.count(event.type, of: live.app.name, EventOutcome(error))
            throw error
        }
    }

    private func carryOut(
        _ event: PostedEvent, if condition: VersionCondition?, once: IdempotentRequest?
    ) async throws(SessionError) -> Outcome {
        try live.admit(host.eventRate, at: host.now())
        var session = self
        while true {
            switch session.live.enterAtOnce() ? .entered : await session.live.enter(limit: host.settings.waitingLimit) {
            case .entered:
                let (outcome, endings) = try await session.applyAndLeave(event, if: condition, once: once)
                // Not before, because two sessions may end each other.
                if !endings.isEmpty { try await host.endSessions(endings, for: id) }
                return outcome
            case .full: throw .tooManyWaiting
            case .closed: session = try await session.again()
            }
        }
    }

    private func applyAndLeave(
        _ event: PostedEvent, if condition: VersionCondition?, once: IdempotentRequest?
    ) async throws(SessionError) -> (Outcome, [SessionEnding]) {
        defer {
            live.leave()
            host.evictIfOver()
        }
        return try await host.changing(live) { () async throws(SessionError) in
            try await attempt(event, if: condition, once: once)
        }
    }

    /// - Returns: also the sessions that have to end before the outcome is reported.
    private func attempt(
        _ event: PostedEvent, if condition: VersionCondition?, once: IdempotentRequest?
    ) async throws(SessionError) -> Attempt<(Outcome, [SessionEnding])> {
        if let once, live.mayHaveAnswered(once.key), let answer = try await host.answer(to: once.key, of: id) {
            return .unchanged((try repeating(answer, to: once), answer.endings))
        }
        let now = host.now()
        let before = try state(if: condition, at: now)
        let result = try await transition(event, on: before, at: now, once: once)
        let version = before.version + 1
        let token = result.transition.rotatesToken ? newToken(version: version, once: once) : nil
        let identity = before.identity.after(result.transition, token, for: self.token, at: now, version: version)
        let hasChanged = result.state != before.navigation || identity != nil
        let state =
            hasChanged
            ? before.next(
                result.state, as: identity ?? before.identity.withLastUses(),
                expiresAt: host.settings.expiry(of: live.app, createdAt: before.identity.createdAt, usedAt: now))
            : before
        let applied = AppliedEvent(state: state, transition: result.transition, token: token)
        let answer = once?.stored(applied, replacedToken: token == nil ? nil : self.token)
        let endings = result.transition.sessionEndings
        guard hasChanged || answer != nil else { return .unchanged((.applied(applied), endings)) }
        let record =
            hasChanged
            ? EncodedRecord(state, result.transition, at: now, keptUntil: host.settings.keptUntil(state, of: live.app))
            : nil
        let change = SessionChange(id: id, expected: before.stamp, record: record, answer: answer)
        guard try await host.commit(change, of: live) else { return .outdated }
        live.publish(hasChanged ? state : before.withAnswer(), answered: answer?.key, limit: host.retention.answers)
        if hasChanged { host.feed.report(id, SessionUpdate(state, result.transition)) }
        let outcome = answer.map { Outcome.answered($0, generation: before.stamp.generation, token: token) }
        return .committed((outcome ?? .applied(applied), endings))
    }

    private func transition(
        _ event: PostedEvent, on state: SessionState, at now: Date, once: IdempotentRequest? = nil,
        isDryRun: Bool = false
    ) async throws(SessionError) -> TransitionResult {
        var run: TransitionRun
        let measures = host.measures.events
        let began = measures == nil ? 0 : MonotonicTime.nanoseconds
        var (hasBegun, coordinator) = (false, String?.none)
        defer { if hasBegun { measures?.add(MonotonicTime.nanoseconds - began, to: coordinator, of: live.app.name) } }
        do throws(NavigationError) {
            run = try live.app.begin(event, on: state.navigation, at: now)
            if measures != nil { (hasBegun, coordinator) = (true, run.recipient) }
            // If no coordinator has to be called, there is nothing to wait for.
            if let result = try run.resultAtOnce() { return result }
        } catch {
            throw .refused(error, state: state)
        }
        run.origin = host.origin(
            of: event, id, user: state.identity.user, version: state.version, once: once, isDryRun: isDryRun)
        host.trace(&run, of: id)
        let start = host.timings == nil ? nil : ContinuousClock.now
        defer { if let start { host.timings?.add(live.app.name, event.type, ContinuousClock.now - start) } }
        let result = try await result(of: run, within: host.settings.handlerDeadline) { .refused($0, state: state) }
        if let caught = result.caught { host.report(caught, in: id, of: live.app) }
        return result
    }

    /// The answer to a request that was already carried out.
    private func repeating(_ answer: StoredAnswer, to once: IdempotentRequest) throws(SessionError) -> Outcome {
        let (identity, stamp) = (live.identity, live.stamp)
        let newToken = once.token(replayedBy: answer, to: identity, for: token, secret: host.store.secret)
        // The token may have been replaced while this waited. The event that replaced it may still be replayed with it.
        guard let access = identity.access(of: newToken?.digest ?? token) else { throw .unauthorized }
        guard answer.fingerprint == once.fingerprint else {
            host.measures.count(.keyReused)
            throw .keyReused
        }
        // What was before the token is sealed, see `AccessToken.firstVersion`.
        guard answer.body != nil, answer.version >= access.firstVersion else {
            throw .answerForgotten(try? live.current(for: token, at: host.now()))
        }
        host.measures.count(.replayed)
        return .answered(answer, generation: stamp.generation, replayedAt: stamp.version, token: newToken)
    }

    /// Derived from the `Idempotency-Key` if there is one that cannot be guessed, so that a replay can return it again.
    private func newToken(version: Int, once: IdempotentRequest?) -> SessionToken {
        once?.token(version: version, of: id, secret: host.store.secret) ?? .random()
    }

    /// What one event would do to the last committed state. The session does not change, and no request waits for this;
    /// a handler's effects outside the session do happen.
    public func preview(
        _ event: PostedEvent, if condition: VersionCondition? = nil
    ) async throws(SessionError) -> AppliedEvent {
        let now = host.now()
        try live.admit(host.eventRate, at: now)
        let before = try state(if: condition, at: now)
        let result = try await transition(event, on: before, at: now, isDryRun: true)
        let after = SessionState(
            before.identity, stamp: before.stamp, expiresAt: before.expiresAt, navigation: result.state, base: nil)
        return AppliedEvent(state: after, transition: result.transition)
    }

    /// What a client shows on a screen of the last committed state, as JSON text. It counts as an event for the session's
    /// rate.
    ///
    /// - Parameter key: the screen's.
    /// - Returns: also the state.
    public func content(of key: String) async throws(SessionError) -> (text: [UInt8], state: SessionState) {
        let now = host.now()
        let state = try state(if: nil, at: now)
        try live.admit(host.eventRate, at: now)
        guard let run = ContentRun(of: key, in: state.navigation, of: live.app, session: id.text, at: now) else {
            throw .unknownScreen
        }
        let text = try await text(of: run, within: host.settings.handlerDeadline) { .refused($0, state: state) }
        return (text, state)
    }

    /// Ends the session, and its forks if its app sets `endsForks`. A tombstone is kept for
    /// `SessionSettings.tombstoneLifetime`.
    public func end(if condition: VersionCondition? = nil) async throws(SessionError) {
        try await host.end(live, for: isOperators ? nil : token, if: condition)
    }

    /// The same session, loaded again after `live` was removed from memory.
    func again() async throws(SessionError) -> AuthorizedSession {
        let live = try await host.inMemory(live.id, for: nil)
        return AuthorizedSession(
            host: host, live: live, token: isOperators ? live.identity.token : token, isOperators: isOperators)
    }
}

extension VersionCondition {
    func check(_ state: SessionState) throws(SessionError) {
        guard holds(for: state.tag) else { throw .stale(state) }
    }
}
