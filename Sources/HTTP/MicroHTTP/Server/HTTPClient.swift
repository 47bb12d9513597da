internal import ByteText
internal import CMicroHTTPD
internal import Glibc

/// Why a request has no answer.
public enum HTTPClientError: Error, Equatable, Sendable {
    /// No address is known for the host.
    case unknownHost
    /// Connecting failed, or the connection was cut; `reason` is the system's error text.
    case noConnection(reason: String)
    case timedOut
    /// The answer is neither HTTP/1.1 nor HTTP/1.0.
    case notHTTP
}

/// A minimal client, which blocks: one request for each connection. It is for health checks, and for threads that have
/// nothing else to do.
public enum HTTPClient {
    private static let largestAnswer = 1 << 16

    /// - Parameter timeout: seconds for each of connecting, sending and the whole answer.
    /// - Returns: status and body; the answer is cut off after 64 KiB.
    public static func get(
        _ path: String, at address: HTTPAuthority, timeout: Int
    ) throws(HTTPClientError) -> (status: Int, body: String) {
        try answer(to: "GET \(path) HTTP/1.1\r\n", [], at: address, timeout)
    }

    /// Sends a body, which is JSON, otherwise as `get`.
    public static func post(
        _ body: [UInt8], to path: String, at address: HTTPAuthority, timeout: Int
    ) throws(HTTPClientError) -> (status: Int, body: String) {
        let head = "POST \(path) HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        return try answer(to: head, body, at: address, timeout)
    }

    private static func answer(
        to head: String, _ body: [UInt8], at address: HTTPAuthority, _ timeout: Int
    ) throws(HTTPClientError) -> (status: Int, body: String) {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, String(address.port), &hints, &found) == 0 else { throw .unknownHost }
        defer { freeaddrinfo(found) }
        let request = Array("\(head)Host: \(address)\r\nConnection: close\r\n\r\n".utf8) + body
        // A name may have several addresses, and the server may listen on only one of them.
        var failure = HTTPClientError.unknownHost
        for next in sequence(first: found, next: { $0?.pointee.ai_next }) {
            guard let next = next?.pointee else { break }
            do throws(HTTPClientError) {
                return try parse(try answer(to: request, from: next, timeout))
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func answer(
        to request: [UInt8], from address: addrinfo, _ timeout: Int
    ) throws(HTTPClientError) -> String {
        let socket = socket(address.ai_family, address.ai_socktype, 0)
        guard socket >= 0 else { throw .system }
        defer { close(socket) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        guard connect(socket, address.ai_addr, address.ai_addrlen) == 0 else { throw .system }
        try send(request, to: socket, timeout)

        let end = ContinuousClock.now + .seconds(timeout)
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while answer.count < largestAnswer {
            guard ContinuousClock.now < end else { throw .timedOut }
            let count = recv(socket, &part, part.count, 0)
            guard count >= 0 else { throw .system }
            guard count > 0 else { break }
            answer += part.prefix(count)
            // Some servers keep the connection open in spite of `Connection: close`.
            if let whole = wholeSize(of: answer), answer.count >= whole { break }
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private static let emptyLine = Array("\r\n\r\n".utf8)

    /// The size of the whole answer by its `Content-Length`; `nil` without one, or while the head is incomplete.
    private static func wholeSize(of answer: [UInt8]) -> Int? {
        guard let end = answer.firstRange(of: emptyLine) else { return nil }
        for line in String(decoding: answer[..<end.lowerBound], as: UTF8.self).lines.dropFirst() {
            guard let (name, value) = line.cut(at: ":"), name.isSame(as: "Content-Length") else { continue }
            return Int(value.trimmed).flatMap { $0 >= 0 && $0 < largestAnswer ? end.upperBound + $0 : nil }
        }
        return nil
    }

    private static func send(_ request: [UInt8], to socket: CInt, _ timeout: Int) throws(HTTPClientError) {
        let end = ContinuousClock.now + .seconds(timeout)
        var sent = 0
        while sent < request.count {
            guard ContinuousClock.now < end else { throw .timedOut }
            // In parts, so that with a slow reader no single call lasts beyond the end.
            let part = request[sent..<min(sent + 1 << 16, request.count)]
            let count = part.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { throw .system }
            sent += count
        }
    }

    private static func parse(_ answer: String) throws(HTTPClientError) -> (status: Int, body: String) {
        let head = answer.lines.first?.parts(at: " ", limit: 3) ?? []
        guard head.count >= 2, ["HTTP/1.1", "HTTP/1.0"].contains(head[0]), let status = Int(head[1]) else {
            throw .notHTTP
        }
        let body = answer.utf8.firstRange(of: emptyLine).map { answer.utf8[$0.upperBound...] }
        return (status, body.map { String(Substring($0)) } ?? "")
    }
}

extension HTTPClientError {
    fileprivate static var system: HTTPClientError {
        // When the time limit has passed, connecting fails with EINPROGRESS, sending and receiving with EAGAIN.
        [EINPROGRESS, EAGAIN, ETIMEDOUT].contains(errno)
            ? .timedOut : .noConnection(reason: String(cString: strerror(errno)).lowercased())
    }
}
