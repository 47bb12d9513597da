import MicroHTTP
import Testing
import TestSupport

/// Answers every request with 304.
private struct UnchangedHandler: HTTPHandler {
    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if request.target.segments == ["later"] { await Task.yield() }
        return HTTPResponse(status: 304, headers: ["ETag": "\"7\""])
    }
}

@Suite struct NotModifiedTests {
    /// RFC 9110, section 15.4.5. Clients would wait for as many bytes as a Content-Length announces.
    @Test(arguments: ["GET", "HEAD"]) func `a 304 has a head, no length and no body, and the connection stays open`(
        method: String
    ) async throws {
        let server = try HTTPServer(.unhurried, handler: UnchangedHandler())
        let connection = try Connection(port: server.port)

        let paths = ["/", "/later", "/", "/later"]
        let last = "\(method) / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        try await connection.send(paths.map { "\(method) \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined() + last)
        let heads = String(decoding: try await connection.receiveAll(), as: UTF8.self)
            .split(separator: "\r\n\r\n", omittingEmptySubsequences: true)

        #expect(heads.count == 5)
        for head in heads {
            let lines = head.split(separator: "\r\n")
            #expect(lines[0].hasPrefix("HTTP/1.1 304 Not Modified"))
            let names = lines.dropFirst().map { $0.prefix { $0 != ":" } }
            #expect(
                Set(names) == ["Date", "ETag", "X-Request-Id"]
                    || Set(names) == ["Connection", "Date", "ETag", "X-Request-Id"])
            #expect(head.contains("\r\nETag: \"7\"") && head.contains("\r\nX-Request-Id: "))
            #expect(!head.lowercased().contains("content-length") && !head.lowercased().contains("transfer-encoding"))
        }
    }
}
