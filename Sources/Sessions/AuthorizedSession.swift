public import Coordinators
internal import FoundationEssentials
internal import Sodium

/// A session, for one who has proved the right to it.
public struct AuthorizedSession: Sendable {
    let host: SessionHost
    let live: LiveSession

    /// The last committed state.
    public func state() throws(SessionError) -> SessionState {
        try live.current(at: host.now())
    }

    /// Applies one event, whole or not at all, and returns when it is committed.
    public func apply(_ event: PostedEvent) async throws(SessionError) -> AppliedEvent {
        if !live.turns.enterAtOnce() { try await waitForTurn() }
        defer { live.turns.leave() }
        let now = host.now()
        let before = try live.current(at: now)
        let result: TransitionResult
        switch try begin(event, on: before, at: now) {
        case .done(let done): result = done
        case .underWay(let run): result = try await self.result(of: run, on: before)
        }
        guard result.state != before.navigation else {
            return AppliedEvent(state: before, transition: result.transition)
        }
        let after = SessionState(
            id: live.id, app: before.app, version: before.version + 1,
            expiresAt: host.expiry(createdAt: live.createdAt, usedAt: now), navigation: result.state)
        try await replace(before, by: live.stored(after, graveTime: host.settings.graveTime), event: event.type)
        live.publish(after)
        return AppliedEvent(state: after, transition: result.transition)
    }

    private enum Begun {
        /// No coordinator had to be called.
        case done(TransitionResult)
        case underWay(TransitionRun)
    }

    private func begin(
        _ event: PostedEvent, on before: SessionState, at now: Date
    ) throws(SessionError) -> Begun {
        do {
            let run = try live.app.begin(event, on: before.navigation, at: now)
            if let result = try run.resultAtOnce() { return .done(result) }
            return .underWay(run)
        } catch {
            throw .refused(error, state: before)
        }
    }

    private func result(of run: TransitionRun, on before: SessionState) async throws(SessionError) -> TransitionResult {
        switch try await outcome(of: run, within: host.settings.handlerDeadline) {
        case .success(let result): return result
        case .failure(let error): throw .refused(error, state: before)
        }
    }

    /// Ends the session. It is known as ended for `SessionSettings.graveTime`.
    public func end() async throws(SessionError) {
        if !live.turns.enterAtOnce() { try await waitForTurn() }
        defer { live.turns.leave() }
        let now = host.now()
        let last = try live.current(at: now)
        let tombstone = StoredSession(
            id: live.id, version: last.version + 1, token: live.token, keptUntil: now + host.settings.graveTime,
            content: nil)
        try await replace(last, by: tombstone, event: nil)
        live.end()
        host.forget(live)
    }

    private func waitForTurn() async throws(SessionError) {
        guard await live.turns.enter(limit: host.settings.waitingLimit) else { throw .tooManyWaiting }
    }

    /// Commits the next form of the session. When another server was faster, the copy in memory is out of date: the next
    /// request loads the session anew.
    private func replace(
        _ last: SessionState, by next: StoredSession, event: String?
    ) async throws(SessionError) {
        let change = SessionChange(expectedVersion: last.version, session: next, event: event)
        do {
            if try await host.store.commit([change]).isEmpty { return }
        } catch {
            if case .unknownOutcome = error { host.forget(live) }
            throw SessionError(error)
        }
        host.forget(live)
        throw .notApplied
    }
}
