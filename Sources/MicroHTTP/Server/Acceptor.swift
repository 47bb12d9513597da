internal import Glibc
internal import Synchronization

/// Accepts connections, on a thread of its own, for libmicrohttpd to serve.
///
/// libmicrohttpd 0.9.75 can listen by itself. But where it is out of descriptors, its threads spin; when it is told to
/// listen no more, those who wait to be accepted are lost, and it panics if one of its threads takes note just then.
///
/// Unchecked for the thread's number, which is set in `init`, and read once after.
final class Acceptor: @unchecked Sendable {
    /// How long it waits where there is no room, in milliseconds.
    private static let pause: CInt = 10
    /// How long a client may take to answer the system's greeting once the door closes, in milliseconds.
    private static let lastCall = 200

    private let socket: ListeningSocket
    private let limit: Int
    private let core: Core
    private let daemon: Daemon
    /// Two sockets that are connected: the thread hears it when the other end is closed, and ends.
    private let bell: (ring: CInt, hear: CInt)
    private var thread = pthread_t()
    private let isPatient = Atomic(false)
    private let isClosed = Atomic(false)

    /// - Parameter limit: the connections that there may be at a time.
    init(_ socket: ListeningSocket, limit: Int, core: Core, daemon: Daemon) throws(HTTPServerError) {
        self.socket = socket
        self.limit = limit
        self.core = core
        self.daemon = daemon
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .cannotStart(errno) }
        bell = (ring: ends[1], hear: ends[0])
        let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<Acceptor>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }
        let this = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, run, this.toOpaque())
        guard code == 0 else {
            this.release()
            throw .cannotStart(code)
        }
    }

    /// Lets the last ones in, for as long as that takes, and closes the door. To be called once, before `end`.
    func beginEnd() {
        isPatient.store(true, ordering: .relaxed)
        close(bell.ring)
    }

    /// Whether the door is closed.
    var hasEnded: Bool { isClosed.load(ordering: .acquiring) }

    /// Closes the door at once, also where `beginEnd` still lets some in, and blocks until it is closed. To be called once.
    func end() {
        if !isPatient.exchange(false, ordering: .relaxed) { close(bell.ring) }
        pthread_join(thread, nil)
    }

    private func run() {
        var awaited = [bell.hear, socket.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while awaited[0].revents == 0 {
            let isEmpty = acceptWaiting()
            poll(&awaited, isEmpty ? 2 : 1, isEmpty ? -1 : Acceptor.pause)
        }
        socket.ignoreNewcomers()
        // Those who were on their way are let in, and, a little longer, those for whom there was no room.
        let start = Watchdog.now
        while true {
            let isEmpty = acceptWaiting()
            let patience = isPatient.load(ordering: .relaxed) ? (isEmpty ? 1 : 5) * Acceptor.lastCall : 0
            guard Watchdog.now - start < patience else { break }
            poll(nil, 0, Acceptor.pause)
        }
        close(socket.descriptor)
        close(bell.hear)
        isClosed.store(true, ordering: .releasing)
    }

    /// - Returns: whether nobody waits any more; `false` where there is no room: too many connections, or descriptors.
    private func acceptWaiting() -> Bool {
        let limit = min(limit, Acceptor.descriptorsLeft())
        for _ in 0..<ListeningSocket.backlog {
            guard core.openConnections.load(ordering: .relaxed) < limit else { return false }
            var address = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let connection = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    accept(socket.descriptor, $0, &size)
                }
            }
            guard connection >= 0 else {
                // The next one may be sound.
                if errno == ECONNABORTED || errno == EINTR { continue }
                return errno == EAGAIN
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            core.openConnections.add(1, ordering: .relaxed)
            if !daemon.add(connection, from: &address, size: size) {
                core.openConnections.subtract(1, ordering: .relaxed)
            }
        }
        return false
    }

    /// Descriptors that connections may take: all but a reserve for files and for the server itself. Without it libdispatch,
    /// which opens a file to look after its threads, ends the process. Asked each time, for the limit may be changed.
    private static func descriptorsLeft() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1000 }
        return max(16, Int(clamping: limit.rlim_cur) - 64)
    }
}
