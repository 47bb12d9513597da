internal import Dispatch
internal import Sessions
internal import Synchronization

/// Group reads: reads wait in a queue, and the one connection that reads serves all that have arrived while it was
/// reading. They share one snapshot, so that its pages are read once for all of them: SQLite discards its cache as soon
/// as another connection has written.
final class ReadQueue: Sendable {
    /// Receives the connection, or the reason why there is none.
    private typealias Read = @Sendable (Result<JournalReader, ReadError>) -> Void

    private struct State {
        var waiting: [Read] = []
        /// Whether the reader is serving the queue, or is about to.
        var isServed = false
    }

    private let queue = DispatchQueue(label: "coordinatord.store.reader")
    private let state = Mutex(State())
    /// Only used on `queue`; `nil` once it is closed. Holding the lock keeps the reader from its next snapshot.
    private let reader: Mutex<JournalReader?>

    init(_ reader: sending JournalReader) {
        self.reader = Mutex(reader)
    }

    func close() async {
        await queue.run { self.reader.withLock { $0 = nil } }
    }

    /// - Parameter body: reads from a snapshot. Get everything else that it needs before this call: the snapshot may be
    ///   older than the call of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (JournalReader) throws(ReadError) -> Value
    ) async throws(ReadError) -> Value {
        let outcome: Result<Value, ReadError> = await withCheckedContinuation { continuation in
            enqueue { reader in
                continuation.resume(
                    returning: reader.flatMap { reader in
                        Result { () throws(ReadError) in try body(reader) }
                    })
            }
        }
        return try outcome.get()
    }

    /// Calls `body` while no read is in progress.
    func whilePaused<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        try reader.withLock { _ throws(Failure) in try body() }
    }

    private func enqueue(_ read: @escaping Read) {
        let isFirst = state.withLock { state in
            state.waiting.append(read)
            defer { state.isServed = true }
            return !state.isServed
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
    }

    /// Serves all waiting reads, again and again until none is waiting.
    private func serve() {
        while true {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.isServed = !state.waiting.isEmpty
                return state.waiting
            }
            guard !waiting.isEmpty else { return }
            reader.withLock { reader in
                guard let reader else { return fail(waiting, .closed) }
                do throws(ReadError) {
                    try reader.withSnapshot { for read in waiting { read(.success(reader)) } }
                } catch {
                    fail(waiting, error)
                }
            }
        }
    }

    private func fail(_ waiting: [Read], _ error: ReadError) {
        for read in waiting { read(.failure(error)) }
    }
}
