internal import Glibc
internal import Sessions
internal import Synchronization

/// Reads many stored sessions, on several threads, while a server may be running.
struct SessionScan {
    private let workers: [Worker]
    /// Sessions that one thread reads in one snapshot.
    private static let batch = 512

    /// A reader is used by one thread at a time.
    private final class Worker: Sendable {
        let reader: Mutex<any StoreReading>

        init(_ reader: sending any StoreReading) {
            self.reader = Mutex(reader)
        }
    }

    /// - Parameter reader: makes a reader of the store; called for each thread.
    init(reader: () throws -> sending any StoreReading) throws {
        let threads = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 16)
        workers = try (0..<threads).map { _ in Worker(try reader()) }
    }

    /// - Parameters:
    ///   - withPast: whether all versions of a session have to be readable, not only the last one.
    ///   - convert: called for each session, on several threads.
    ///   - each: called with the results in order, those that are `nil` left out, and how many sessions are done.
    func forEach<Value: Sendable>(
        _ ids: [SessionID], withPast: Bool,
        _ convert: @escaping @Sendable (SessionID, Result<SessionRecord?, SessionDamage>) -> Value?,
        each: ([Value], _ done: Int) -> Void
    ) async throws {
        var done = 0
        while done < ids.count {
            let batches = workers.indices.map { index in
                ids[min(done + index * SessionScan.batch, ids.count)...].prefix(SessionScan.batch)
            }
            try await withThrowingTaskGroup(of: (Int, [Value]).self) { group in
                for (index, batch) in batches.enumerated() where !batch.isEmpty {
                    let worker = workers[index]
                    group.addTask {
                        try worker.reader.withLock { reader in
                            (index, try reader.checked(batch, withPast: withPast).compactMap(convert))
                        }
                    }
                }
                var results: [[Value]] = batches.map { _ in [] }
                for try await (index, values) in group { results[index] = values }
                done += batches.reduce(0) { $0 + $1.count }
                each(results.flatMap(\.self), done)
            }
        }
    }
}
