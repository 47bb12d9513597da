internal import Synchronization

/// Turns by a session's id, also of one that is not there yet.
final class KeyedTurns: Sendable {
    private let lines = Mutex<[SessionID: Turns]>([:])

    /// Does the work when all earlier work of the same id is done.
    func inTurn<Value, Failure: Error>(
        _ id: SessionID, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        _ = await withCheckedContinuation { continuation in
            let entry = lines.withLock { $0[id, default: Turns()].enter(continuation, limit: .max) }
            if let entry { continuation.resume(returning: entry) }
        }
        defer {
            let next = lines.withLock { lines in
                let next = lines[id]?.leave()
                if next == nil { lines[id] = nil }
                return next
            }
            next?.resume(returning: .entered)
        }
        return try await work()
    }
}
