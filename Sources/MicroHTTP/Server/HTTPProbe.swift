internal import CMicroHTTPD
internal import Glibc

/// Why there is no answer.
public enum HTTPProbeError: Error, Equatable, Sendable {
    /// No address is known for the host.
    case unknownHost
    /// Connecting failed, or the connection was cut; `reason` is the system's error text.
    case noConnection(reason: String)
    case timedOut
    /// The answer is not HTTP/1.1.
    case notHTTP
}

/// The smallest client: one GET. It blocks; it is for health checks.
public enum HTTPProbe {
    private static let largestAnswer = 1 << 16

    /// - Parameter timeout: seconds for each of connecting and sending, and for the whole answer.
    /// - Returns: status and body; the answer is cut off after 64 KiB.
    public static func get(
        _ path: String, at address: HTTPAuthority, timeout: Int
    ) throws(HTTPProbeError) -> (status: Int, body: String) {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, String(address.port), &hints, &found) == 0 else { throw .unknownHost }
        defer { freeaddrinfo(found) }
        let request = "GET \(path) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n"
        // A name may have several addresses, and the server may listen on only one of them.
        var failure = HTTPProbeError.unknownHost
        for next in sequence(first: found, next: { $0?.pointee.ai_next }) {
            guard let next = next?.pointee else { break }
            do throws(HTTPProbeError) {
                return try parse(try answer(to: request, from: next, timeout))
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func answer(
        to request: String, from address: addrinfo, _ timeout: Int
    ) throws(HTTPProbeError) -> String {
        let socket = socket(address.ai_family, address.ai_socktype, 0)
        guard socket >= 0 else { throw .system }
        defer { close(socket) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        guard connect(socket, address.ai_addr, address.ai_addrlen) == 0,
            send(socket, request, request.utf8.count, CInt(MSG_NOSIGNAL)) == request.utf8.count
        else { throw .system }

        let end = ContinuousClock.now + .seconds(timeout)
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while answer.count < largestAnswer {
            guard ContinuousClock.now < end else { throw .timedOut }
            let count = recv(socket, &part, part.count, 0)
            guard count >= 0 else { throw .system }
            guard count > 0 else { break }
            answer += part.prefix(count)
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private static func parse(_ answer: String) throws(HTTPProbeError) -> (status: Int, body: String) {
        // Swift treats CR LF as one character.
        let head = answer.prefix { $0 != "\r\n" }.split(separator: " ", maxSplits: 2)
        guard head.count >= 2, head[0] == "HTTP/1.1", let status = Int(head[1]) else { throw .notHTTP }
        let body = answer.firstRange(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? ""
        return (status, String(body))
    }
}

extension HTTPProbeError {
    fileprivate static var system: HTTPProbeError {
        // When the time limit has passed, connecting fails with EINPROGRESS, sending and receiving with EAGAIN.
        [EINPROGRESS, EAGAIN, ETIMEDOUT].contains(errno)
            ? .timedOut : .noConnection(reason: String(cString: strerror(errno)).lowercased())
    }
}
