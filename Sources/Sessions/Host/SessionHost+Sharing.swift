internal import Coordinators
internal import FoundationEssentials
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

// What several servers on one store need. A session in memory is a copy there: another server may have changed the
// session since. A commit from such a copy is a conflict; anything else that was found out from the copy, also that a
// token is wrong, counts only once the store has confirmed the copy.
extension SessionHost {
    /// Makes attempts to change a session until one was made from its current state. Call while holding the turn.
    func changing<Value>(
        _ session: Session, _ attempt: () async throws(SessionError) -> Attempt<Value>
    ) async throws(SessionError) -> Value {
        // Who commits one change after the other needs one round trip for each; another server, whose change was a
        // conflict, needs two, and would never be faster.
        if store.isShared, session.successiveTurns % SessionHost.turnsInRow == SessionHost.turnsInRow - 1 {
            try? await Task.sleep(for: .milliseconds(15))
        }
        let deadline = ContinuousClock.now + SessionHost.attemptTime
        for number in 1... {
            do throws(SessionError) {
                switch try await attempt() {
                case .committed(let value): return value
                case .unchanged(let value): if try await isCurrent(session) { return value }
                case .outdated:
                    // Others who met the same conflict wait for another time.
                    if number > 1 { try? await Task.sleep(for: .milliseconds(Int.random(in: 2...20))) }
                    try await reload(session)
                }
            } catch {
                guard error.isAboutState, try await !isCurrent(session) else { throw error }
            }
            guard .now < deadline else { break }
        }
        throw .conflict
    }

    private static let attemptTime = Duration.seconds(5)
    /// Requests that wait for one session and are served without a gap.
    private static let turnsInRow = 16

    /// Commits a change that was made from the session's copy.
    ///
    /// - Returns: `false` after a conflict.
    func commit(_ change: SessionChange, of session: Session) async throws(SessionError) -> Bool {
        switch await commit([change]) {
        case .success(let conflicts): return conflicts.isEmpty
        case .failure(let error):
            if case .unknownOutcome = error { unload(session) }
            throw failure(error)
        }
    }

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
        // Even if it is another one meanwhile: what has replaced it may have been read before this was called.
        try await reload(session)
        return false
    }

    /// Replaces the copy in memory by what is stored, if that is later.
    private func reload(_ session: Session) async throws(SessionError) {
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
            if error.isAboutState || error == .newerApp || error == .incompatible { unload(session) }
            throw error
        }
    }
}

extension SessionError {
    /// Whether another state of the session could have led to something else.
    fileprivate var isAboutState: Bool {
        switch self {
        case .unauthorized, .ended, .expired, .unknownScreen, .unknownVersion, .unknownToken, .lastToken,
            .tooManyTokens, .unknownCode, .keyReused, .answerForgotten, .stale, .refused:
            true
        default: false
        }
    }
}
