internal import CMicroHTTPD
internal import Glibc

// A 304 has no body and announces no length (RFC 9110, section 8.6): clients wait for as many bytes as are announced.
// Before 1.0, libmicrohttpd gives every 304 a length, and closes the connection if it knows none.
extension Exchange {
    /// Sends the beginning of a 304. The rest of it is libmicrohttpd's 204, which has no length either.
    ///
    /// Call on the connection's thread, right before the 204 is queued. Earlier answers have been sent by then, so
    /// these are the next bytes; they leave together with the head that follows.
    ///
    /// - Returns: `false` if they cannot all be sent at once; then the client could understand nothing that follows.
    func beginNotModified() -> Bool {
        let start: StaticString = "HTTP/1.1 304 Not Modified\r\nX-Status-Line: "
        let flags = CInt(MSG_MORE) | CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        return send(watched.socket, start.utf8Start, start.utf8CodeUnitCount, flags) == start.utf8CodeUnitCount
    }
}
