internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// How far a connection is with its request. Told by libmicrohttpd's callbacks, on the connection's thread; looked at by
/// the watchdog.
final class WatchedConnection: Sendable {
    enum Phase: Int {
        /// No request, or one of which the first line has not come yet.
        case idle
        case head
        case body
        /// The handler runs, and has its own deadline.
        case handling
        case sending
    }

    let socket: CInt
    let peer: IPAddress
    /// When the phase began, in milliseconds, and the phase: one word, so that both change at once.
    private let word: Atomic<Int>
    /// Requests that have ended.
    private let count = Atomic(0)

    init(socket: CInt, peer: IPAddress) {
        self.socket = socket
        self.peer = peer
        word = Atomic(WatchedConnection.word(.idle, Watchdog.now))
    }

    var current: (phase: Phase, since: Int) {
        let word = word.load(ordering: .relaxed)
        return (Phase(rawValue: word & 7) ?? .idle, word >> 3)
    }

    var requests: Int { count.load(ordering: .acquiring) }

    /// The request has ended.
    func enterIdle() {
        enter(.idle)
        count.add(1, ordering: .releasing)
    }

    func enter(_ phase: Phase) {
        word.store(WatchedConnection.word(phase, Watchdog.now), ordering: .relaxed)
    }

    /// The head has begun to come, unless it was there already.
    func enterHead(since time: Int) {
        let (phase, since) = current
        guard phase == .idle else { return }
        _ = word.compareExchange(
            expected: WatchedConnection.word(.idle, since), desired: WatchedConnection.word(.head, time),
            ordering: .relaxed)
    }

    private static func word(_ phase: Phase, _ time: Int) -> Int { time << 3 | phase.rawValue }
}

/// Ends what takes too long to come or to go. libmicrohttpd's own timeout starts anew with every byte, so that a byte a
/// second would hold a connection for ever.
final class Watchdog: Sendable {
    fileprivate struct Watched {
        let connection: WatchedConnection
        /// That had ended when it was last seen idle.
        var requests = 0
        /// That it had received when it was first seen idle after these.
        var bytes: UInt64 = 0
    }

    private let limits: HTTPServer.Settings.Limits
    private let watched = Mutex<[ObjectIdentifier: Watched]>([:])

    init(_ limits: HTTPServer.Settings.Limits) {
        self.limits = limits
    }

    /// Milliseconds on a clock that only goes forward.
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    func add(_ connection: WatchedConnection) {
        watched.withLock { $0[ObjectIdentifier(connection)] = Watched(connection: connection) }
    }

    /// To be called before the socket is closed: its number may be another one's soon.
    func remove(_ connection: WatchedConnection) {
        watched.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Looks at all connections every now and then, until it is cancelled.
    func watch() async {
        // Short limits are for tests.
        let interval = max(20, min(500, limits.shortest / 10))
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: .milliseconds(interval))) != nil else { return }
            // Rather one look too early than one too late.
            look(until: Watchdog.now + interval, previous: Watchdog.now - interval)
        }
    }

    /// Takes no further request from connections that have none. One that has come already, unread, is still answered.
    func hangUpOnIdle() {
        watched.withLock { watched in
            for connection in watched.values.map(\.connection) where connection.current.phase == .idle {
                connection.closeForReading()
            }
        }
    }

    /// One connection after the other, for who opens or closes one waits for the lock.
    private func look(until deadline: Int, previous: Int) {
        for key in watched.withLock({ Array($0.keys) }) {
            watched.withLock { watched in
                guard let connection = watched[key]?.connection else { return }
                let (phase, since) = connection.current
                switch phase {
                case .idle: watched[key]?.lookAtIdle(previous: previous)
                case .head, .body:
                    connection.followPeer()
                    if deadline - since > (phase == .head ? limits.head : limits.body) { connection.cut() }
                case .sending: if deadline - since > limits.sending { connection.cut() }
                case .handling: break
                }
            }
        }
    }
}

extension Watchdog.Watched {
    /// libmicrohttpd tells nothing of a request before its first line is there; the system knows what has come.
    fileprivate mutating func lookAtIdle(previous: Int) {
        let ended = connection.requests
        guard let received = connection.followPeer(), connection.requests == ended else { return }
        if ended != requests {
            requests = ended
            bytes = received
        } else if received != bytes {
            connection.enterHead(since: previous)
        }
    }
}

extension WatchedConnection {
    /// libmicrohttpd sees the end of the connection, and closes it. To be called before the socket is closed.
    func cut() {
        shutdown(socket, CInt(SHUT_RDWR))
    }

    /// libmicrohttpd reads what is there, then the end.
    fileprivate func closeForReading() {
        shutdown(socket, CInt(SHUT_RD))
    }

    /// Where the client sends no more, sees to it that libmicrohttpd knows: it waits for a change, and misses an end that
    /// comes together with data.
    ///
    /// - Returns: the bytes that have come; `nil` for what is no TCP connection. (tcpi_state and tcpi_bytes_received of
    ///   TCP_INFO; glibc's header does not have the latter yet.)
    @discardableResult
    fileprivate func followPeer() -> UInt64? {
        let offset = 128
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
            var size = socklen_t(info.count)
            guard getsockopt(socket, CInt(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0,
                Int(size) >= offset + MemoryLayout<UInt64>.size
            else { return nil }
            if CInt(info[0]) == CInt(TCP_CLOSE_WAIT) { closeForReading() }
            return info.load(fromByteOffset: offset, as: UInt64.self)
        }
    }
}
