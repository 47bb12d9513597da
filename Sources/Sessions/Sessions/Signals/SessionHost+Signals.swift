public import Coordinators
internal import FoundationEssentials
internal import Measures
internal import Synchronization

// What reaches a session from elsewhere than its screens: each is carried out by a transition of its own, in turn with
// the events of its clients. None of it counts as a use, so it does not prolong the session's life.
extension SessionHost {
    /// Carries out what has happened, and commits it.
    ///
    /// - Parameters:
    ///   - user: if given, the session has to be that user's.
    ///   - showsErrors: whether an error of a coordinator may become an alert; if not, it is thrown.
    ///   - once: if given, a signal that was already received under the same key is not received again.
    /// - Returns: `nil` if the effect or timer is over, or the session is not the user's.
    private func apply(
        _ occurrence: Occurrence, to id: SessionID, of user: String? = nil, showsErrors: Bool,
        once: IdempotentRequest? = nil
    ) async throws(SessionError) -> Outcome? {
        let session = try await inMemory(id, for: nil)
        // Another system can send its signal again, so it is refused if too many wait. Nobody repeats the outcome of an
        // effect, or a timer: any number of them may wait.
        let (caller, limit): (Turns.Caller, Int?) = once == nil ? (.own, .max) : (.service, nil)
        let outcome = try await change(session, as: caller, waiting: limit) { (live) async throws(SessionError) in
            if let once, live.mayHaveAnswered(once.key.digest),
                let answer = try await answer(to: once.key.digest, of: id)
            {
                return Attempt<Outcome?>.unchanged(try replay(answer, to: once, at: live.stamp))
            }
            let now = now()
            let before = try live.current(for: nil, at: now)
            guard user == nil || before.identity.user == user else { return .unchanged(nil) }
            guard let result = try await transition(occurrence, on: before, of: live, at: now, showsErrors: showsErrors)
            else {
                return .unchanged(nil)
            }
            let identity = result.transition.changes.flatMap(before.identity.after)
            let hasChanged = result.state != before.navigation || identity != nil
            let state = hasChanged ? before.next(result.state, as: identity, expiresAt: before.expiresAt) : before
            let applied = AppliedEvent(state: state, transition: result.transition)
            let answer = once?.stored(applied)
            guard hasChanged || answer != nil else { return .unchanged(.applied(applied)) }
            guard try await commit(applied, after: before, at: now, keeping: answer, of: live) else { return .outdated }
            return .committed(Outcome(of: applied, keeping: answer))
        }
        if let outcome, !outcome.endings.isEmpty { try await carryOutEndings(of: outcome, for: id) }
        return outcome
    }

    /// - Returns: `nil` if there is nothing to do, see `App.begin`.
    func transition(
        _ occurrence: Occurrence, on state: SessionState, of live: Session, at now: Date, showsErrors: Bool
    ) async throws(SessionError) -> TransitionResult? {
        let run: TransitionRun?
        do throws(NavigationError) {
            run = try live.app.begin(occurrence, on: state.navigation, at: now, showsErrors: showsErrors)
        } catch {
            throw .refused(error, state: state)
        }
        guard let run else { return nil }
        // For `Navigator.transitionID`.
        let signal: PostedEvent? = if case .signal(let event) = occurrence { event } else { nil }
        let origin = HostOrigin(self, of: signal, in: state, of: live.app)
        let result = try await RunningTransition(run, from: origin).outcome(callWatch).value {
            .refused($0, state: state)
        }
        reportCaught(result, in: live.id, of: live.app)
        return result
    }

    /// Receives a signal that another system has sent.
    ///
    /// - Parameters:
    ///   - user: if given, only while that user is signed in to the session.
    ///   - once: a signal that was already received under the same key is not received again.
    public func receive(
        _ signal: PostedEvent, for id: SessionID, of user: String? = nil, once: IdempotentRequest
    ) async throws(SessionError) -> Outcome {
        do throws(SessionError) {
            guard let outcome = try await apply(.signal(signal), to: id, of: user, showsErrors: true, once: once) else {
                throw .unknownSession
            }
            measures.signals.count(outcome.isReplay ? .signalReplayed : .signalReceived)
            return outcome
        } catch {
            measures.signals.count(.signalRefused)
            if case .unauthorized = error { throw .unknownSession }
            throw error
        }
    }

    /// How many sessions of a user receive a signal at most.
    private static let limitOfUser = 1000

    /// Receives a signal for all sessions of a user.
    ///
    /// - Returns: what became of it in each session, in the order of their ids, and how many sessions of the user were
    ///   left out because there are too many.
    public func receive(
        _ signal: PostedEvent, forUser user: String, once: IdempotentRequest
    ) async throws(SessionError) -> (received: [(SessionID, Result<Outcome, SessionError>)], omitted: Int) {
        let ids = try await candidates(user).sorted { $0.text < $1.text }
        let outcomes = Mutex<[SessionID: Result<Outcome, SessionError>]>([:])
        await forEach(Array(ids.prefix(SessionHost.limitOfUser))) { id in
            do throws(SessionError) {
                let outcome = try await self.receive(signal, for: id, of: user, once: once)
                outcomes.withLock { $0[id] = .success(outcome) }
            } catch {
                // The session is over, or another user's by now.
                if error != .unknownSession, error != .ended, error != .expired {
                    outcomes.withLock { $0[id] = .failure(error) }
                }
            }
            return true
        }
        let received = outcomes.withLock { outcomes in ids.compactMap { id in outcomes[id].map { (id, $0) } } }
        return (received, max(0, ids.count - SessionHost.limitOfUser))
    }

    /// Carries out the end of an effect, whatever it takes: what fails is repeated; what fails for good is dropped.
    func carryOut(_ outcome: EffectOutcome, of key: EffectQueue.Key, isCleanUp: Bool) async {
        for attempt in 1... {
            let isLast = attempt > SessionSettings.retriesOfSignals
            do throws(SessionError) {
                // The error of a failed effect is an alert at once, unless its coordinator handles it.
                let isApplied =
                    try await apply(
                        .effect(key.number, outcome), to: key.session, showsErrors: isLast || outcome.isFailure) != nil
                return isCleanUp ? () : measures.signals.count(isApplied ? outcome.happening : .effectDiscarded)
            } catch {
                if isCleanUp, error == .ended || error == .expired { return await finishCleanUp(key) }
                guard error.isAboutSignal || error.isTemporary else { return }
                if error.isAboutSignal, isLast { return await drop(key, because: error) }
            }
            // What the store refuses is repeated for as long as this server runs; afterwards the effect runs again.
            guard !effects.isClosed else { return }
            try? await sleep(for: settings.pause(afterFailure: attempt))
        }
    }

    /// Removes an effect or timer whose signal cannot be received.
    private func drop(_ key: EffectQueue.Key, because error: SessionError) async {
        measures.signals.count(.dropped)
        report("session \(key.session.text): an effect or a timer is dropped: \(error.wordsForOperator)")
        _ = try? await change(try await inMemory(key.session, for: nil), as: .own, waiting: .max) {
            (live) async throws(SessionError) in
            let now = now()
            let before = try live.current(for: nil, at: now)
            guard let result = live.app.dropping(key.number, from: before.navigation) else { return .unchanged(()) }
            let after = AppliedEvent(
                state: before.next(result.state, as: nil, expiresAt: before.expiresAt), transition: result.transition)
            return try await commit(after, after: before, at: now, of: live) ? .committed(()) : .outdated
        }
    }
}

// Timers, of sessions in memory and of all others alike: the store knows when each session's next one is due.
extension SessionHost {
    /// Fires timers as they fall due, until the task is cancelled.
    public func fireTimers() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let left = timers.left(at: now())
                let limit = timers.count + left.count + SessionSettings.timersOfRound
                let due = (try? await store.dueTimers(at: now(), limit: limit)) ?? []
                var round = due.filter { isOwn($0) && !left.contains($0.session) }[...]
                var hasFired = false
                while let timer = round.first, !Task.isCancelled {
                    guard timers.count < SessionSettings.timersAtOnce else {
                        try? await sleep(for: .milliseconds(2))
                        continue
                    }
                    round = round.dropFirst()
                    guard timers.begin(timer.session) else { continue }
                    hasFired = true
                    group.addTask {
                        await self.fire(timer)
                        self.timers.end(timer.session)
                    }
                }
                // After a round that fired something, more may be due already.
                try? await sleep(for: .milliseconds(hasFired ? 10 : 250))
            }
        }
    }

    /// Whether this server fires the timer now. Of several servers on one store, the one that has the session in memory
    /// is first, and the others wait: each for another while, because each process has hash values of its own, so that they
    /// rarely meet.
    private func isOwn(_ timer: DueTimer) -> Bool {
        guard store.isShared, live.withLock({ $0[timer.session] }) == nil else { return true }
        let wait = Double(UInt(bitPattern: timer.session.hashValue) % 400) / 1000
        return now().timeIntervalSince(timer.due) > wait
    }

    /// Fires what is due in a session, in order.
    private func fire(_ timer: DueTimer) async {
        let wasAsleep = live.withLock { $0.isAsleep(timer.session) }
        defer { if wasAsleep { live.withLock { $0.putToSleep(timer.session) } } }
        do throws(SessionError) {
            while true {
                let session = try await inMemory(timer.session, for: nil)
                let state = try session.current(for: nil, at: now())
                guard let work = state.navigation.timersDue(at: now()).first, let due = work.due else {
                    // The copy in memory or the index is out of date, or another server was faster.
                    guard try await isCurrent(session) else { continue }
                    let next = WakeEntry(state.navigation, expiresAt: state.expiresAt).nextTimer
                    return await postpone(timer, until: next)
                }
                let failures = timers.failures(of: work.number, in: timer.session)
                let isLast = failures >= SessionSettings.retriesOfSignals
                do throws(SessionError) {
                    if try await apply(.timer(work.number), to: timer.session, showsErrors: isLast) != nil {
                        measures.signals.countTimer(late: now().timeIntervalSince(due))
                    }
                    timers.forgetFailures(of: timer.session)
                } catch {
                    guard error.isAboutSignal else { throw error }
                    if isLast {
                        timers.forgetFailures(of: timer.session)
                        await drop(EffectQueue.Key(session: timer.session, number: work.number), because: error)
                    } else {
                        timers.note(failures: failures + 1, of: work.number, in: timer.session)
                        let pause = settings.pause(afterFailure: failures + 1)
                        return await postpone(timer, until: now() + pause / .seconds(1))
                    }
                }
            }
        } catch {
            switch error {
            case .ended, .expired, .unauthorized:
                timers.forgetFailures(of: timer.session)
                await endIfExpired(timer)
            // A server with a newer version of the app finds it due: another one, or this one after an update.
            case .newerApp where timers.leave(timer.session, until: now() + 60): break
            // Nothing that this server could do makes a difference soon.
            default: await postpone(timer, until: now() + (error.isTemporary ? 1 : 60))
            }
        }
    }

    /// A session that has expired has no timers any longer, but it may have to be cleaned up.
    private func endIfExpired(_ timer: DueTimer) async {
        do throws(SessionError) {
            if try await !beginCleanUps(of: timer.session) { await postpone(timer, until: nil) }
        } catch {
            await postpone(timer, until: now() + (error.isTemporary ? 1 : 60))
        }
    }

    private func postpone(_ timer: DueTimer, until time: Date?) async {
        try? await store.postpone([timer], until: time)
    }
}

/// The sessions whose timers are being fired, and how often a session's first timer that is due could not be received: the
/// next one has to wait for it.
final class TimersUnderWay: Sendable {
    private struct State {
        var sessions: Set<SessionID> = []
        /// Sessions whose timers this server cannot fire, and when it tries again.
        var left: [SessionID: Date] = [:]
        var failures: [SessionID: (timer: Int, count: Int)] = [:]
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.sessions.count) }

    /// - Returns: `false` if the session's timers are being fired already.
    func begin(_ session: SessionID) -> Bool { state.withLock { $0.sessions.insert(session).inserted } }

    func end(_ session: SessionID) { state.withLock { _ = $0.sessions.remove(session) } }

    /// Leaves a session's timers to other servers for a while. So many only that what is read of them each time stays
    /// small.
    ///
    /// - Returns: `false` if it leaves as many as it may.
    func leave(_ session: SessionID, until time: Date) -> Bool {
        state.withLock { state in
            guard state.left.count < 1000 else { return false }
            state.left[session] = time
            return true
        }
    }

    /// The sessions whose timers are left to others.
    func left(at now: Date) -> Set<SessionID> {
        state.withLock { state in
            if !state.left.isEmpty { state.left = state.left.filter { $0.value > now } }
            return Set(state.left.keys)
        }
    }

    /// - Parameter timer: its number.
    func failures(of timer: Int, in session: SessionID) -> Int {
        state.withLock { state in
            guard let failures = state.failures[session], failures.timer == timer else { return 0 }
            return failures.count
        }
    }

    func note(failures count: Int, of timer: Int, in session: SessionID) {
        state.withLock { $0.failures[session] = (timer, count) }
    }

    func forgetFailures(of session: SessionID) {
        state.withLock { if !$0.failures.isEmpty { $0.failures[session] = nil } }
    }
}

extension EffectOutcome {
    fileprivate var happening: SignalMeasures.Happening { isFailure ? .effectFailed : .effectEnded }

    var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension SessionError {
    /// Whether a coordinator, or what it asked for, is the reason: then the same may happen again and again.
    fileprivate var isAboutSignal: Bool {
        switch self {
        case .refused(.overloaded, _): false
        case .refused, .deadlineExceeded: true
        default: false
        }
    }

    var wordsForOperator: String {
        switch self {
        case .refused(let error, _): "\(error)"
        case .deadlineExceeded(let slow): "\(slow.coordinator ?? slow.app) took longer than \(slow.limit)"
        default: "\(self)"
        }
    }
}
