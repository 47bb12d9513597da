internal import CEpoll
internal import Glibc
internal import Synchronization

/// Sends all streams, on one thread of its own. A stream that has nothing to send costs its memory alone.
///
/// Unchecked because of `thread`, which is set in `init` and read once after that, and of what only that thread touches.
final class StreamLoop: @unchecked Sendable {
    private struct Inbox {
        var added: [OpenStream] = []
        var woken: [OpenStream] = []
        /// How many streams may stay open; `nil` for all.
        var allowed: Int?
        var isStopped = false
        var isSignalled = false
    }

    private let limits: HTTPServer.Settings.Limits
    private let addressLimit: Int
    private let sendingBudget: SendingBudget
    private let measures: ConnectionMeasures
    /// Streams whose connections are not closed yet.
    let count = Atomic(0)
    private let inbox = Mutex(Inbox())
    private let poll: CInt
    /// An eventfd: makes the thread look into its inbox.
    private let signal: CInt
    private var thread = pthread_t()
    // Of the thread.
    private var streams: [CInt: OpenStream] = [:]
    private var ofAddress: [IPAddress: Int] = [:]
    /// Of one stream, before others get their turn.
    private static let partsInTurn = 16

    /// - Parameter addressLimit: streams at a time of one address; 0 for any number.
    init(
        _ limits: HTTPServer.Settings.Limits, addressLimit: Int, _ sendingBudget: SendingBudget,
        _ measures: ConnectionMeasures
    ) throws(HTTPServerError) {
        self.limits = limits
        self.addressLimit = addressLimit
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
        tell { $0.added.append(stream) }
    }

    /// Asks the stream for its next part.
    private func wake(_ stream: OpenStream) {
        if !stream.isWoken.exchange(true, ordering: .acquiringAndReleasing) { tell { $0.woken.append(stream) } }
    }

    /// Ends all streams but so many, also of those to come.
    func end(allBut count: Int) {
        tell { $0.allowed = count }
    }

    /// Ends everything at once, and blocks until that is done. Call once.
    func stop() {
        tell { $0.isStopped = true }
        pthread_join(thread, nil)
    }

    private func tell(_ change: (inout sending Inbox) -> Void) {
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
        // An event is answered before its many watchers are told.
        CEpoll_letOthersFirst()
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        let interval = max(20, min(1000, limits.shortest / 10))
        var nextLook = Watchdog.now + interval
        while true {
            let count = epoll_wait(poll, &events, CInt(events.count), CInt(max(0, nextLook - Watchdog.now)))
            for event in events.prefix(Int(max(0, count))) where event.data.fd != signal {
                guard let stream = streams[event.data.fd] else { continue }
                if event.events & CEpoll_hungUp != 0 { remove(stream) } else { pump(stream) }
            }
            guard readInbox() else { break }
            if Watchdog.now >= nextLook {
                look()
                nextLook = Watchdog.now + interval
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
        guard addressLimit == 0 || ofAddress[stream.peer, default: 0] < addressLimit,
            CEpoll_await(poll, stream.socket, CEpoll_hungUp, 0) == 0
        else {
            return close(stream)
        }
        streams[stream.socket] = stream
        ofAddress[stream.peer, default: 0] += 1
        stream.begin { self.wake(stream) }
        pump(stream)
    }

    private func remove(_ stream: OpenStream) {
        guard streams.removeValue(forKey: stream.socket) != nil else { return }
        _ = CEpoll_forget(poll, stream.socket)
        ofAddress[stream.peer]! -= 1
        if ofAddress[stream.peer] == 0 { ofAddress[stream.peer] = nil }
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

    /// Sends as much as the system takes.
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
                // Not all streams that became quiet together are asked together.
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

    /// Ends the answer. Another server may continue for its client.
    private func end(_ stream: OpenStream) {
        stream.mustEnd = true
        if stream.isWaiting { pump(stream) }
    }

    /// Cuts the streams that nobody reads, and asks those for a sign of life that have been waiting for long.
    private func look() {
        let now = Watchdog.now
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
