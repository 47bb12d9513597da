import Glibc
import Synchronization
import TestSupport

/// Connections that only burden the server.
final class Flood: Sendable {
    /// What each connection sends of a request.
    private static let beginnings = [
        "", "GE", "GET /livez HTTP/1.1\r\nHost: ", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{",
    ]

    private let port: Int
    private let held = Mutex<[Int32]>([])
    private let hasEnded = Atomic(false)

    init(port: Int) {
        self.port = port
    }

    deinit { end() }

    /// Opens connections, and holds them until `end`. Does not wait until they are established.
    func hold(_ count: Int) {
        let sockets = (0..<count).compactMap { _ in BlockingClient.connect(to: port, waits: false) }
        held.withLock { $0 += sockets }
    }

    /// Opens connections and closes them some time later, until `end`.
    ///
    /// - Parameter pause: after each connection, in microseconds
    func comeAndGo(threads: Int, pause: UInt32 = 0) async {
        await withTaskGroup { group in
            for _ in 0..<threads { group.addTask { try? await blocking { self.comeAndGo(pause: pause) } } }
        }
    }

    private func comeAndGo(pause: UInt32) {
        var sockets: [Int32] = []
        while !hasEnded.load(ordering: .relaxed) {
            if let socket = BlockingClient.connect(to: port, waits: false) {
                let bytes = Array((Flood.beginnings.randomElement() ?? "").utf8)
                // If the connection is not established yet, this fails, and the connection stays silent.
                _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                sockets.append(socket)
            }
            if sockets.count > 100 { close(sockets.remove(at: .random(in: sockets.indices))) }
            if pause > 0 { usleep(pause) }
        }
        for socket in sockets { close(socket) }
    }

    func end() {
        hasEnded.store(true, ordering: .relaxed)
        held.withLock { sockets in
            for socket in sockets { close(socket) }
            sockets = []
        }
    }
}
