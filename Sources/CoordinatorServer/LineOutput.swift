internal import Dispatch
internal import Glibc
internal import Logging
internal import Synchronization

/// Writes lines to a descriptor whose reader may stall. Who has a line never waits: lines that the reader has not taken are
/// kept up to a limit, beyond it they are dropped, and their number is written when the reader goes on.
final class LineOutput: Sendable {
    static let standardOutput = LineOutput(STDOUT_FILENO)
    static let standardError = LineOutput(STDERR_FILENO)

    private struct Backlog {
        var bytes: [UInt8] = []
        /// Lines that came when there was no room, since the last ones were taken.
        var dropped = 0
        /// Whether the writer is at work, or will be.
        var isServed = false
    }

    private let descriptor: CInt
    private let limit: Int
    /// Serial, so libdispatch runs it on a thread beyond its pools, which may wait for the reader.
    private let queue = DispatchQueue(label: "coordinatord.output")
    private let backlog = Mutex(Backlog())

    /// - Parameter limit: bytes that wait; as many more are being written.
    init(_ descriptor: CInt, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// - Parameter line: without its end.
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

    /// Blocks until all that came before is written, or the time is up. For the end of a process.
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

    /// Waits for the reader. Where there is none any more, nobody misses the bytes.
    private func put(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody who shares the descriptor does not want to wait.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
