import MicroHTTP
import Testing
import TestSupport

/// Answers with eight megabytes, or with a word.
private struct LargeHandler: HTTPHandler {
    static let size = 8 << 20

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let size = request.target.segments == ["large"] ? LargeHandler.size : 4
        return HTTPResponse(status: 200, body: [UInt8](repeating: 0x78, count: size))
    }
}

@Suite struct SendingBudgetTests {
    private static func start(limit: Int) throws -> HTTPServer {
        var settings = HTTPServer.Settings()
        settings.port = 0
        settings.sendingLimit = limit
        return try HTTPServer(settings, handler: LargeHandler())
    }

    @Test func `who takes an answer slowly is cut off for others, the slowest first`() async throws {
        let server = try SendingBudgetTests.start(limit: 3 * LargeHandler.size)
        var slow: [Connection] = []
        for _ in 1...6 {
            slow.append(try Connection(port: server.port))
            try await slow[slow.count - 1].send(Connection.bytes("GET", "/large"))
            // Its head has come, so that its answer is under way before the next one's.
            _ = try await slow[slow.count - 1].receive(bodyless: true)
        }

        let quick = try Connection(port: server.port)
        #expect(try await quick.request("GET", "/large").body.count == LargeHandler.size)
        #expect(try await quick.request("GET", "/small").text == "xxxx")

        var taken: [Int] = []
        for connection in slow {
            try? await connection.send(Connection.bytes("GET", "/small", headers: ["Connection": "close"]))
            taken.append((try? await connection.receiveAll().count) ?? 0)
        }
        #expect(taken[..<4].allSatisfy { $0 < LargeHandler.size }, "\(taken)")
        #expect(taken[4...].allSatisfy { $0 >= LargeHandler.size }, "\(taken)")
        await server.stop()
    }

    @Test func `an answer larger than all may be is sent where there is no other`() async throws {
        let server = try SendingBudgetTests.start(limit: 1000)
        let connection = try Connection(port: server.port)

        for _ in 1...3 { #expect(try await connection.request("GET", "/large").body.count == LargeHandler.size) }
        await server.stop()
    }
}
