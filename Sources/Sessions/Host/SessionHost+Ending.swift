internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

extension SessionHost {
    /// Ends a session: for good, when it is committed. Where its app wants that, its forks have ended before it has, so
    /// that an end that fails halfway can be repeated.
    ///
    /// - Parameter token: of who wants it; `nil` for the server itself.
    func end(
        _ session: Session, for token: SHA256Digest?, if condition: VersionCondition? = nil,
        after ending: [SessionID] = []
    ) async throws(SessionError) {
        // However many events wait: who wants to get out always finds a place.
        guard case .entered = await session.enter(limit: .max) else {
            let again = try await inMemory(session.id, for: nil)
            return try await end(again, for: token, if: condition, after: ending)
        }
        defer { session.leave() }
        let last = try session.current(for: token, at: now())
        try condition?.check(last)
        // As long as this has the turn, nobody forks the session.
        if session.app.endsForks { try await endForks(of: session.id, after: ending) }
        if let failure = failure(of: await commitEnd(of: last.identity, after: last.version), for: session) {
            throw failure
        }
        session.end()
        live.withLock { $0.remove(session) }
    }

    /// - Parameter ending: the sessions that wait for this one's end: in what was imported a session may be its own fork's.
    private func endForks(of id: SessionID, after ending: [SessionID]) async throws(SessionError) {
        let forks: [SessionID]
        do { forks = try await store.forks(of: id) } catch { throw SessionError(error) }
        for fork in forks where fork != id && !ending.contains(fork) {
            try await endFork(fork, after: ending + [id])
        }
    }

    private func endFork(_ id: SessionID, after ending: [SessionID]) async throws(SessionError) {
        do throws(SessionError) {
            return try await end(try await inMemory(id, for: nil), for: nil, after: ending)
        } catch {
            switch error {
            case .ended, .expired, .unauthorized, .incompatible: break
            default: throw error
            }
        }
        // It cannot be used, but its own forks may be.
        try await endForks(of: id, after: ending)
        // Nor can it be by another build that knows its app.
        guard let record = try await loaded(id, for: nil)?.record, let expiresAt = record.expiresAt, expiresAt > now()
        else { return }
        let outcome = await commitEnd(of: record.identity, after: record.version)
        live.withLock { $0.remove(id) }
        switch outcome {
        case .success(let conflicts) where conflicts.isEmpty: break
        case .success: throw .conflict
        case .failure(let error): throw SessionError(error)
        }
    }

    private func commitEnd(of identity: SessionIdentity, after version: Int) async -> CommitOutcome {
        let now = now()
        let end = SessionRecord(endOf: identity, after: version, at: now, keptUntil: now + settings.graveTime)
        return await store.commit([SessionChange(id: identity.id, expectedVersion: version, record: end)])
    }

    /// Why the commit of the session's next form failed; `nil` where it did not. When another server was faster, what is
    /// in memory is out of date: who comes next loads it anew.
    func failure(of outcome: CommitOutcome, for session: Session) -> SessionError? {
        switch outcome {
        case .success(let conflicts):
            if conflicts.isEmpty { return nil }
            forget(session)
            return .conflict
        case .failure(let error):
            if case .unknownOutcome = error { forget(session) }
            return SessionError(error)
        }
    }
}
