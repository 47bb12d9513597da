internal import CEpoll
internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// Sends all streams on one thread of its own. A stream that has nothing to send costs only its memory.
///
/// Unchecked because of `thread`, which is set in `init` and read once after that, and because of the properties that
/// only that thread uses.
final class StreamLoop: @unchecked Sendable {
    private struct Inbox {
        var added: [OpenStream] = []
        var woken: [OpenStream] = []
        /// How many streams may stay open; `nil` for any number.
        var allowed: Int?
        var isStopped = false
        var isSignalled = false
    }

    private let limits: HTTPServer.Settings.Limits
    /// Streams at a time of one address; 0 for any number.
    private let addressLimit: Int
    private let sendingBudget: SendingBudget
    private let measures: ConnectionMeasures
    /// Streams whose connections are not closed yet.
    let count = Atomic(0)
    /// Milliseconds that a test has let pass, and that the thread has not noticed yet.
    private let elapsed = Atomic(0)
    private let inbox = Mutex(Inbox())
    private let poll: CInt
    /// An eventfd that makes the thread read its inbox.
    private let signal: CInt
    private var thread = pthread_t()
    // Used by the thread alone.
    private var streams: [CInt: OpenStream] = [:]
    private var streamCounts: [IPAddress: Int] = [:]
    /// Parts that are sent of one stream before the others get their turn.
    private static let partsInTurn = 16

    init(
        _ settings: HTTPServer.Settings, _ sendingBudget: SendingBudget, _ measures: ConnectionMeasures
    ) throws(HTTPServerError) {
        limits = settings.limits
        addressLimit = settings.addressLimit
        self.sendingBudget = sendingBudget
        self.measures = measures
        poll = CEpoll_create()
        signal = CEpoll_create_signal()
        guard poll >= 0, signal >= 0, CEpoll_await(poll, signal, CEpoll_readable, 0) == 0 else {
            throw .cannotStart(errno)
        }
        thread = try BlockingWork.thread { self.run() }
    }

    deinit {
        Glibc.close(poll)
        Glibc.close(signal)
    }

    func add(_ stream: OpenStream) {
        count.add(1, ordering: .relaxed)
        changeInbox { $0.added.append(stream) }
    }

    /// Asks the stream for its next part.
    private func wake(_ stream: OpenStream) {
        if !stream.isWoken.exchange(true, ordering: .acquiringAndReleasing) { changeInbox { $0.woken.append(stream) } }
    }

    /// For tests: checks all streams as if so much time had passed, as `Watchdog.elapse` does.
    func elapse(milliseconds: Int) async {
        elapsed.add(milliseconds, ordering: .relaxed)
        while elapsed.load(ordering: .acquiring) > 0 { try? await Task.sleep(for: .milliseconds(1)) }
    }

    /// Ends streams until so many are left. The limit holds for later streams, too.
    func end(allBut count: Int) {
        changeInbox { $0.allowed = count }
    }

    /// Ends everything at once, and blocks until that is done. Call once.
    func stop() {
        changeInbox { $0.isStopped = true }
        pthread_join(thread, nil)
    }

    private func changeInbox(_ change: (inout sending Inbox) -> Void) {
        let isNew = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isSignalled = true }
            return !inbox.isSignalled
        }
        if isNew { eventfd_write(signal, 1) }
    }
}

// On the thread.
extension StreamLoop {
    private func run() {
        // So that an event is answered before its many watchers receive the change.
        CEpoll_preferOtherThreads()
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        let interval = max(20, min(1000, limits.shortest / 10))
        var nextCheck = Watchdog.now + interval
        while true {
            let count = epoll_wait(poll, &events, CInt(events.count), CInt(max(0, nextCheck - Watchdog.now)))
            for event in events.prefix(Int(max(0, count))) where event.data.fd != signal {
                guard let stream = streams[event.data.fd] else { continue }
                if event.events & CEpoll_hungUp != 0 { remove(stream) } else { pump(stream) }
            }
            guard readInbox() else { break }
            if Watchdog.now >= nextCheck {
                checkTimes()
                nextCheck = Watchdog.now + interval
            }
        }
        for stream in streams.values { end(stream) }
        for stream in streams.values { remove(stream) }
    }

    /// - Returns: `false` if the loop must end.
    private func readInbox() -> Bool {
        let (added, woken, allowed, isStopped) = inbox.withLock { inbox in
            defer { (inbox.added, inbox.woken, inbox.isSignalled) = ([], [], false) }
            var value: eventfd_t = 0
            if inbox.isSignalled { eventfd_read(signal, &value) }
            return (inbox.added, inbox.woken, inbox.allowed, inbox.isStopped)
        }
        for stream in added { open(stream) }
        for stream in woken {
            _ = stream.isWoken.exchange(false, ordering: .acquiringAndReleasing)
            if stream.isWaiting { pump(stream) }
        }
        if let allowed { for stream in streams.values.dropFirst(allowed) { end(stream) } }
        return !isStopped
    }

    private func open(_ stream: OpenStream) {
        guard addressLimit == 0 || streamCounts[stream.peer, default: 0] < addressLimit,
            CEpoll_await(poll, stream.socket, CEpoll_hungUp, 0) == 0
        else {
            return close(stream)
        }
        streams[stream.socket] = stream
        streamCounts[stream.peer, default: 0] += 1
        stream.begin { self.wake(stream) }
        pump(stream)
    }

    private func remove(_ stream: OpenStream) {
        guard streams.removeValue(forKey: stream.socket) != nil else { return }
        _ = CEpoll_forget(poll, stream.socket)
        streamCounts[stream.peer]! -= 1
        if streamCounts[stream.peer] == 0 { streamCounts[stream.peer] = nil }
        endSending(stream)
        close(stream)
    }

    private func close(_ stream: OpenStream) {
        stream.end()
        count.subtract(1, ordering: .relaxed)
    }

    private func endSending(_ stream: OpenStream) {
        if let number = stream.sendingNumber.take() { sendingBudget.end(number) }
    }

    /// Sends parts until the system accepts no more, the stream has no more, or others get their turn.
    private func pump(_ stream: OpenStream, isQuiet: Bool = false) {
        guard streams[stream.socket] === stream else { return }
        for turn in 0..<StreamLoop.partsInTurn {
            switch stream.send() {
            case .gone: return remove(stream)
            case .full: return waitFor(room: true, stream)
            case .all: endSending(stream)
            }
            switch stream.next(isQuiet: isQuiet && turn == 0) {
            case nil:
                stream.finish()
                return remove(stream)
            case .wait(let seconds):
                // Random, so that streams that became quiet together are not all asked together.
                let quiet = limits.quiet + Int.random(in: -limits.quiet / 5...limits.quiet / 5)
                stream.beginWaiting(atMost: min(quiet, Int(max(0, min(seconds, 1e6)) * 1000)))
                return waitFor(room: false, stream)
            case .end: stream.beginEnd()
            case .bytes(let part):
                if part.count > SendingBudget.smallSize {
                    guard let number = sendingBudget.begin(part.count, on: stream) else { return remove(stream) }
                    stream.sendingNumber = number
                }
                stream.begin(part)
            }
        }
        waitFor(room: true, stream)
    }

    private func waitFor(room: Bool, _ stream: OpenStream) {
        guard stream.awaitsRoom != room else { return }
        stream.awaitsRoom = room
        _ = CEpoll_await(poll, stream.socket, CEpoll_hungUp | (room ? CEpoll_writable : 0), 1)
    }

    /// Ends the answer. Its client may continue on another server.
    private func end(_ stream: OpenStream) {
        stream.mustEnd = true
        if stream.isWaiting { pump(stream) }
    }

    /// Cuts the streams whose clients do not read, and asks for a sign of life from those that have waited long enough.
    private func checkTimes() {
        let now = Watchdog.now
        let elapsed = elapsed.load(ordering: .relaxed)
        if elapsed > 0 { for stream in streams.values { stream.age(by: elapsed) } }
        defer { self.elapsed.subtract(elapsed, ordering: .releasing) }
        for stream in streams.values {
            if !stream.isWaiting {
                if now - stream.since > limits.sending {
                    measures.count(.slowReader)
                    remove(stream)
                }
            } else if now >= stream.due {
                pump(stream, isQuiet: true)
            }
        }
    }
}

/// A connection whose answer is a stream.
///
/// Unchecked: only the `StreamLoop`'s thread uses it, except for what is constant or atomic.
final class OpenStream: @unchecked Sendable, Cuttable {
    let socket: CInt
    let peer: IPAddress
    /// Whether it is in the loop's inbox, to be asked for its next part.
    let isWoken = Atomic(false)
    private let isChunked: Bool
    /// `nil` once it has no more parts.
    private var stream: (any HTTPStream)?
    /// Whether no more parts are wanted.
    var mustEnd = false
    /// The bytes that are being sent, and how many of them the system has accepted.
    private var rest: [UInt8]
    private var offset = 0
    /// When the system last accepted bytes, in milliseconds.
    private(set) var since: Int
    /// When a stream that waits is asked again, in milliseconds.
    private(set) var due = 0
    /// The number of `rest` in the sending budget, if it is large.
    var sendingNumber: Int?
    private var isClosed = false
    /// Whether epoll reports when the system can accept more.
    var awaitsRoom = false

    /// - Parameters:
    ///   - socket: owned by the new object.
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
        /// The system accepts no more until the client reads.
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

    /// - Returns: `nil` if the end of the stream has been sent.
    func next(isQuiet: Bool) -> HTTPStreamPart? {
        mustEnd && stream != nil ? .end : stream?.next(isQuiet: isQuiet)
    }

    func begin(_ part: [UInt8]) {
        rest = isChunked ? Array(String(part.count, radix: 16).utf8) + [13, 10] + part + [13, 10] : part
        offset = 0
    }

    /// Releases the stream; what marks its end is still to be sent.
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

    /// Moves the times that were noted into the past.
    func age(by milliseconds: Int) {
        since -= milliseconds
        due -= milliseconds
    }

    /// Closes the connection. The closure that wakes the stream may keep this object alive for longer.
    func end() {
        stream = nil
        close(socket)
        isClosed = true
    }

    /// Lets the client read to the end. Reads what the client has sent meanwhile: if it stayed unread, the system would
    /// reset the connection when it is closed.
    func finish() {
        shutdown(socket, CInt(SHUT_WR))
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT)) > 0 {}
        }
    }
}
