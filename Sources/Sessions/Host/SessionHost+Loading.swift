internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

extension SessionHost {
    /// The session in memory. The first request that asks for one that is not there loads it, the others wait for that.
    ///
    /// - Parameter token: what must be the session's, to be compared before anything else is read of it; `nil` where the
    ///   right to the session was proved before.
    func inMemory(_ id: SessionID, for token: SHA256Digest?) async throws(SessionError) -> Session {
        switch live.withLock({ $0.arrival(of: id, for: token) }) {
        case .inMemory(let session): return session
        case .underWay(let load): return try await load.session()
        case .begun(let load):
            let outcome = await outcome(of: load)
            finish(load, outcome)
            return try outcome.get()
        }
    }

    private func finish(_ load: Load, _ outcome: Load.Outcome) {
        live.withLock { $0.finish(load) }
        load.finish(outcome)
    }

    /// Creates a session in the store and in memory. Where its key was used before, somebody may have its token already
    /// and ask for it at this moment: who does waits.
    func commitFirst(_ change: SessionChange, of session: Session) async -> CommitOutcome {
        let (arrival, departures) = live.withLock { live in
            (live.arrival(of: session.id, for: session.identity.token), live.departures(of: session.id))
        }
        let outcome = await store.commit([change])
        // Who is just loading it finds it in the store.
        guard case .begun(let load) = arrival else { return outcome }
        let isCommitted = if case .success(let conflicts) = outcome { conflicts.isEmpty } else { false }
        let inMemory = isCommitted ? live.withLock { $0.insert(session, by: load, since: departures) } : nil
        finish(load, inMemory.map { .success($0) } ?? .failure(.conflict))
        return outcome
    }

    /// Each time that it starts again, another request had the session in memory.
    private static let loadAttempts = 16

    private func outcome(of load: Load) async -> Load.Outcome {
        do throws(SessionError) {
            for _ in 0..<SessionHost.loadAttempts {
                let departures = live.withLock { $0.departures(of: load.id) }
                guard let loaded = try await loaded(load.id, for: load.token) else { throw .unauthorized }
                guard let session = try await restored(loaded) else { continue }
                let inMemory = live.withLock { $0.insert(session, by: load, since: departures) }
                if let inMemory { return .success(inMemory) }
            }
            throw .conflict
        } catch {
            return .failure(error)
        }
    }

    /// What the store has of the session, unless its time is over.
    ///
    /// - Parameter token: the same as of `live(_:for:)`.
    func loaded(_ id: SessionID, for token: SHA256Digest?) async throws(SessionError) -> LoadedSession? {
        let loaded: LoadedSession?
        do { loaded = try await store.load(id, token: token) } catch { throw SessionError(error) }
        return loaded.flatMap { $0.record.keptUntil > now() ? $0 : nil }
    }

    /// Takes a session out of memory whose last version is not known here: who waits for its turn loads it anew.
    func forget(_ session: Session) {
        live.withLock { $0.remove(session) }
        session.close()
    }

    /// Evicts sessions where there are more than may be: all were busy when others came, or they have grown since.
    func evictIfOver() {
        if usage.isOver { live.withLock { $0.evict(while: \.isOver) } }
    }
}
