// Both modules, for the reason in ListeningSocket.swift.
internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// Accepts connections on a thread of its own, and hands them to libmicrohttpd to serve.
///
/// libmicrohttpd 0.9.75 can listen by itself. But its threads spin when it runs out of descriptors; and when it stops
/// listening, it loses the connections that wait to be accepted, and panics if one of its threads notices at that
/// moment.
///
/// Unchecked because of `thread`, which is set in `init`, and read once after that.
final class Acceptor: @unchecked Sendable {
    /// How long the thread waits when there is no room for a connection, in milliseconds.
    private static let pause: CInt = 10
    /// How long TCP handshakes that are under way may take once new ones are dropped, in milliseconds.
    private static let handshakeGrace = 200

    private let socket: ListeningSocket
    private let core: Core
    private let daemon: Daemon
    /// Two connected sockets: the thread polls `receiver`, and ends when `sender` is closed.
    private let stopSignal: (sender: CInt, receiver: CInt)
    private var thread = pthread_t()
    private let isGraceful = Atomic(false)
    private let isClosed = Atomic(false)

    init(_ socket: ListeningSocket, core: Core, daemon: Daemon) throws(HTTPServerError) {
        self.socket = socket
        self.core = core
        self.daemon = daemon
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .cannotStart(errno) }
        stopSignal = (sender: ends[1], receiver: ends[0])
        thread = try BlockingWork.thread { self.run() }
    }

    /// Starts to end: the thread accepts the connections that still wait, for a second at most, and closes the
    /// listening socket. Call at most once, before `end`.
    func beginEnd() {
        isGraceful.store(true, ordering: .relaxed)
        close(stopSignal.sender)
    }

    /// Whether the listening socket is closed.
    var hasEnded: Bool { isClosed.load(ordering: .acquiring) }

    /// Closes the listening socket at once, even if connections that wait are still being accepted after `beginEnd`,
    /// and blocks until it is closed. Call once.
    func end() {
        if !isGraceful.exchange(false, ordering: .relaxed) { close(stopSignal.sender) }
        pthread_join(thread, nil)
    }

    private func run() {
        var awaited = [stopSignal.receiver, socket.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while awaited[0].revents == 0 {
            let isEmpty = acceptWaiting()
            poll(&awaited, isEmpty ? 2 : 1, isEmpty ? -1 : Acceptor.pause)
        }
        socket.dropConnectionAttempts()
        // Accepts the connections whose handshake is under way, and waits longer if there is no room for them.
        let start = Watchdog.now
        while true {
            let isEmpty = acceptWaiting()
            let grace = isGraceful.load(ordering: .relaxed) ? (isEmpty ? 1 : 5) * Acceptor.handshakeGrace : 0
            guard Watchdog.now - start < grace else { break }
            poll(nil, 0, Acceptor.pause)
        }
        close(socket.descriptor)
        close(stopSignal.receiver)
        isClosed.store(true, ordering: .releasing)
    }

    /// Accepts connections until none waits or there is no room for more.
    ///
    /// - Returns: whether no connection waits; `false` if there are too many connections or too few descriptors.
    private func acceptWaiting() -> Bool {
        let limit = min(core.settings.connectionLimit, Acceptor.usableDescriptors())
        for _ in 0..<ListeningSocket.backlog {
            guard core.connections < limit else { return false }
            var address = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let connection = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    accept(socket.descriptor, $0, &size)
                }
            }
            guard connection >= 0 else {
                // The next connection may be sound.
                if errno == ECONNABORTED || errno == EINTR { continue }
                return errno == EAGAIN
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            core.openConnections.add(1, ordering: .relaxed)
            core.measures.count(.accepted)
            if !daemon.add(connection, from: &address, size: size) {
                core.measures.count(.refused)
                core.openConnections.subtract(1, ordering: .relaxed)
            }
        }
        return false
    }

    /// How many descriptors connections may use: all but a reserve for files and for the server itself. Without the
    /// reserve, libdispatch would end the process when it cannot open the file that monitors its threads. Read each
    /// time, because the limit may change.
    private static func usableDescriptors() -> Int {
        max(leastConnections, descriptorLimit - reserve)
    }

    private static let (reserve, leastConnections) = (64, 16)

    private static var descriptorLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1000 }
        return Int(clamping: limit.rlim_cur)
    }

    /// - Throws: an error if the process may not open enough files for the reserve and a few connections.
    static func checkDescriptors() throws(HTTPServerError) {
        let (limit, least) = (descriptorLimit, reserve + leastConnections)
        guard limit >= least else {
            throw .cannotStart(reason: "the process may open \(limit) files (ulimit -n), and needs \(least) at least")
        }
    }
}
