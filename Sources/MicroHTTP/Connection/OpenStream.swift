internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// A connection whose answer is a stream.
///
/// Unchecked: touched by the `StreamLoop`'s thread only, but for what is constant or atomic.
final class OpenStream: @unchecked Sendable, Cuttable {
    let socket: CInt
    let peer: IPAddress
    /// Whether it waits in the loop's queue.
    let isWoken = Atomic(false)
    private let isChunked: Bool
    /// `nil` once it has no more parts.
    private var stream: (any HTTPStream)?
    /// Whether no more parts are wanted.
    var mustEnd = false
    /// What is being sent, and how much of it the system has taken.
    private var rest: [UInt8]
    private var offset = 0
    /// When the system has last taken something, in milliseconds.
    private(set) var since: Int
    /// When a stream that waits is asked again, in milliseconds.
    private(set) var due = 0
    /// The number of `rest` in the sending budget, if it is large.
    var sendingNumber: Int?
    private var isClosed = false
    /// Whether the loop is told when the system can take more.
    var awaitsRoom = false

    /// - Parameters:
    ///   - socket: is owned.
    ///   - stream: `nil` if the answer has no body.
    init(on socket: CInt, of peer: IPAddress, beginning: [UInt8], _ stream: (any HTTPStream)?, isChunked: Bool) {
        self.socket = socket
        self.peer = peer
        self.rest = beginning
        self.stream = stream
        self.isChunked = isChunked
        self.since = Watchdog.now
    }

    deinit { if !isClosed { close(socket) } }

    var isWaiting: Bool { offset == rest.count }

    enum Sent {
        case all
        /// The system takes no more before the client reads.
        case full
        case gone
    }

    func send() -> Sent {
        while offset < rest.count {
            let count = rest.withUnsafeBytes {
                Glibc.send(
                    socket, $0.baseAddress! + offset, $0.count - offset, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            if count > 0 {
                offset += count
                since = Watchdog.now
            } else if errno != EINTR {
                return errno == EAGAIN ? .full : .gone
            }
        }
        return .all
    }

    /// - Parameter wake: asks for the next part.
    func begin(waking wake: @escaping @Sendable () -> Void) {
        stream?.begin(waking: wake)
    }

    /// - Returns: `nil` if the end has been sent, too.
    func next(isQuiet: Bool) -> HTTPStreamPart? {
        mustEnd && stream != nil ? .end : stream?.next(isQuiet: isQuiet)
    }

    func begin(_ part: [UInt8]) {
        rest = isChunked ? Array(String(part.count, radix: 16).utf8) + [13, 10] + part + [13, 10] : part
        offset = 0
    }

    /// Ends the stream; its end is still to be sent.
    func beginEnd() {
        stream = nil
        rest = isChunked ? Array("0\r\n\r\n".utf8) : []
        offset = 0
    }

    /// - Parameter milliseconds: when to ask the stream again, if nothing wakes it.
    func beginWaiting(atMost milliseconds: Int) {
        (rest, offset) = ([], 0)
        due = Watchdog.now + milliseconds
    }

    /// Closes the connection. Whoever can wake the stream may keep this object for longer.
    func end() {
        stream = nil
        close(socket)
        isClosed = true
    }

    /// Ends the connection: the loop notices it.
    func cut() {
        shutdown(socket, CInt(SHUT_RDWR))
    }

    /// Lets the client read to the end: what it has sent meanwhile would make the system discard that.
    func finish() {
        shutdown(socket, CInt(SHUT_WR))
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT)) > 0 {}
        }
    }
}
