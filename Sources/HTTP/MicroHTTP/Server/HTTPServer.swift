internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// A running server: it listens from `init` until `stop` or `deinit`.
public final class HTTPServer: Sendable {
    public struct Settings: Sendable {
        public var host = "127.0.0.1"
        /// 0 for any free one.
        public var port = 8080
        /// Threads that read, write and run handlers. A suspended handler does not occupy its thread.
        public var threads = max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
        /// Connections at a time; further ones wait in the system's queue. Lowered to fit the process's limit of
        /// descriptors.
        public var connectionLimit = 10_000
        /// Connections at a time from one address; 0 for any number. Further ones are closed at once.
        public var addressLimit = 0
        /// Seconds of silence after which a connection is closed.
        public var idleTimeout = 60
        public var limits = Limits()
        /// Bytes of a request's head; each field, query parameter and cookie counts for 64 more. Every connection keeps
        /// this memory, and it is cleared for every request: 32 KiB would cost more than everything else.
        public var headLimit = 8 * 1024
        /// Bytes of a request's body.
        public var bodyLimit = 64 * 1024
        /// Total bytes of the bodies over 4 KiB that are under way, counted as they arrive. Beyond it, requests are
        /// refused: those without a right (`HTTPHandler.hasRight`) beyond half of it, those of one address beyond a
        /// quarter.
        public var receivingLimit = 32 * 1024 * 1024
        /// Proxies that are trusted to send their clients' addresses in `X-Forwarded-For`.
        public var proxies: [IPNetwork] = []
        /// Total bytes of the answers over 16 KiB that are being sent. Beyond it, those that have been under way
        /// longest are cut off.
        public var sendingLimit = 32 * 1024 * 1024
        /// Path segments that a proxy may leave in front of a request's path: the handler sees the path without them.
        public var basePath: [String] = []

        public init() {}

        /// Milliseconds that each part of a request may take, however steadily its bytes flow.
        public struct Limits: Sendable {
            public var head = 10_000
            public var body = 15_000
            /// The whole answer; of a stream, the time without progress while a part is being sent.
            public var sending = 60_000
            /// How long a stream may send nothing before it is asked for a sign of life, varied at random by up to a
            /// fifth.
            public var quiet = 15_000

            public init() {}

            var shortest: Int { min(head, body, sending, quiet) }
        }
    }

    /// The port it listens on.
    public let port: Int
    private let core: Core
    /// Owned: started in `init`, stopped once, by whichever function takes them out of the mutex.
    private let running: Mutex<(acceptor: Acceptor, daemon: Daemon)?>
    private let watching: Task<Void, Never>

    public init(_ settings: Settings, handler: any HTTPHandler) throws(HTTPServerError) {
        _ = HTTPServer.panicHandler
        guard HTTPLibrary.isKnown else { throw .cannotStart(reason: "libmicrohttpd is older than 0.9.75") }
        try Acceptor.checkDescriptors()
        let socket = try ListeningSocket(host: settings.host, port: settings.port)
        port = socket.port
        var started: (core: Core?, daemon: Daemon?)
        do throws(HTTPServerError) {
            let core = try Core(settings, handler: handler)
            started.core = core
            let daemon = try HTTPServer.start(core)
            started.daemon = daemon
            running = Mutex((try Acceptor(socket, core: core, daemon: daemon), daemon))
            self.core = core
        } catch {
            started.daemon?.stop()
            started.core?.streams.stop()
            close(socket.descriptor)
            throw error
        }
        watching = Task { [watchdog = core.watchdog] in await watchdog.watch() }
    }

    deinit {
        watching.cancel()
        guard let (acceptor, daemon) = running.withLock({ $0.take() }) else { return }
        BlockingWork.start { [core] in
            acceptor.end()
            core.abandonSuspended()
            core.stop(daemon)
        }
    }

    /// The version of libmicrohttpd that has been loaded.
    public static var libraryVersion: String { HTTPLibrary.version.map(String.init).joined(separator: ".") }

    /// What has happened to its connections.
    public var measures: ConnectionMeasures { core.measures }

    /// Accepted connections that are not closed yet.
    public var openConnections: Int { core.connections }

    /// Open connections whose answer is a stream.
    public var openStreams: Int { core.streams.count.load(ordering: .relaxed) }

    /// Requests that have begun to arrive and are not answered yet.
    public var requestsUnderWay: Int { core.requestsUnderWay.load(ordering: .relaxed) }

    /// Bytes of bodies under way, as `Settings.receivingLimit` counts them.
    public var receivingBytes: Int { core.receivingBudget.size }

    /// Stops: closes each connection after its next answer, accepts no new one, ends streams one after the other in the
    /// first half of `limit`, waits for the requests under way, answers 503 to those that are not done within `limit`,
    /// and closes the remaining connections.
    ///
    /// If the task is cancelled, all of this happens at once.
    ///
    /// - Parameters:
    ///   - delay: how long new connections are still accepted.
    ///   - limit: how long requests under way may take after that.
    ///   - idleGrace: how long a connection without a request is left open, because a request may be on its way.
    ///   - now: a clock that a test moves.
    public func stop(
        after delay: Duration = .zero, within limit: Duration = .seconds(8), idleGrace: Duration = .milliseconds(500),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) async {
        guard let (acceptor, daemon) = running.withLock({ $0.take() }) else { return }
        core.isDraining.store(true, ordering: .relaxed)
        try? await Task.sleep(for: delay)
        acceptor.beginEnd()
        await wait(until: now() + .seconds(2), now) { acceptor.hasEnded }
        await BlockingWork.run { acceptor.end() }
        let start = now()
        let streams = Double(core.streams.count.load(ordering: .relaxed))
        await wait(until: start + limit, now) { [core] in
            let passed = now() - start
            if passed > idleGrace { core.watchdog.closeIdleForReading() }
            let rest = limit > .zero ? max(0, 1 - 2 * (passed / limit)) : 0
            if streams > 0 { core.streams.end(allBut: Int(streams * rest)) }
            return core.connections == 0
        }
        core.abandonSuspended()
        await wait(until: now() + .seconds(1), now) { [core] in core.requestsUnderWay.load(ordering: .relaxed) == 0 }
        await BlockingWork.run { [core] in
            core.stop(daemon)
        }
    }

    private func wait(
        until deadline: ContinuousClock.Instant, _ now: @escaping @Sendable () -> ContinuousClock.Instant,
        for condition: () -> Bool
    ) async {
        while !condition(), now() < deadline {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// For tests: enforces `Settings.limits` as if so much time had passed.
    package func elapse(_ time: Duration) async {
        let milliseconds = Int(time / .milliseconds(1))
        core.watchdog.elapse(milliseconds: milliseconds)
        if openStreams > 0 { await core.streams.elapse(milliseconds: milliseconds) }
    }

    private static func start(_ core: Core) throws(HTTPServerError) -> Daemon {
        let settings = core.settings
        let flags =
            MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
            | MHD_USE_NO_LISTEN_SOCKET.rawValue
        func number(_ option: MHD_OPTION, _ value: Int) -> MHD_OptionItem {
            MHD_OptionItem(option: option, value: value, ptr_value: nil)
        }
        var options = [
            // The acceptor limits connections: libmicrohttpd would give each thread an equal share of the limit,
            // however unevenly the threads fill.
            number(.CONNECTION_LIMIT, Int(CInt.max)),
            number(.PER_IP_CONNECTION_LIMIT, Int(UInt32(clamping: settings.addressLimit))),
            number(.CONNECTION_TIMEOUT, settings.idleTimeout),
            number(.CONNECTION_MEMORY_LIMIT, settings.headLimit + roomForAnswer),
            // At 1, version 0.9 lets `Content-Length : 31` through.
            number(.STRICT_FOR_CLIENT, HTTPLibrary.isStrict ? 1 : -1),
        ]
        // A pool of one thread is refused; without a pool there is one thread.
        if settings.threads > 1 { options.append(number(.THREAD_POOL_SIZE, settings.threads)) }
        options.append(number(.END, 0))
        // The daemon's callbacks borrow the core, which outlives the daemon: `HTTPServer` owns both, and stops the
        // daemon first.
        let pointer = CMicroHTTPD_start(
            flags, Exchange.handle, Exchange.begin, Exchange.end, Core.connectionChanged,
            Unmanaged.passUnretained(core).toOpaque(), &options)
        guard let pointer else { throw .cannotStart(errno) }
        return Daemon(pointer: pointer)
    }

    /// Bytes of a connection's memory for the head of an answer. Without them libmicrohttpd closes the connection
    /// without an answer.
    private static let roomForAnswer = 2048

    /// libmicrohttpd panics when it finds its own state broken; the process cannot go on.
    private static let panicHandler: Void = MHD_set_panic_func(
        { _, file, line, reason in
            let file = file.map { String(cString: $0) } ?? "?"
            let reason = reason.map { String(cString: $0) } ?? "no reason given"
            let message = "libmicrohttpd panic at \(file):\(line): \(reason)\n"
            // A stalled reader must not delay the exit; a pipe that is ready accepts a line without blocking.
            var errors = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
            if poll(&errors, 1, 500) > 0 { write(STDERR_FILENO, message, message.utf8.count) }
            _exit(EX_OSERR)
        }, nil)
}

/// libmicrohttpd's daemon. It has one owner at a time. Sendable, because libmicrohttpd's functions on a daemon may be
/// called from any thread.
struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Passes a connection to libmicrohttpd to serve. It is closed if there is no memory for it, or too many
    /// connections come from its address.
    ///
    /// - Returns: whether it is served; then `Core.connectionChanged` is called when it ends.
    func add(_ connection: CInt, from address: inout sockaddr_storage, size: socklen_t) -> Bool {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                MHD_add_connection(pointer, connection, $0, size) == .YES
            }
        }
    }

    /// Closes every connection and joins the threads, which blocks. No connection may be suspended.
    func stop() {
        MHD_stop_daemon(pointer)
    }
}
