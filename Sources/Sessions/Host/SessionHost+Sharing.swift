internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

// What several servers on one store need. A session in memory is a copy there: another server may have changed the
// session since. A commit from such a copy is a conflict; anything else that was found out from the copy, also that a
// token is wrong, counts only once the store has confirmed the copy.
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
        // Even if it is another one meanwhile: what has replaced it may have been read before this was called.
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
            if error.isAboutState || error == .newerApp || error == .incompatible { unload(session) }
            throw error
        }
    }
}

extension SessionError {
    /// Whether another state of the session could have led to something else.
    var isAboutState: Bool {
        switch self {
        case .unauthorized, .ended, .expired, .unknownScreen, .unknownVersion, .unknownToken, .lastToken,
            .tooManyTokens, .unknownCode, .keyReused, .answerForgotten, .stale, .refused:
            true
        default: false
        }
    }
}
