internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// What libmicrohttpd's callbacks share: the handler, the counts, the suspended exchanges.
final class Core: Sendable {
    let settings: HTTPServer.Settings
    let handler: any HTTPHandler
    let receivingBudget: ReceivingBudget
    let sendingBudget: SendingBudget
    let streams: StreamLoop
    let watchdog: Watchdog
    let measures = ConnectionMeasures()
    let isDraining = Atomic(false)
    /// Connections that libmicrohttpd serves or is about to receive, counted from the moment that they are accepted.
    /// Those handed over to `streams` are not among them.
    let openConnections = Atomic(0)
    /// All open connections, those of streams included.
    var connections: Int { openConnections.load(ordering: .relaxed) + streams.count.load(ordering: .relaxed) }
    let requestsUnderWay = Atomic(0)
    /// The exchanges whose connections are suspended, or are just being suspended or resumed. Stopping libmicrohttpd
    /// with a suspended connection aborts the process, so the server first closes this registry and waits until it is
    /// empty. Each exchange has a count, because it may be suspended again before `unregister` records that it was
    /// resumed.
    private let suspended = Mutex<(isClosed: Bool, exchanges: [ObjectIdentifier: (exchange: Exchange, count: Int)])>(
        (false, [:]))

    /// How long `stop` waits until the suspended exchanges are resumed, in milliseconds.
    private static let resumingTime = 10_000

    /// Starts the thread of `streams`.
    init(_ settings: HTTPServer.Settings, handler: any HTTPHandler) throws(HTTPServerError) {
        self.settings = settings
        self.handler = handler
        receivingBudget = ReceivingBudget(limit: settings.receivingLimit, bodyLimit: settings.bodyLimit)
        sendingBudget = SendingBudget(limit: settings.sendingLimit, measures)
        streams = try StreamLoop(settings, sendingBudget, measures)
        watchdog = Watchdog(settings.limits, measures)
    }

    /// Call before the connection is suspended.
    ///
    /// - Returns: `false` if the server is stopping: then the exchange must not be suspended.
    func register(_ exchange: Exchange) -> Bool {
        suspended.withLock { suspended in
            guard !suspended.isClosed else { return false }
            suspended.exchanges[ObjectIdentifier(exchange), default: (exchange, 0)].count += 1
            return true
        }
    }

    /// Call when the connection has been resumed.
    func unregister(_ exchange: Exchange) {
        suspended.withLock { suspended in
            let id = ObjectIdentifier(exchange)
            suspended.exchanges[id]?.count -= 1
            if suspended.exchanges[id]?.count == 0 { suspended.exchanges[id] = nil }
        }
    }

    /// Stops libmicrohttpd and the streams. Call after `abandonSuspended`; blocks until the suspended exchanges are
    /// resumed and the threads have ended. If an exchange unexpectedly stays suspended, libmicrohttpd keeps running,
    /// because stopping it would abort the process.
    func stop(_ daemon: Daemon) {
        let deadline = Watchdog.now + Core.resumingTime
        while suspended.withLock({ !$0.exchanges.isEmpty }) {
            guard Watchdog.now < deadline else {
                // The library's threads still use this object.
                _ = Unmanaged.passRetained(self)
                return
            }
            usleep(1000)
        }
        daemon.stop()
        streams.stop()
    }

    /// Answers 503 to every suspended exchange. From now on no exchange can be suspended.
    func abandonSuspended() {
        let exchanges = suspended.withLock { suspended in
            suspended.isClosed = true
            return suspended.exchanges
        }
        for (exchange, _) in exchanges.values { exchange.abandon() }
    }

    /// `slot` holds the watched connection, retained from its start to its end.
    static let connectionChanged: MHD_NotifyConnectionCallback = { context, connection, slot, change in
        guard let context, let connection, let slot else { return }
        let core = Unmanaged<Core>.fromOpaque(context).takeUnretainedValue()
        if change == .CONNECTION_NOTIFY_STARTED {
            let watched = WatchedConnection(
                socket: CMicroHTTPD_socket(connection), peer: IPAddress(clientOf: connection))
            core.watchdog.add(watched)
            slot.pointee = Unmanaged.passRetained(watched).toOpaque()
        } else if let pointer = slot.pointee {
            core.openConnections.subtract(1, ordering: .relaxed)
            let watched = Unmanaged<WatchedConnection>.fromOpaque(pointer).takeRetainedValue()
            core.watchdog.remove(watched)
            watched.markClosed()
            slot.pointee = nil
        }
    }
}

/// Runs blocking work on a thread of its own: it must not block the few threads that Swift's tasks run on.
enum BlockingWork {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread, which the caller must join.
    static func thread(_ body: @escaping @Sendable () -> Void) throws(HTTPServerError) -> pthread_t {
        // The thread owns the work from its start on.
        let work = Unmanaged.passRetained(Work(body))
        let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { work in
            if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
            return nil
        }
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, run, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw .cannotStart(code)
        }
        return thread
    }

    /// Returns when the work is done.
    static func run(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            start {
                body()
                continuation.resume()
            }
        }
    }

    /// Starts the work, and does not wait for its end.
    static func start(_ body: @escaping @Sendable () -> Void) {
        // If no thread can be made, the work runs here rather than not at all.
        guard let thread = try? thread(body) else { return body() }
        pthread_detach(thread)
    }
}
