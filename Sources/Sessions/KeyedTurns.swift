internal import Synchronization

/// Turns by a session's id, also of one that is not there yet.
final class KeyedTurns: Sendable {
    private struct Line {
        let turns = Turns()
        var count = 0
    }

    private let lines = Mutex<[SessionID: Line]>([:])

    /// Does the work when all earlier work of the same id is done.
    func inTurn<Value, Failure: Error>(
        _ id: SessionID, _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let turns = lines.withLock { lines in
            lines[id, default: Line()].count += 1
            return lines[id, default: Line()].turns
        }
        _ = await turns.enter(limit: .max)
        defer {
            turns.leave()
            lines.withLock { lines in
                lines[id]?.count -= 1
                if lines[id]?.count == 0 { lines[id] = nil }
            }
        }
        return try await work()
    }
}
