import Foundation
import MicroHTTP
import Synchronization
import Testing
import TestSupport

/// Which heads are accepted. A second request follows each one on the same connection: it is answered if the first is
/// valid, and never reaches the handler if it is not.
@Suite struct FramingTests {
    static let second = Data("GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8)

    @Test func `there are enough vectors`() {
        #expect(FramingVectors.refused.count >= 120)
        #expect(Set(FramingVectors.refused.map(\.request)).count == FramingVectors.refused.count)
    }

    @Test(arguments: FramingVectors.refused)
    func `an invalid or ambiguous head is refused, and the connection closed`(
        vector: FramingVectors.Vector
    ) async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler, threads: 1)
        let (whole, slow) = (try Connection(port: server.port), try Connection(port: server.port))

        try await whole.send(Data(vector.request) + FramingTests.second)
        let answer = String(decoding: try await whole.receiveAll(), as: UTF8.self)
        // The server may close the connection while bytes still arrive; then the system may drop its answer.
        await slow.sendByteByByte(Data(vector.request))
        let slowAnswer = String(decoding: try await slow.receiveAll(), as: UTF8.self)

        #expect(FramingTests.expected(vector).contains(FramingTests.status(answer)), "\(answer)")
        // libmicrohttpd sends the heads of some of its own answers twice.
        let isLibrarys = answer.contains("<html>")
        #expect(isLibrarys || answer.components(separatedBy: "HTTP/1.1 ").count <= 2, "it is answered twice")
        #expect(slowAnswer.isEmpty || FramingTests.expected(vector).contains(FramingTests.status(slowAnswer)))
        #expect(handler.answered.load(ordering: .relaxed) == 0, "a request reached the handler")
    }

    @Test(arguments: FramingVectors.accepted)
    func `a valid head is accepted, and so is the request that follows`(head: String) async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler, threads: 1)
        let (whole, slow) = (try Connection(port: server.port), try Connection(port: server.port))
        let request = Data(head.utf8) + Data("12345".utf8)

        try await whole.send(request + FramingTests.second)
        let answer = String(decoding: try await whole.receiveAll(), as: UTF8.self)
        await slow.sendByteByByte(request)
        try await slow.send(FramingTests.second)
        let slowAnswer = String(decoding: try await slow.receiveAll(), as: UTF8.self)

        for answer in [answer, slowAnswer] {
            #expect(answer.components(separatedBy: "HTTP/1.1 200").count == 3, "\(answer)")
            #expect(answer.hasSuffix("GET [\"second\"] - 0"))
        }
        #expect(handler.answered.load(ordering: .relaxed) == 4)
    }

    @Test(arguments: ["GET /a HTTP/1.0\r\n\r\n", "GET /a HTTP/1.0\r\nHost: x\r\n\r\n"])
    func `HTTP 1.0 needs no host, and ends the connection`(request: String) async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        try await connection.send(request)

        #expect(FramingTests.status(String(decoding: try await connection.receiveAll(), as: UTF8.self)) == 200)
    }

    /// From 1.0 on, libmicrohttpd refuses more by itself: with 400, or it closes the connection without an answer.
    private static func expected(_ vector: FramingVectors.Vector) -> Set<Int> {
        let isLenient = HTTPServer.libraryVersion.hasPrefix("0.")
        return isLenient ? vector.statuses : vector.statuses.union([0, 400])
    }

    /// 0 if there is no status.
    static func status(_ answer: String) -> Int {
        answer.hasPrefix("HTTP/1.1 ") ? Int(answer.dropFirst(9).prefix(3)) ?? 0 : 0
    }
}
