internal import CMicroHTTPD
internal import Glibc

/// The smallest client: one GET, the status of its answer, nothing more. It blocks; it is for health checks.
public enum HTTPProbe {
    /// - Parameter timeout: seconds for each of connecting, sending and receiving.
    /// - Returns: the status; `nil` without an answer that is HTTP/1.1.
    public static func status(of path: String, at address: HTTPAuthority, timeout: Int) -> Int? {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, String(address.port), &hints, &found) == 0 else { return nil }
        defer { freeaddrinfo(found) }
        let request = "GET \(path) HTTP/1.1\r\nHost: \(address)\r\nConnection: close\r\n\r\n"
        // A name may have several addresses, and the server listen on one of them.
        for next in sequence(first: found, next: { $0?.pointee.ai_next }) {
            guard let next = next?.pointee else { break }
            if let status = status(of: request, to: next, timeout) { return status }
        }
        return nil
    }

    private static func status(of request: String, to address: addrinfo, _ timeout: Int) -> Int? {
        let socket = socket(address.ai_family, address.ai_socktype, 0)
        guard socket >= 0 else { return nil }
        defer { close(socket) }

        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        guard connect(socket, address.ai_addr, address.ai_addrlen) == 0,
            send(socket, request, request.utf8.count, CInt(MSG_NOSIGNAL)) == request.utf8.count
        else { return nil }

        var line = [UInt8](repeating: 0, count: "HTTP/1.1 200".utf8.count)
        guard recv(socket, &line, line.count, CInt(MSG_WAITALL)) == line.count else { return nil }
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        return words.count == 2 && words[0] == "HTTP/1.1" ? Int(words[1]) : nil
    }
}
