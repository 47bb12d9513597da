internal import CMicroHTTPD
internal import Glibc

// An answer whose body is a stream. Its connection would be suspended most of the time, and libmicrohttpd searches all
// suspended connections whenever it resumes one: with many streams, this would be most of the server's work. So the
// connection is handed over to the `StreamLoop`.
extension Exchange {
    /// Bytes that the system may hold for a client that does not read; it reserves twice as many.
    private static let socketBuffer: CInt = 32 * 1024

    /// Moves the connection to the `StreamLoop`. libmicrohttpd gets a placeholder for the socket, and closes it.
    ///
    /// Call on the connection's thread, when all earlier answers have been sent.
    func handOver(_ response: HTTPResponse, _ stream: any HTTPStream, from connection: OpaquePointer) -> MHD_Result {
        guard core.register(self) else { return .NO }
        // While the connection is suspended, libmicrohttpd does not wait for anything on its socket.
        MHD_suspend_connection(connection)
        if let socket = takeSocket() {
            let isChunked = !isHead && !isOld
            let head = head(of: response, isChunked: isChunked)
            core.streams.add(
                OpenStream(
                    on: socket, of: watched.peer, beginning: head, isHead ? nil : stream, isChunked: isChunked))
        }
        // `proceed` closes the connection when it is called again.
        resume()
        return .YES
    }

    /// Takes the socket away from libmicrohttpd, and puts a placeholder in its place.
    ///
    /// - Returns: the socket, owned by the caller; `nil` if no descriptor is free.
    private func takeSocket() -> CInt? {
        let placeholder = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard placeholder >= 0 else { return nil }
        defer { close(placeholder) }
        let taken = fcntl(watched.socket, F_DUPFD_CLOEXEC, 0)
        guard taken >= 0 else { return nil }
        guard dup2(placeholder, watched.socket) >= 0 else {
            close(taken)
            return nil
        }
        // Every part is sent at once, whatever libmicrohttpd has set for its own answers.
        for (level, option, value) in [
            (SOL_SOCKET, SO_SNDBUF, Exchange.socketBuffer), (CInt(IPPROTO_TCP), TCP_CORK, 0),
            (CInt(IPPROTO_TCP), TCP_NODELAY, 1),
        ] {
            var value = value
            setsockopt(taken, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
        }
        return taken
    }

    private func head(of response: HTTPResponse, isChunked: Bool) -> [UInt8] {
        let phrase = MHD_get_reason_phrase_for(CUnsignedInt(response.status)).map { String(cString: $0) } ?? ""
        var head = Array("HTTP/1.1 \(response.status) \(phrase)\r\nDate: \(HTTPDate.now)\r\nX-Request-Id: ".utf8)
        (id ?? RequestID()).withCString { head += UnsafeRawBufferPointer(start: $0, count: strlen($0)) }
        response.headers.withFields { fields in
            while let field = fields.next() { head += Array("\r\n".utf8) + field.name + Array(": ".utf8) + field.value }
        }
        let coding = isChunked ? "Transfer-Encoding: chunked\r\n" : ""
        return head + Array("\r\n\(coding)Connection: close\r\n\r\n".utf8)
    }
}

/// The time as `Date` has it (RFC 9110, section 5.6.7).
private enum HTTPDate {
    static var now: String {
        var (seconds, parts) = (time(nil), tm())
        gmtime_r(&seconds, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { text in
            // The names are English, because this process never sets a locale.
            let count = strftime(text.baseAddress!, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(decoding: UnsafeRawBufferPointer(text).prefix(count), as: UTF8.self)
        }
    }
}
