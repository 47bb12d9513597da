internal import Synchronization

/// Turns by session id; the session need not exist yet.
final class KeyedTurns: Sendable {
    private let turns = Mutex<[SessionID: Turns]>([:])

    /// Does the work after all earlier work of the same id.
    func inTurn<Value, Failure: Error>(
        _ id: SessionID, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        _ = await withCheckedContinuation { continuation in
            let entry = turns.withLock { $0[id, default: Turns()].enter(continuation, limit: .max) }
            if let entry { continuation.resume(returning: entry) }
        }
        defer {
            let next = turns.withLock { turns in
                let next = turns[id]?.leave()
                if next == nil { turns[id] = nil }
                return next
            }
            next?.resume(returning: .entered)
        }
        return try await work()
    }
}
