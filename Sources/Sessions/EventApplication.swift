internal import Coordinators
internal import FoundationEssentials
internal import Sodium

/// One event on its way through a session that gives it the turn: the transition, the commit, the answer.
///
/// Callbacks, not `await`: nearly every event goes all the way on one thread, or waits for the store only, and a task is
/// dear compared with all the rest of it.
final class EventApplication: Sendable {
    private let session: AuthorizedSession
    private let event: PostedEvent
    private let condition: VersionCondition?
    private let once: IdempotentRequest?
    private let completion: AuthorizedSession.Completion

    init(
        of event: PostedEvent, in session: AuthorizedSession, if condition: VersionCondition?,
        once: IdempotentRequest?, _ completion: @escaping AuthorizedSession.Completion
    ) {
        self.session = session
        self.event = event
        self.condition = condition
        self.once = once
        self.completion = completion
    }

    /// Call while holding the session's turn; releases it.
    func begin() {
        guard let once, session.live.mayHaveAnswered(once.key) else { return apply() }
        Task.immediate {
            do throws(StoreError) {
                guard let answer = try await session.host.store.answer(to: once.key, of: session.live.id) else {
                    return apply()
                }
                finish(repeating(answer, to: once))
            } catch {
                finish(.failure(SessionError(error)))
            }
        }
    }

    /// What is answered to an event that was applied before.
    private func repeating(_ answer: StoredAnswer, to once: IdempotentRequest) -> Result<Outcome, SessionError> {
        let token = once.token(toldBy: answer, to: session.live.identity, secret: session.host.store.secret)
        // It may have been replaced while this waited; for the event that has done it, it still counts.
        let isReplacedHere = token != nil && answer.replacedToken == session.token
        guard isReplacedHere || session.live.isOpen(to: session.token) else { return .failure(.unauthorized) }
        guard answer.fingerprint == once.fingerprint else { return .failure(.keyReused) }
        guard answer.body != nil else {
            let current = try? session.live.current(for: session.token, at: session.host.now())
            return .failure(.answerForgotten(current))
        }
        return .success(.answered(answer, isReplay: true, token: token))
    }

    private func apply() {
        let now = session.host.now()
        let before: SessionState
        do {
            before = try session.live.current(for: session.token, at: now)
            try condition?.check(before)
        } catch {
            return finish(.failure(error))
        }
        let run: TransitionRun
        do {
            run = try session.live.app.begin(event, on: before.navigation, at: now)
            // Where no coordinator has to be called, there is nothing to wait for.
            if let result = try run.resultAtOnce() { return commit(result, on: before, at: now) }
        } catch {
            return finish(.failure(.refused(error, state: before)))
        }
        carryOut(run, within: session.host.settings.handlerDeadline) { [self] outcome in
            switch outcome {
            case .done(let result): commit(result, on: before, at: now)
            case .failed(let error): finish(.failure(.refused(error, state: before)))
            case .late(let transition): finish(.failure(.deadlineExceeded(transition)))
            }
        }
    }

    private func commit(_ result: TransitionResult, on before: SessionState, at now: Date) {
        let (host, live) = (session.host, session.live)
        let token = result.transition.rotatesToken ? newToken(version: before.version + 1) : nil
        let hasChanged = result.state != before.navigation || token != nil
        let state =
            hasChanged
            ? before.next(
                result.state, as: token.map { before.identity.with($0, from: before.version + 1) },
                expiresAt: host.settings.expiry(of: live.app, createdAt: before.identity.createdAt, usedAt: now))
            : before
        let applied = AppliedEvent(state: state, transition: result.transition, token: token)
        let answer = once?.stored(applied, replacedToken: token == nil ? nil : before.identity.token)
        guard hasChanged || answer != nil else { return finish(.success(.applied(applied))) }
        let record =
            hasChanged
            ? SessionRecord(state, result.transition, at: now, keptUntil: host.settings.keptUntil(state, of: live.app))
            : nil
        let change = SessionChange(id: live.id, expectedVersion: before.version, record: record, answer: answer)
        host.store.commit([change]) { [self] outcome in
            if let failure = host.failure(of: outcome, for: live) { return finish(.failure(failure)) }
            live.publish(state)
            guard let answer else { return finish(.success(.applied(applied))) }
            live.remember(answered: answer.key, limit: host.retention.answers)
            finish(.success(.answered(answer, isReplay: false, token: token)))
        }
    }

    /// Under a key it follows from the key, for then it may have to be told again.
    private func newToken(version: Int) -> SessionToken {
        once?.token(version: version, of: session.live.id, secret: session.host.store.secret) ?? .random()
    }

    /// Answers, and gives the turn back.
    private func finish(_ result: Result<Outcome, SessionError>) {
        completion(result)
        session.live.turns.leave()
        session.host.evictIfOver()
    }
}
