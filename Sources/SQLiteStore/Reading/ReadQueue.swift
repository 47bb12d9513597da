internal import Dispatch
internal import SQLite
internal import Sessions
internal import Synchronization

/// Group reads: who reads waits in a line, and the one connection that reads takes everybody who has come while it was
/// reading. They see one snapshot, so that its pages are read once for all of them: SQLite forgets its cache as soon as
/// somebody has written.
final class ReadQueue: Sendable {
    /// Is handed the connection, or why there is none.
    private typealias Read = @Sendable (Result<JournalReader, ReadError>) -> Void

    private struct Line {
        var waiting: [Read] = []
        /// Whether the reader is at work, or will be.
        var isServed = false
    }

    private let queue = DispatchQueue(label: "coordinatord.store.reader", qos: .userInitiated)
    private let line = Mutex(Line())
    /// Only used on `queue`; `nil` once it is closed. Who has the lock keeps the reader from its next snapshot.
    private let reader: Mutex<JournalReader?>

    init(_ reader: sending JournalReader) {
        self.reader = Mutex(reader)
    }

    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.reader.withLock { $0 = nil }
                continuation.resume()
            }
        }
    }

    /// - Parameter body: reads. What else it has to know it must know before: the snapshot may be older than the call of it.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (JournalReader) throws(ReadError) -> Value
    ) async throws(ReadError) -> Value {
        let outcome: Result<Value, ReadError> = await withCheckedContinuation { continuation in
            wait { reader in
                continuation.resume(
                    returning: reader.flatMap { reader in
                        Result { () throws(ReadError) in try body(reader) }
                    })
            }
        }
        return try outcome.get()
    }

    /// Does the work while nobody reads.
    func whilePaused<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        try reader.withLock { _ throws(Failure) in try body() }
    }

    private func wait(_ read: @escaping Read) {
        let isFirst = line.withLock { line in
            line.waiting.append(read)
            defer { line.isServed = true }
            return !line.isServed
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
    }

    /// Takes all who wait, again and again until nobody does.
    private func serve() {
        while true {
            let waiting = line.withLock { line in
                defer { line.waiting = [] }
                line.isServed = !line.waiting.isEmpty
                return line.waiting
            }
            guard !waiting.isEmpty else { return }
            reader.withLock { reader in
                guard let reader else { return refuse(waiting, .closed) }
                do throws(SQLiteError) {
                    try reader.withSnapshot { for read in waiting { read(.success(reader)) } }
                } catch {
                    refuse(waiting, .sqlite(error))
                }
            }
        }
    }

    private func refuse(_ waiting: [Read], _ error: ReadError) {
        for read in waiting { read(.failure(error)) }
    }
}
