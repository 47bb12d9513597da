internal import Coordinators
internal import FoundationEssentials

/// One event on its way through a session that has given it the turn: the transition, the commit, the answer.
///
/// Callbacks, not `await`: nearly every event goes all the way on one thread, or waits for the store only, and a task is
/// dear compared with all the rest of it.
final class EventApplication: Sendable {
    private let session: AuthorizedSession
    private let event: PostedEvent
    private let before: SessionState
    private let now: Date
    private let completion: AuthorizedSession.Completion

    init(
        of event: PostedEvent, in session: AuthorizedSession, on before: SessionState, at now: Date,
        _ completion: @escaping AuthorizedSession.Completion
    ) {
        self.session = session
        self.event = event
        self.before = before
        self.now = now
        self.completion = completion
    }

    func begin() {
        let run: TransitionRun
        do {
            run = try session.live.app.begin(event, on: before.navigation, at: now)
            // Where no coordinator has to be called, there is nothing to wait for.
            if let result = try run.resultAtOnce() { return commit(result) }
        } catch {
            return finish(.failure(.refused(error, state: before)))
        }
        carryOut(run, within: session.host.settings.handlerDeadline) { [self] outcome in
            switch outcome {
            case .success(let result)?: commit(result)
            case .failure(let error)?: finish(.failure(.refused(error, state: before)))
            case nil: finish(.failure(.deadlineExceeded))
            }
        }
    }

    private func commit(_ result: TransitionResult) {
        guard result.state != before.navigation else {
            return finish(.success(AppliedEvent(state: before, transition: result.transition)))
        }
        let (host, live) = (session.host, session.live)
        let after = SessionState(
            id: live.id, app: before.app, version: before.version + 1,
            expiresAt: host.expiry(createdAt: live.createdAt, usedAt: now), navigation: result.state)
        let change = SessionChange(
            expectedVersion: before.version, session: live.stored(after, graveTime: host.settings.graveTime),
            event: event.type)
        host.store.commit([change]) { [self] outcome in
            if let failure = session.failure(of: outcome) { return finish(.failure(failure)) }
            session.live.publish(after)
            finish(.success(AppliedEvent(state: after, transition: result.transition)))
        }
    }

    /// Answers, and gives the turn back.
    private func finish(_ result: Result<AppliedEvent, SessionError>) {
        completion(result)
        session.live.turns.leave()
    }
}
