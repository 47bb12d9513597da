internal import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

extension SessionHost {
    /// The live session. If it is not in memory, the first request loads it, and the others wait for that load.
    ///
    /// - Parameter token: the token that the session must have, compared before the rest of the session is read; `nil`
    ///   if the caller's right to the session is already proved.
    func inMemory(_ id: SessionID, for token: SHA256Digest?) async throws(SessionError) -> Session {
        switch live.withLock({ $0.findOrBeginLoad(of: id, for: token) }) {
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

    /// Creates a session in the store and in memory. If its key was used before, a client may already have its token
    /// and request the session at this moment: that request waits for the commit.
    func commitCreation(_ change: SessionChange, of session: Session) async -> CommitOutcome {
        let (found, removals) = live.withLock { live in
            (live.findOrBeginLoad(of: session.id, for: session.identity.token), live.removals(of: session.id))
        }
        let outcome = await commit(change)
        // A request that is already loading the session finds it in the store.
        guard case .begun(let load) = found else { return outcome }
        switch outcome {
        case .failure(let error): finish(load, .failure(SessionError(error)))
        case .success(let conflicts):
            let inMemory =
                conflicts.isEmpty ? live.withLock { $0.insert(session, by: load, since: removals) } : nil
            finish(load, inMemory.map { .success($0) } ?? .failure(.conflict))
        }
        return outcome
    }

    /// How often a load reads the session at most. It reads it again only if another request has loaded or changed it
    /// meanwhile.
    static let loadAttempts = 16

    private func outcome(of load: Load) async -> Load.Outcome {
        do throws(SessionError) {
            for _ in 0..<SessionHost.loadAttempts {
                let removals = live.withLock { $0.removals(of: load.id) }
                guard let loaded = try await loaded(load.id, for: load.token) else { throw .unauthorized }
                guard let session = try await restored(loaded) else { continue }
                let inMemory = live.withLock { $0.insert(session, by: load, since: removals) }
                if let inMemory {
                    measures.count(.loaded)
                    return .success(inMemory)
                }
            }
            throw .conflict
        } catch {
            return .failure(error)
        }
    }

    /// The session as the store has it; `nil` if the store has none, or if it need not be kept any longer.
    ///
    /// - Parameter token: see `inMemory(_:for:)`.
    func loaded(_ id: SessionID, for token: SHA256Digest?) async throws(SessionError) -> LoadedSession? {
        let loaded: LoadedSession?
        do { loaded = try await store.load(id, token: token) } catch { throw failure(error) }
        return loaded.flatMap { $0.record.keptUntil > now() ? $0 : nil }
    }

    /// Removes a session from memory, because its last version is not known here. Requests that wait for its turn load
    /// it again.
    func unload(_ session: Session) {
        live.withLock { $0.remove(session) }
        session.close()
    }

    /// Evicts sessions if they exceed the limits: all were busy when others came, or they have grown since.
    func evictIfOverLimit() {
        if usage.isOverLimit { live.withLock { $0.evict(while: \.isOverLimit) } }
    }
}

/// A single-flight load of a session from the store into memory: one request loads it for all with the same token.
final class Load: Sendable {
    typealias Outcome = Result<Session, SessionError>

    private struct State {
        var outcome: Outcome?
        var waiting: [CheckedContinuation<Outcome, Never>] = []
    }

    let id: SessionID
    /// The token that the session must have; `nil` if the caller's right to the session is already proved.
    let token: SHA256Digest?
    private let state = Mutex(State())

    init(of id: SessionID, for token: SHA256Digest?) {
        self.id = id
        self.token = token
    }

    /// Waits for the request that loads the session.
    func session() async throws(SessionError) -> Session {
        let outcome = await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        return try outcome.get()
    }

    func finish(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }
}
