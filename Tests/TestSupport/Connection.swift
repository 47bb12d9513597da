public import Foundation
internal import Glibc
public import JSONCoding

/// An answer as it came over the wire.
public struct Answer: Sendable {
    public let status: Int
    /// Names in lower case.
    public let headers: [String: String]
    public let body: Data

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body of a problem as it is for every request.
    public func withoutRequestID() throws -> JSON {
        var problem = try JSONObject(json: JSON(parsing: Array(body)))
        problem["requestId"] = nil
        return .object(problem)
    }
}

/// A TCP connection to a server on this machine.
public final class Connection: Sendable {
    private let socket: Int32

    /// - Parameter timeout: seconds that it waits for an answer.
    public init(port: Int, timeout: Int = hangLimit) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw TestFailure("cannot connect to port \(port): errno \(errno)") }
    }

    deinit { Glibc.close(socket) }

    /// Makes the end of this connection a reset, as if the client had crashed.
    public func resetOnClose() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    /// Bytes that this side may hold of what the server sends.
    public var receiveBuffer: Int {
        var size: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, &length)
        return Int(size)
    }

    /// Sends a request and reads its answer.
    public func request(
        _ method: String, _ target: String, headers: [String: String] = [:], body: Data? = nil
    ) async throws -> Answer {
        try await send(Connection.bytes(method, target, headers: headers, body: body))
        return try await receive(bodyless: method == "HEAD")
    }

    /// A well-formed request as bytes.
    public static func bytes(
        _ method: String, _ target: String, headers: [String: String] = [:], body: Data? = nil
    ) -> Data {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if let body { head += "Content-Length: \(body.count)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return Data((head + "\r\n").utf8) + (body ?? Data())
    }

    public func send(_ text: String) async throws { try await send(Data(text.utf8)) }

    /// - Parameter isLast: whether to end the sending side, so that the server sees that nothing will follow.
    public func send(_ bytes: Data, isLast: Bool = false) async throws {
        try await blocking { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw TestFailure("cannot send: errno \(errno)") }
                sent += count
            }
            if isLast { shutdown(socket, Int32(SHUT_WR)) }
        }
    }

    /// Reads one answer.
    public func receive(bodyless: Bool = false) async throws -> Answer {
        try await blocking { [self] in
            var lines = try readHead().components(separatedBy: "\r\n")
            let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
            if status == 100 { return Answer(status: 100, headers: [:], body: Data()) }
            var headers: [String: String] = [:]
            for line in lines where !line.isEmpty {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
            }
            let length = bodyless || status == 304 ? 0 : Int(headers["content-length"] ?? "0") ?? 0
            return Answer(status: status, headers: headers, body: try read(length))
        }
    }

    /// Reads the next chunk of an answer whose head was read with `receive(bodyless: true)` (RFC 9112, section 7.1).
    ///
    /// - Returns: `nil` at the end of the answer.
    public func receiveChunk() async throws -> Data? {
        try await blocking { [self] in
            var line: [UInt8] = []
            while !line.hasSuffix("\r\n") { line += try read(1) }
            guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else {
                throw TestFailure("not the size of a chunk: \(String(decoding: line, as: UTF8.self))")
            }
            let chunk = try read(size)
            guard try Array(read(2)).hasSuffix("\r\n") else { throw TestFailure("the chunk does not end") }
            return size == 0 ? nil : chunk
        }
    }

    /// Whether the server closes the connection, after whatever it still sends.
    public func isClosed() async throws -> Bool {
        try await blocking { [socket] in
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(socket, &bytes, bytes.count, 0)
                if count == 0 || (count < 0 && errno == ECONNRESET) { return true }
                if count < 0 { return false }
            }
        }
    }

    /// Sends the bytes one at a time, as many as the server accepts.
    public func sendByteByByte(_ bytes: Data) async {
        try? await blocking { [socket] in
            var isOn: Int32 = 1
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
            for var byte in bytes {
                guard Glibc.send(socket, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 else { return }
                usleep(50)
            }
        }
    }

    /// All that the server sends until it closes the connection.
    public func receiveAll() async throws -> Data {
        try await blocking { [socket] in
            var all = Data()
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(socket, &bytes, bytes.count, 0)
                if count == 0 || (count < 0 && errno == ECONNRESET) { return all }
                guard count > 0 else { throw TestFailure("the server keeps the connection open") }
                all += bytes[..<count]
            }
        }
    }

    /// Byte by byte, because what follows must not be read yet.
    private func readHead() throws -> String {
        var head: [UInt8] = []
        var lastFour: UInt32 = 0
        while lastFour != 0x0D0A_0D0A {
            var byte: UInt8 = 0
            guard recv(socket, &byte, 1, 0) == 1 else { throw TestFailure("the server has closed the connection") }
            head.append(byte)
            lastFour = lastFour << 8 | UInt32(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }

    private func read(_ count: Int) throws -> Data {
        var bytes = [UInt8](repeating: 0, count: count)
        var read = 0
        while read < count {
            let more = bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + read, count - read, 0) }
            guard more > 0 else { throw TestFailure("the server has closed the connection") }
            read += more
        }
        return Data(bytes)
    }
}

extension [UInt8] {
    fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}
