internal import Coordinators
internal import FoundationEssentials
internal import Measures
internal import Sodium

// Effects: work that a transition has recorded, done outside the session's turn once the transition is committed. At
// least once: an effect is over only when a later transition has removed it from the session's state, so after a crash
// it is found there again. Exactly one outcome counts, because the transition that applies it also removes the effect.
// Clean-ups are performed in the same way, also those of sessions that are over, see `SessionHost+CleanUps`.
extension SessionHost {
    /// Begins the effects that a committed state has, and cancels those that it does not have any longer.
    func followEffects(of state: SessionState) { follow(state.id, state.navigation.performed) }

    func follow(_ id: SessionID, _ numbers: [Int]) {
        let (attempts, over) = effects.follow(id, numbers)
        for task in over { task.cancel() }
        start(attempts)
    }

    private func start(_ attempts: [EffectQueue.Attempt]) {
        for attempt in attempts {
            let task = Task { await perform(attempt) }
            if !effects.attach(task, to: attempt.key) { task.cancel() }
        }
    }

    private enum AttemptEnding {
        case outcome(EffectOutcome, isCleanUp: Bool)
        /// To be repeated.
        case failed
        /// The effect is over, or not this server's.
        case over
    }

    private func perform(_ attempt: EffectQueue.Attempt) async {
        let ending = await ending(of: attempt)
        let (isUnderWay, attempts) = effects.release(attempt.key)
        start(attempts)
        guard isUnderWay else { return measures.signals.count(.effectDiscarded) }
        switch ending {
        case .over: effects.forget(attempt.key)
        case .outcome(let outcome, let isCleanUp):
            if isCleanUp { measures.signals.count(outcome.isFailure ? .cleanUpFailed : .cleanUpDone) }
            await carryOut(outcome, of: attempt.key, isCleanUp: isCleanUp)
            effects.forget(attempt.key)
        case .failed:
            measures.signals.count(.effectRepeated)
            try? await sleep(for: settings.pause(afterFailure: attempt.number))
            start(effects.enqueueAgain(attempt.key))
        }
    }

    private func ending(of attempt: EffectQueue.Attempt) async -> AttemptEnding {
        let (id, number) = (attempt.key.session, attempt.key.number)
        let source: EffectSource?
        do { source = try await effectSource(id) } catch { return error.isTemporary ? .failed : .over }
        let now = now()
        guard let source,
            let run = EffectRun(
                of: number, in: source.state, of: source.app, session: id.text, user: source.user,
                effectID: effectID(of: attempt.key), attempt: attempt.number, at: now)
        else { return .over }
        measures.signals.count(.effectAttempted)
        let error: any Error
        switch await outcome(of: run, effectWatch, wrapper(of: id, run.app)) {
        case .success(let signal): return .outcome(.done(signal), isCleanUp: run.isCleanUp)
        case .failure(let failure): error = failure
        }
        let isLast = attempt.number > run.retries || now.timeIntervalSince(run.since) > SessionSettings.effectLifetime
        guard isLast, !effects.isClosed else { return .failed }
        report("\(run.app), session \(id.text): \(run.coordinator) failed in \(run.function): \(ThrownError(error))")
        return .outcome(.failed(error), isCleanUp: run.isCleanUp)
    }

    /// See `EffectContext.effectID`.
    private func effectID(of key: EffectQueue.Key) -> String {
        let text = "effect \(key.session.text) \(key.number)"
        return "f_" + Base64URL.text(of: Array(KeyedDigest(of: text, key: store.secret).bytes.prefix(18)))
    }

    /// Begins the effects that an earlier run of the server, or another server that is gone, has left, until the task is
    /// cancelled.
    public func resumeEffects() async {
        var isDue = true
        while !Task.isCancelled {
            if isDue { isDue = await !resumeAll() }
            try? await sleep(for: .seconds(store.isShared ? 5 : 1))
            if store.isShared || effects.shouldLookAgain() { isDue = true }
        }
        // The server stops: what is under way is begun again after the next start.
        for task in effects.close() { task.cancel() }
    }

    /// - Returns: whether everything could be read.
    private func resumeAll() async -> Bool {
        var last: SessionID?
        var isComplete = true
        while !Task.isCancelled, !effects.isFull() {
            guard let page = try? await store.sessionsWithEffects(after: last, limit: SessionHost.page) else {
                return false
            }
            let isRead = await forEach(page) { id in
                do throws(SessionError) {
                    let performed = try await self.effectSource(id)?.state.performed
                    if let performed { self.follow(id, performed) }
                    return true
                } catch {
                    if case .newerApp = error { try? await self.store.leaveEffects(of: [id]) }
                    return !error.isTemporary
                }
            }
            isComplete = isComplete && isRead
            guard let end = page.last else { break }
            last = end
        }
        return isComplete
    }

    private static let page = 256
}

extension SessionError {
    /// Whether the request may succeed later although the session does not change.
    var isTemporary: Bool {
        switch self {
        case .notApplied, .storageFull, .unknownOutcome, .tooManyWaiting, .deadlineExceeded: true
        case .refused(.overloaded, _): true
        default: false
        }
    }
}
