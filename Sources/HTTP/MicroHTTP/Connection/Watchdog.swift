internal import CMicroHTTPD
internal import Glibc
internal import Measures
internal import Synchronization

/// How far a connection is with its request. libmicrohttpd's callbacks record it on the connection's thread; the
/// watchdog reads it.
package final class WatchedConnection: Sendable {
    enum Phase: Int {
        /// No request, or one whose request line has not arrived yet.
        case idle
        case head
        case body
        /// The handler runs, and has its own deadline.
        case handling
        case sending
    }

    let socket: CInt
    let peer: IPAddress
    /// When the phase began, in milliseconds, and the phase: one word, so that both change together.
    private let word: Atomic<Int>
    /// How many requests have ended.
    private let count = Atomic(0)
    /// Whether the socket is closed or about to be. Another connection may then get its descriptor.
    private let isClosed = Mutex(false)
    /// Whether the watchdog has cut it.
    let isCut = Atomic(false)

    init(socket: CInt, peer: IPAddress) {
        self.socket = socket
        self.peer = peer
        word = Atomic(WatchedConnection.word(.idle, Watchdog.now))
    }

    var current: (phase: Phase, since: Int) {
        let word = word.load(ordering: .relaxed)
        return (Phase(rawValue: word & 7) ?? .idle, word >> 3)
    }

    /// Call before the socket is closed.
    func markClosed() { isClosed.withLock { $0 = true } }

    var requests: Int { count.load(ordering: .acquiring) }

    /// Call when the request has ended.
    func enterIdle() {
        enter(.idle)
        count.add(1, ordering: .releasing)
    }

    func enter(_ phase: Phase) {
        word.store(WatchedConnection.word(phase, Watchdog.now), ordering: .relaxed)
    }

    /// Call when the head has begun to arrive. Has no effect unless the connection is idle.
    func enterHead(since time: Int) {
        let (phase, since) = current
        guard phase == .idle else { return }
        _ = word.compareExchange(
            expected: WatchedConnection.word(.idle, since), desired: WatchedConnection.word(.head, time),
            ordering: .relaxed)
    }

    private static func word(_ phase: Phase, _ time: Int) -> Int { time << 3 | phase.rawValue }

    /// Moves the beginning of the phase into the past.
    fileprivate func age(by milliseconds: Int) { word.subtract(milliseconds << 3, ordering: .relaxed) }
}

/// Cuts connections whose requests take too long to arrive, or whose answers take too long to send. libmicrohttpd's own
/// timeout restarts with every byte, so a client that sends one byte a second could hold a connection for ever.
final class Watchdog: Sendable {
    fileprivate struct Watched {
        let connection: WatchedConnection
        /// How many requests had ended when the connection was last seen idle.
        var requests = 0
        /// How many bytes it had received when it was first seen idle after these requests.
        var bytes: UInt64 = 0
    }

    private let limits: HTTPServer.Settings.Limits
    private let measures: ConnectionMeasures
    private let watched = Mutex<[ObjectIdentifier: Watched]>([:])

    init(_ limits: HTTPServer.Settings.Limits, _ measures: ConnectionMeasures) {
        self.limits = limits
        self.measures = measures
    }

    /// Milliseconds on a monotonic clock.
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    func add(_ connection: WatchedConnection) {
        watched.withLock { $0[ObjectIdentifier(connection)] = Watched(connection: connection) }
    }

    /// Call before the socket is closed: another connection may then get its descriptor.
    func remove(_ connection: WatchedConnection) {
        watched.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Checks all connections at intervals, until its task is cancelled.
    func watch() async {
        // Short limits are for tests.
        let interval = max(20, min(500, limits.shortest / 10))
        while !Task.isCancelled {
            guard (try? await Task.sleep(for: .milliseconds(interval))) != nil else { return }
            // Cuts up to one interval early rather than late.
            scan(until: Watchdog.now + interval, previous: Watchdog.now - interval)
        }
    }

    /// For tests: checks all connections as if so much time had passed. Moves the times that were noted into the past, so
    /// that no request pays for a clock that can be moved.
    func elapse(milliseconds: Int) {
        let now = Watchdog.now
        // Notices which heads have begun to arrive.
        scan(until: now, previous: now)
        for connection in watched.withLock({ $0.values.map(\.connection) }) { connection.age(by: milliseconds) }
        scan(until: now, previous: now)
    }

    /// Ends connections that have no request. A request that has arrived but is not read yet is still answered.
    func closeIdleForReading() {
        watched.withLock { watched in
            for connection in watched.values.map(\.connection) where connection.current.phase == .idle {
                connection.closeForReading()
            }
        }
    }

    /// Locks per connection, so that a scan never delays opening or closing one.
    private func scan(until deadline: Int, previous: Int) {
        for key in watched.withLock({ Array($0.keys) }) {
            watched.withLock { watched in
                guard let connection = watched[key]?.connection else { return }
                let (phase, since) = connection.current
                switch phase {
                case .idle: watched[key]?.checkIdle(previous: previous)
                case .head, .body:
                    connection.followPeer()
                    if deadline - since > (phase == .head ? limits.head : limits.body) {
                        cut(connection, phase == .head ? .slowHead : .slowBody)
                    }
                case .sending: if deadline - since > limits.sending { cut(connection, .slowReader) }
                case .handling: break
                }
            }
        }
    }
}

extension Watchdog {
    /// Cuts a connection, and counts it once: until it is closed, each scan finds it again.
    private func cut(_ connection: WatchedConnection, _ reason: ConnectionMeasures.Happening) {
        if !connection.isCut.exchange(true, ordering: .relaxed) { measures.count(reason) }
        connection.cut()
    }
}

extension Watchdog.Watched {
    /// Notices the beginning of a request by the bytes received: libmicrohttpd reports a request only when its request
    /// line has arrived.
    fileprivate mutating func checkIdle(previous: Int) {
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

extension Cuttable {
    /// Shuts the socket down, so that whoever reads from it closes the connection. Call before the socket is closed.
    func cut() { shutdown(socket, CInt(SHUT_RDWR)) }
}

extension WatchedConnection: Cuttable {
    /// Whether the client has closed its side, or the connection is broken. Asks the system, because libmicrohttpd does
    /// not watch a suspended connection.
    var hasHungUp: Bool {
        isClosed.withLock { isClosed in
            isClosed || info { [TCP_CLOSE_WAIT, TCP_CLOSE].contains(Int($0[0])) } ?? true
        }
    }

    /// Shuts the socket down for reading: libmicrohttpd reads what has arrived, then the end.
    fileprivate func closeForReading() {
        shutdown(socket, CInt(SHUT_RD))
    }

    /// If the client has closed its side, makes libmicrohttpd notice: its edge-triggered wait misses an end that
    /// arrives together with data.
    ///
    /// - Returns: the bytes received; `nil` if this is not a TCP connection. Source: tcpi_state and tcpi_bytes_received
    ///   of TCP_INFO; glibc's header does not have the latter yet.
    @discardableResult
    fileprivate func followPeer() -> UInt64? {
        info { info in
            if CInt(info[0]) == CInt(TCP_CLOSE_WAIT) { closeForReading() }
            return info.load(fromByteOffset: 128, as: UInt64.self)
        }
    }

    /// - Parameter read: receives TCP_INFO, at least 136 bytes of it.
    private func info<Value>(_ read: (UnsafeMutableRawBufferPointer) -> Value) -> Value? {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
            var size = socklen_t(info.count)
            guard getsockopt(socket, CInt(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0, size >= 136 else {
                return nil
            }
            return read(info)
        }
    }
}

/// Counts what happened to connections.
public final class ConnectionMeasures: Sendable {
    public enum Happening: Int, CaseIterable, Sendable {
        case accepted
        /// Closed at once: too many from its address, or no memory for it.
        case refused
        /// Cut: its request's head took too long to arrive.
        case slowHead
        /// Cut: its request's body took too long to arrive.
        case slowBody
        /// Cut: its answer, or a part of its stream, was read too slowly.
        case slowReader
        /// Cut: its answer had been under way longest when the answers under way took too much memory.
        case largeAnswer
    }

    private let counts = Counts(Happening.allCases.count)

    func count(_ happening: Happening) { counts.add(at: happening.rawValue) }

    public subscript(happening: Happening) -> Int { counts[happening.rawValue] }
}
