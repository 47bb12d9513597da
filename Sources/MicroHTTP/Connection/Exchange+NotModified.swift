internal import CMicroHTTPD
internal import Glibc

// An answer that is unmodified has no body and says nothing of its length (RFC 9110, section 8.6): clients wait for as
// many bytes as they are told. Before 1.0, libmicrohttpd gives every 304 a length, and closes the connection where it
// knows none.
extension Exchange {
    /// Sends the beginning of a 304, of which libmicrohttpd's 204 is the rest: an answer without a length either.
    ///
    /// To be called right before that is queued, on the connection's thread. Whatever was answered before has been sent by
    /// then, so these are the next bytes; they leave together with the head that follows.
    ///
    /// - Returns: `false` where they cannot all be sent at once; nothing that follows would be understood then.
    func beginNotModified() -> Bool {
        let start: StaticString = "HTTP/1.1 304 Not Modified\r\nX-Status-Line: "
        let flags = CInt(MSG_MORE) | CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        return send(watched.socket, start.utf8Start, start.utf8CodeUnitCount, flags) == start.utf8CodeUnitCount
    }
}
