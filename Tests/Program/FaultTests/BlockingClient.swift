import Foundation
import Glibc
import TestSupport

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
    var version: Int? { integer("version") }

    /// The first number that is a member's value.
    func integer(_ name: String) -> Int? {
        // With functions of C: in a debug build a regex would cost more than the server's answer.
        (body + [0]).withUnsafeBytes { bytes in
            guard var rest = bytes.bindMemory(to: CChar.self).baseAddress else { return nil }
            let pattern = "\"\(name)\":"
            while let found = strstr(rest, pattern) {
                let digits = UnsafePointer(found) + pattern.utf8.count
                var end: UnsafeMutablePointer<CChar>?
                let number = strtol(digits, &end, 10)
                if UnsafePointer(end) != digits { return number }
                rest = digits
            }
            return nil
        }
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
    /// Whether the last call had no answer.
    private(set) var wasCut = false
    /// When the connection of the last call was certainly whole: before it was opened, or before the last request on it
    /// that was answered.
    private(set) var wholeAt = ContinuousClock.now
    private var begunAt = ContinuousClock.now
    /// From `wholeAt` until the last request was sent: at most so long the server has waited for it.
    private(set) var idleTime = Duration.zero

    init(port: Int) {
        self.port = port
    }

    deinit { disconnect() }

    /// Sends a request, and waits for its reply. It is sent again after 504: a handler that has taken too long has
    /// changed nothing, and only says that the machine is slow.
    ///
    /// - Parameters:
    ///   - address: of the client, as a proxy sends it
    ///   - condition: a header field
    /// - Returns: `nil` if the connection is refused or cut: then it is unknown what was done
    func call(
        _ method: String, _ path: String, token: String? = nil, key: String? = nil, address: String? = nil,
        condition: String? = nil, body: String? = nil
    ) -> Reply? {
        while begin(method, path, token: token, key: key, address: address, condition: condition, body: body) {
            let reply = finish()
            wasCut = reply == nil
            if reply?.status != 504 { return reply }
        }
        wasCut = true
        return nil
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
        begunAt = .now
        if socket < 0 { wholeAt = begunAt }
        isRefused = !connect()
        if !isRefused {
            let isSent = send(Array((head + "\r\n" + (body ?? "")).utf8))
            idleTime = .now - wholeAt
            if isSent { return true }
        }
        disconnect()
        return false
    }

    /// The reply to the request that was begun; `nil` if the connection is cut.
    func finish() -> Reply? {
        let reply = receive()
        if reply != nil { wholeAt = begunAt }
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
        var limit = timeval(tv_sec: hangLimit, tv_usec: 0)
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
        guard let end = BlockingClient.position(of: "\r\n\r\n", in: received + [0]), end > 12 else { return nil }
        let head = Array(received[..<(end + 2)]) + [0]
        func value(_ field: String) -> String? {
            let name = "\r\n\(field): "
            return BlockingClient.position(of: name, in: head).map { start in
                String(decoding: head[(start + name.utf8.count)...].prefix { $0 != 0x0D }, as: UTF8.self)
            }
        }
        let body = end + 4
        let length = value("Content-Length").flatMap { Int($0) } ?? 0
        // HTTP/1.1 200 OK
        guard received.count >= body + length, let status = Int(String(decoding: head[9..<12], as: UTF8.self)) else {
            return nil
        }
        let reply = Reply(
            status: status, isReplay: value("Idempotency-Replayed") == "true", isLast: value("Connection") == "close",
            tag: value("ETag"), body: Array(received[body..<(body + length)]))
        received.removeFirst(body + length)
        return reply
    }

    /// - Parameter bytes: with a zero at the end.
    private static func position(of text: String, in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return nil }
            return strstr(start, text).map { UnsafePointer($0) - start }
        }
    }
}
