internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

extension SessionHost {
    /// Ends a session, for good once the end is committed. If its app sets `endsForks`, its forks end before it, so
    /// that an end that fails halfway can be repeated.
    ///
    /// - Parameters:
    ///   - token: the caller's; `nil` for the server itself.
    ///   - user: if given, the session only ends while that user is signed in to it.
    /// - Returns: whether the session has ended now.
    @discardableResult
    func end(
        _ session: Session, for token: SHA256Digest?, of user: String? = nil, if condition: VersionCondition? = nil,
        after ending: [SessionID] = []
    ) async throws(SessionError) -> Bool {
        // No limit: a session can be ended however many events wait.
        try await change(session, waiting: .max) { (session) async throws(SessionError) in
            let last = try session.current(for: token, at: now())
            try condition?.check(last)
            guard user == nil || last.identity.user == user else { return .unchanged(false) }
            // While this has the turn, nobody forks the session here.
            if session.app.endsForks { try await endForks(of: session.id, after: ending) }
            guard try await commit(end(of: last.identity, after: last.stamp), of: session) else { return .outdated }
            measures.count(.ended)
            session.end()
            live.withLock { $0.remove(session) }
            feed.reportEnd(of: session.id)
            // Another server may have forked it before it had ended. One that does so afterwards finds that out.
            if session.app.endsForks, store.isShared { try await endForks(of: session.id, after: ending) }
            return .committed(true)
        }
    }

    /// - Parameter ending: the sessions that wait for this one's end, which are skipped: an imported session may be a
    ///   fork of its own fork.
    private func endForks(of id: SessionID, after ending: [SessionID]) async throws(SessionError) {
        let forks: [SessionID]
        do { forks = try await store.forks(of: id) } catch { throw failure(error) }
        for fork in forks where fork != id && !ending.contains(fork) {
            try await end(fork, after: ending + [id])
        }
    }

    /// Ends a session for the server itself, also one that this build cannot restore. It may have ended already.
    ///
    /// - Parameter user: if given, the session only ends while that user is signed in to it.
    /// - Returns: whether the session has ended now.
    @discardableResult
    func end(
        _ id: SessionID, of user: String? = nil, after ending: [SessionID] = []
    ) async throws(SessionError) -> Bool {
        do throws(SessionError) {
            return try await end(try await inMemory(id, for: nil), for: nil, of: user, after: ending)
        } catch {
            switch error {
            case .ended, .expired, .unauthorized, .incompatible, .newerApp, .cannotLaunch, .deadlineExceeded: break
            default: throw error
            }
        }
        // It cannot be used, but its forks may be.
        if user == nil { try await endForks(of: id, after: ending) }
        // It is ended all the same, so that a build that knows its app cannot use it either.
        guard let loaded = try await loaded(id, for: nil), let expiresAt = loaded.record.expiresAt, expiresAt > now(),
            user == nil || loaded.record.identity.user == user
        else { return false }
        let outcome = await commit(end(of: loaded.record.identity, after: loaded.stamp))
        live.withLock { $0.remove(id) }
        switch outcome {
        case .success(let conflicts) where conflicts.isEmpty:
            measures.count(.ended)
            feed.reportEnd(of: id)
            return true
        case .success: throw .conflict
        case .failure(let error): throw failure(error)
        }
    }

    private func end(of identity: SessionIdentity, after stamp: SessionStamp) -> SessionChange {
        let now = now()
        let end = EncodedRecord(
            endOf: identity, after: stamp.version, at: now, keptUntil: now + settings.tombstoneLifetime)
        return SessionChange(id: identity.id, expected: stamp, record: end)
    }
}
