import Foundation
import Glibc

/// The answer to a request.
struct Reply: Equatable {
    let status: Int
    let isReplay: Bool
    /// Whether the server closes the connection after it.
    let isLast: Bool
    /// The entity tag.
    let tag: String?
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The session's version in a state.
    var version: Int? {
        text.firstMatch(of: /"version":(\d+)/).flatMap { Int($0.output.1) }
    }

    func member(_ name: String) -> String? {
        guard let start = text.range(of: "\"\(name)\":\"") else { return nil }
        return text[start.upperBound...].split(separator: "\"", maxSplits: 1).first.map(String.init)
    }
}

/// A client that blocks its thread: made for load, and used by one thread at a time.
final class BlockingClient: @unchecked Sendable {
    // Unchecked: a test hands it from thread to thread, and never to two at once.
    let port: Int
    private var socket: Int32 = -1
    private var received: [UInt8] = []
    /// Whether nobody was listening at the last call.
    private(set) var isRefused = false

    init(port: Int) {
        self.port = port
    }

    deinit { disconnect() }

    /// - Parameters:
    ///   - address: of the client, as a proxy sends it
    ///   - condition: a header field
    /// - Returns: `nil` if the connection is refused or cut: then it is unknown what was done
    func call(
        _ method: String, _ path: String, token: String? = nil, key: String? = nil, address: String? = nil,
        condition: String? = nil, body: String? = nil
    ) -> Reply? {
        begin(method, path, token: token, key: key, address: address, condition: condition, body: body)
            ? finish() : nil
    }

    /// Sends a request. `finish` waits for the reply. Meanwhile, other clients can begin requests.
    ///
    /// - Returns: whether it was sent
    func begin(
        _ method: String, _ path: String, token: String? = nil, key: String? = nil, address: String? = nil,
        condition: String? = nil, body: String? = nil
    ) -> Bool {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let address { head += "X-Forwarded-For: \(address)\r\n" }
        if let key { head += "Idempotency-Key: \(key)\r\n" }
        if let condition { head += "\(condition)\r\n" }
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        isRefused = !connect()
        if !isRefused, send(Array((head + "\r\n" + (body ?? "")).utf8)) { return true }
        disconnect()
        return false
    }

    /// The reply to the request that was begun; `nil` if the connection is cut.
    func finish() -> Reply? {
        let reply = receive()
        if reply?.isLast ?? true { disconnect() }
        return reply
    }

    func disconnect() {
        if socket >= 0 { close(socket) }
        socket = -1
        received = []
    }

    private func connect() -> Bool {
        if socket >= 0 { return true }
        socket = BlockingClient.connect(to: port) ?? -1
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var on: CInt = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        return socket >= 0
    }

    /// - Parameter waits: whether the socket blocks until it is connected, and later when there is nothing to read
    static func connect(to port: Int, waits: Bool = true) -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let socket = Glibc.socket(AF_INET, type, 0)
        guard socket >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 || (!waits && errno == EINPROGRESS) { return socket }
        close(socket)
        return nil
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func receive() -> Reply? {
        while true {
            if let reply = removeReply() { return reply }
            let more = [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, count in
                count = max(0, recv(socket, buffer.baseAddress, buffer.count, 0))
            }
            if more.isEmpty { return nil }
            received += more
        }
    }

    /// Removes the first reply from what was received, if it is complete.
    private func removeReply() -> Reply? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let length = lines.first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
        guard received.count >= end.upperBound + length,
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        let reply = Reply(
            status: status, isReplay: lines.contains("Idempotency-Replayed: true"),
            isLast: lines.contains("Connection: close"),
            tag: lines.first { $0.hasPrefix("ETag: ") }.map { String($0.dropFirst(6)) },
            body: Array(received[end.upperBound..<end.upperBound + length]))
        received.removeFirst(end.upperBound + length)
        return reply
    }
}
