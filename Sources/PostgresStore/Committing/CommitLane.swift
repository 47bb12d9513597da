internal import Dispatch
internal import Sessions
internal import Synchronization

/// A lane: one connection that commits one batch after the other, on a thread of its own.
final class CommitLane: Sendable {
    private let index: Int
    private let line: CommitLine
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block on the network.
    private let queue: DispatchQueue
    /// Only used on `queue`.
    private let writer: Mutex<BatchWriter>

    init(_ index: Int, _ line: CommitLine, _ writer: sending BatchWriter) {
        self.index = index
        self.line = line
        self.writer = Mutex(writer)
        queue = DispatchQueue(label: "coordinatord.postgres.lane\(index)")
    }

    func wake() {
        queue.async { self.serve() }
    }

    private func serve() {
        while true {
            let batch = line.next(for: index)
            if batch.isEmpty { return }
            writer.withLock { $0.commit(batch) }
            line.release(batch)
        }
    }

    /// Waits until the lane has nothing to do.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.writer.withLock { $0.close() }
                continuation.resume()
            }
        }
    }
}
