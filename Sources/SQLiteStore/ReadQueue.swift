internal import Dispatch
internal import SQLite
internal import Sessions
internal import Synchronization

/// Group reads: who reads waits in a line, and the one connection that reads takes everybody who has come while it was
/// reading. They see one snapshot, so that its pages are read once for all of them: SQLite forgets its cache as soon as
/// somebody has written.
final class ReadQueue: Sendable {
    /// Is handed the connection, or why there is none.
    private typealias Read = @Sendable (Result<Archive, StoreError>) -> Void

    private struct Line {
        var waiting: [Read] = []
        /// Whether the reader is at work, or will be.
        var isServed = false
    }

    private let queue = DispatchQueue(label: "coordinatord.store.reader", qos: .userInitiated)
    private let line = Mutex(Line())
    /// Only touched on `queue`; `nil` once it is closed.
    private let archive: Mutex<Archive?>

    init(_ archive: sending Archive) {
        self.archive = Mutex(archive)
    }

    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.archive.withLock { $0 = nil }
                continuation.resume()
            }
        }
    }

    /// - Parameter body: reads. What else it has to know it must know before: the snapshot may be older than the call of it.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Archive) throws(ReadError) -> Value
    ) async throws(StoreError) -> Value {
        let outcome: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            wait { archive in
                continuation.resume(
                    returning: archive.flatMap { archive in
                        Result { () throws(ReadError) in try body(archive) }
                            .mapError { .unavailable(reason: $0.reason) }
                    })
            }
        }
        return try outcome.get()
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
            archive.withLock { archive in
                guard let archive else { return refuse(waiting, "the store is closed") }
                do throws(SQLiteError) {
                    try archive.withSnapshot { for read in waiting { read(.success(archive)) } }
                } catch {
                    refuse(waiting, "\(error)")
                }
            }
        }
    }

    private func refuse(_ waiting: [Read], _ reason: String) {
        for read in waiting { read(.failure(.unavailable(reason: reason))) }
    }
}

extension ReadError {
    var reason: String {
        switch self {
        case .sqlite(let error): "\(error)"
        case .damaged(let seq): "row \(seq) of the journal is damaged"
        }
    }
}
