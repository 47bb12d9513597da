public import Coordinators
internal import FoundationEssentials
internal import Sodium

/// A session, for one who has proved the right to it.
public struct AuthorizedSession: Sendable {
    let host: SessionHost
    let live: LiveSession
    /// Proved when this was made. It may have been replaced since.
    let token: SHA256Digest

    public var id: SessionID { live.id }

    public typealias Completion = @Sendable (Result<Outcome, SessionError>) -> Void

    /// The last committed state.
    ///
    /// - Parameter condition: what its version must fulfil.
    public func state(if condition: VersionCondition? = nil) throws(SessionError) -> SessionState {
        let state = try live.current(for: token, at: host.now())
        try condition?.check(state)
        return state
    }

    /// Applies one event, whole or not at all.
    ///
    /// - Parameters:
    ///   - condition: what the version that it is applied to must fulfil.
    ///   - once: where given, an event that was applied under the same key before is not applied again.
    ///   - completion: is called when the event is committed, before this returns where nothing has to be waited for, else
    ///     on whatever thread.
    public func apply(
        _ event: PostedEvent, if condition: VersionCondition? = nil, once: IdempotentRequest? = nil,
        _ completion: @escaping Completion
    ) {
        do { try live.admit(host.eventRate, at: host.now()) } catch { return completion(.failure(error)) }
        applyAdmitted(event, if: condition, once: once, completion)
    }

    private func applyAdmitted(
        _ event: PostedEvent, if condition: VersionCondition?, once: IdempotentRequest?,
        _ completion: @escaping Completion
    ) {
        let application = EventApplication(of: event, in: self, if: condition, once: once, completion)
        if live.turns.enterAtOnce() { return application.begin() }
        Task.immediate {
            switch await live.turns.enter(limit: host.settings.waitingLimit) {
            case .entered: application.begin()
            case .full: completion(.failure(.tooManyWaiting))
            case .closed:
                do throws(SessionError) {
                    try await again().applyAdmitted(event, if: condition, once: once, completion)
                } catch {
                    completion(.failure(error))
                }
            }
        }
    }

    /// What one event would do to the last committed state. Nothing changes, and nobody waits for it; what a handler does
    /// beyond the session, it does.
    public func preview(
        _ event: PostedEvent, if condition: VersionCondition? = nil
    ) async throws(SessionError) -> AppliedEvent {
        let now = host.now()
        try live.admit(host.eventRate, at: now)
        let before = try state(if: condition)
        let run: TransitionRun
        do { run = try live.app.begin(event, on: before.navigation, at: now) } catch {
            throw .refused(error, state: before)
        }
        let result = try await Sessions.result(of: run, within: host.settings.handlerDeadline) {
            .refused($0, state: before)
        }
        let after = SessionState(
            before.identity, version: before.version, expiresAt: before.expiresAt, navigation: result.state, base: nil)
        return AppliedEvent(state: after, transition: result.transition)
    }

    /// Ends the session, and its forks where its app wants that. It is known as ended for `SessionSettings.graveTime`.
    public func end(if condition: VersionCondition? = nil) async throws(SessionError) {
        try await host.end(live, for: token, if: condition)
    }

    /// The same session, loaded anew, after this form of it was evicted.
    func again() async throws(SessionError) -> AuthorizedSession {
        AuthorizedSession(host: host, live: try await host.inMemory(live.id, for: nil), token: token)
    }
}

extension VersionCondition {
    func check(_ state: SessionState) throws(SessionError) {
        guard holds(for: state.version) else { throw .stale(state) }
    }
}
