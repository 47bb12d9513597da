internal import Coordinators
internal import FoundationEssentials
internal import Measures
internal import Sodium
internal import Synchronization

/// What an attempt to change a session has come to.
enum Attempt<Value: Sendable>: Sendable {
    /// It is committed.
    case committed(Value)
    /// There was nothing to commit.
    case unchanged(Value)
    /// It was not committed, because another server has changed the session meanwhile.
    case outdated
}

// How a session is changed: by an event, by a change of its tokens, by its end. One after the other.
extension SessionHost {
    /// Waits for the session's turn, then attempts to change it until an attempt was made from its current state.
    ///
    /// - Parameters:
    ///   - limit: how many of the caller's kind may wait; `nil` for as many events as may.
    ///   - attempt: gets the session as it is in memory then.
    // Inlined: a generic function would return and throw through the task's memory, a thousand instructions an event.
    @inline(__always)
    func change<Value>(
        _ session: Session, as caller: Turns.Caller = .client, waiting limit: Int? = nil,
        _ attempt: (Session) async throws(SessionError) -> Attempt<Value>
    ) async throws(SessionError) -> Value {
        let session = try await turn(of: session, as: caller, waiting: limit)
        defer {
            session.leave()
            evictIfOverLimit()
        }
        return try await retrying(attempt, on: session)
    }

    /// Waits for the session's turn.
    ///
    /// - Returns: the session, loaded again if it was removed from memory meanwhile. `leave` must follow.
    @inline(__always)
    func turn(
        of session: Session, as caller: Turns.Caller = .client, waiting limit: Int? = nil
    ) async throws(SessionError) -> Session {
        var session = session
        while true {
            if session.enterAtOnce() { return session }
            switch await session.enter(as: caller, limit: limit ?? settings.waitingLimit) {
            case .entered: return session
            case .full: throw .tooManyWaiting
            case .closed: session = try await inMemory(session.id, for: nil)
            }
        }
    }

    @inline(__always)
    private func retrying<Value>(
        _ attempt: (Session) async throws(SessionError) -> Attempt<Value>, on session: Session
    ) async throws(SessionError) -> Value {
        // This server needs one round trip for each of its changes in a row. Another server, whose change was a
        // conflict, needs two, and would never be faster without a pause.
        if store.isShared, session.successiveTurns % SessionHost.turnsInRow == SessionHost.turnsInRow - 1 {
            await pause(milliseconds: 15)
        }
        var deadline: Int?
        for number in 1... {
            do throws(SessionError) {
                switch try await attempt(session) {
                case .committed(let value): return value
                case .unchanged(let value): if try await isCurrent(session) { return value }
                case .outdated:
                    // A random time, so that servers that met the same conflict do not meet again.
                    if number > 1 { await pause(milliseconds: settings.surroundings.random(2...20)) }
                    try await reload(session)
                }
            } catch {
                guard error.isAboutState, try await !isCurrent(session) else { throw error }
            }
            let now = MonotonicTime.nanoseconds
            if let deadline, deadline < now { break }
            deadline = deadline ?? now + Int(settings.attemptTime / .nanoseconds(1))
        }
        throw .conflict
    }

    /// Not inlined, because a task has room for all that any function inlined into it might need.
    @inline(never)
    private func pause(milliseconds: Double) async { try? await sleep(for: .milliseconds(milliseconds)) }

    /// After how many turns in a row this server pauses.
    private static let turnsInRow = 16

    /// Commits the next version of a session, an answer to keep, or both, and publishes the state. Call while holding
    /// the turn.
    ///
    /// - Parameter applied: has the version of `before` if there is no next one.
    /// - Returns: `false` after a conflict.
    func commit(
        _ applied: AppliedEvent, after before: SessionState, at now: Date, keeping answer: StoredAnswer? = nil,
        of session: Session
    ) async throws(SessionError) -> Bool {
        let isNew = applied.state.version != before.version
        let record = isNew ? record(of: applied.state, applied.transition, at: now, of: session.app) : nil
        let change = SessionChange(id: session.id, expected: before.stamp, record: record, answer: answer)
        guard try await commit(change, of: session) else { return false }
        session.publish(
            isNew ? applied.state : before.withAnswer(), answered: answer?.key, limit: retention.answers)
        if isNew {
            feed.report(session.id, SessionUpdate(applied.state, applied.transition, after: before))
            if !before.navigation.pending.isEmpty || !applied.state.navigation.pending.isEmpty {
                followEffects(of: applied.state)
            }
        }
        return true
    }

    /// Commits a change that was made from the session's copy.
    ///
    /// - Returns: `false` after a conflict.
    func commit(_ change: SessionChange, of session: Session) async throws(SessionError) -> Bool {
        let outcome = await commit(change)
        if case .failure(.unknownOutcome) = outcome { unload(session) }
        return try isCommitted(outcome)
    }

    /// - Returns: `false` after a conflict.
    /// - Throws: the error of a commit that has failed, which is counted.
    func isCommitted(_ outcome: CommitOutcome) throws(SessionError) -> Bool {
        switch outcome {
        case .success(let conflicts): return conflicts.isEmpty
        case .failure(let error): throw failure(error)
        }
    }

    /// The record of a state, and of the transition that led to it.
    func record(of state: SessionState, _ transition: Transition, at now: Date, of app: App) -> EncodedRecord {
        EncodedRecord(
            state, transition, at: now, keptUntil: settings.keptUntil(state, of: app), build: settings.build)
    }

    /// Commits a change, in a span of its own if somebody traces.
    func commit(_ change: SessionChange) async -> CommitOutcome {
        let outcome = settings.tracer == nil ? await store.commit([change]) : await commitTraced(change)
        // If it was made, it may have effects and watchers. `follow` tells those of a shared store.
        if case .failure(.unknownOutcome) = outcome {
            effects.mayHaveMissed()
            if !store.isShared { feed.mayHaveMissed() }
        }
        return outcome
    }
}

// What several servers on one store need. A session in memory is a copy there: another server may have changed the
// session since. A commit from such a copy is a conflict; anything else that follows from the copy, even that a token
// is wrong, counts only once the store has confirmed the copy.
extension SessionHost {
    /// Whether the copy in memory was the session's state at some time since this was called. If it was not, it is
    /// replaced by what is stored.
    @discardableResult
    func isCurrent(_ session: Session) async throws(SessionError) -> Bool {
        guard store.isShared else { return true }
        do throws(StoreError) {
            if try await store.isCurrent(session.stamp, of: session.id) { return true }
        } catch {
            throw failure(error)
        }
        // Also if the copy was replaced meanwhile: its replacement may have been read before this was called.
        try await reload(session)
        return false
    }

    /// Replaces the copy in memory by what is stored, if that is later.
    func reload(_ session: Session) async throws(SessionError) {
        do throws(SessionError) {
            for _ in 0..<SessionHost.loadAttempts {
                let known = session.stamp
                guard let loaded = try await loaded(session.id, for: nil) else { throw .unauthorized }
                if loaded.stamp.precedes(known) {
                    // The store has lost what it had acknowledged. What it has now is the truth.
                    unload(session)
                    throw .conflict
                }
                guard session.stamp.precedes(loaded.stamp) else { return }
                if let restored = try await restored(loaded) { return session.takeOver(restored) }
            }
            throw .conflict
        } catch {
            switch error {
            case .newerApp, .incompatible: unload(session)
            default: if error.isAboutState { unload(session) }
            }
            throw error
        }
    }
}

extension SessionError {
    /// Whether the error depends on the session's state, so that another state might not cause it.
    var isAboutState: Bool {
        switch self {
        case .unauthorized, .tokenReplaced, .tokenRevoked, .ended, .expired, .unknownScreen, .unknownVersion,
            .unknownToken, .lastToken,
            .tooManyTokens, .unknownCode, .unknownRole, .notForRole, .keyReused, .keyWithdrawn, .answerForgotten,
            .stale, .refused:
            true
        case .unknownApp, .unknownSession, .tooManyWaiting, .tooManyEvents, .tooManyCodeRequests, .tooManyWatchers,
            .noWatcherFree, .tooManySessions, .deadlineExceeded, .notApplied, .storageFull, .damaged, .unknownOutcome,
            .incompatible, .newerApp, .tooManyTries, .tooManyCodes, .cannotLaunch:
            false
        }
    }
}
