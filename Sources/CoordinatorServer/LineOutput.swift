internal import Dispatch
internal import Glibc
internal import Logging
internal import Synchronization

/// Writes lines to a descriptor whose reader may stall. Callers never wait: lines that the reader has not read are kept
/// up to a limit; beyond it they are dropped, and their number is written when the reader continues.
final class LineOutput: Sendable {
    static let standardOutput = LineOutput(STDOUT_FILENO)
    static let standardError = LineOutput(STDERR_FILENO)

    private struct Backlog {
        var bytes: [UInt8] = []
        /// Lines dropped for lack of room since the writer last emptied the backlog.
        var dropped = 0
        /// Whether the writer runs or is about to.
        var isServed = false
    }

    private let descriptor: CInt
    private let limit: Int
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block until the reader reads.
    private let queue = DispatchQueue(label: "coordinatord.output")
    private let backlog = Mutex(Backlog())

    /// - Parameter limit: bytes that may wait; as many more may be in the middle of being written.
    init(_ descriptor: CInt, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// - Parameter line: without its line end.
    func write(_ line: String) {
        let isFirst = backlog.withLock { backlog in
            if backlog.bytes.count + line.utf8.count < limit {
                backlog.bytes += line.utf8
                backlog.bytes.append(UInt8(ascii: "\n"))
            } else {
                backlog.dropped += 1
            }
            defer { backlog.isServed = true }
            return !backlog.isServed
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
    }

    /// Blocks until all earlier lines are written, or the time is up. For the end of a process.
    func flush(milliseconds: Int) {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + .milliseconds(milliseconds))
    }

    private func serve() {
        while true {
            let (bytes, dropped) = backlog.withLock { backlog in
                defer { (backlog.bytes, backlog.dropped) = ([], 0) }
                backlog.isServed = !backlog.bytes.isEmpty || backlog.dropped > 0
                return (backlog.bytes, backlog.dropped)
            }
            guard !bytes.isEmpty || dropped > 0 else { return }
            put(bytes)
            if dropped > 0 {
                let notice = LineLogHandler.line(.warning, "\(dropped) messages were dropped: the log was not read")
                put(Array("\(notice)\n".utf8))
            }
        }
    }

    /// Waits for the reader. Without a reader the bytes are discarded.
    private func put(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that shares the descriptor has made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
