public import Coordinators
internal import FoundationEssentials
internal import Sodium

/// A session, for one who has proved the right to it.
public struct AuthorizedSession: Sendable {
    let host: SessionHost
    let live: LiveSession

    public typealias Completion = @Sendable (Result<AppliedEvent, SessionError>) -> Void

    /// The last committed state.
    public func state() throws(SessionError) -> SessionState {
        try live.current(at: host.now())
    }

    /// Applies one event, whole or not at all.
    ///
    /// - Parameter completion: is called when the event is committed, before this returns where nothing has to be waited
    ///   for, else on whatever thread.
    public func apply(_ event: PostedEvent, _ completion: @escaping Completion) {
        if live.turns.enterAtOnce() { return applyInTurn(event, completion) }
        Task.immediate {
            guard await live.turns.enter(limit: host.settings.waitingLimit) else {
                return completion(.failure(.tooManyWaiting))
            }
            applyInTurn(event, completion)
        }
    }

    /// What one event would do to the last committed state. Nothing changes, and nobody waits for it; what a handler does
    /// beyond the session, it does.
    public func preview(_ event: PostedEvent) async throws(SessionError) -> AppliedEvent {
        let now = host.now()
        let before = try live.current(at: now)
        let run: TransitionRun
        do { run = try live.app.begin(event, on: before.navigation, at: now) } catch {
            throw .refused(error, state: before)
        }
        let result = try await Sessions.result(of: run, within: host.settings.handlerDeadline) {
            .refused($0, state: before)
        }
        let after = SessionState(
            id: before.id, app: before.app, version: before.version, expiresAt: before.expiresAt,
            navigation: result.state)
        return AppliedEvent(state: after, transition: result.transition)
    }

    /// Ends the session. It is known as ended for `SessionSettings.graveTime`.
    public func end() async throws(SessionError) {
        guard await live.turns.enter(limit: host.settings.waitingLimit) else { throw .tooManyWaiting }
        defer { live.turns.leave() }
        let now = host.now()
        let last = try live.current(at: now)
        let tombstone = StoredSession(
            id: live.id, version: last.version + 1, token: live.token, keptUntil: now + host.settings.graveTime,
            content: nil)
        let change = SessionChange(expectedVersion: last.version, session: tombstone, event: nil)
        if let failure = failure(of: await host.store.commit([change])) { throw failure }
        live.end()
        host.forget(live)
    }

    private func applyInTurn(_ event: PostedEvent, _ completion: @escaping Completion) {
        let now = host.now()
        do {
            let before = try live.current(at: now)
            EventApplication(of: event, in: self, on: before, at: now, completion).begin()
        } catch {
            completion(.failure(error))
            live.turns.leave()
        }
    }

    /// Why the commit of this session's next form failed; `nil` where it did not. When another server was faster, the
    /// copy in memory is out of date: the next request loads the session anew.
    func failure(of outcome: CommitOutcome) -> SessionError? {
        switch outcome {
        case .success(let conflicts):
            if conflicts.isEmpty { return nil }
            host.forget(live)
            return .notApplied
        case .failure(let error):
            if case .unknownOutcome = error { host.forget(live) }
            return SessionError(error)
        }
    }
}
