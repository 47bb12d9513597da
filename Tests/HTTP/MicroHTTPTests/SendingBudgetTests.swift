import MicroHTTP
import Testing
import TestSupport

/// Answers `/large` with 8 MiB, and everything else with four bytes.
private struct LargeHandler: HTTPHandler {
    static let size = 8 << 20

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let size = request.target.segments == ["large"] ? LargeHandler.size : 4
        return HTTPResponse(status: 200, body: [UInt8](repeating: 0x78, count: size))
    }
}

@Suite struct SendingBudgetTests {
    private static func start(limit: Int) throws -> HTTPServer {
        var settings = HTTPServer.Settings.unhurried
        settings.sendingLimit = limit
        return try HTTPServer(settings, handler: LargeHandler())
    }

    @Test func `clients that read an answer slowly are cut off in favour of others, the slowest first`() async throws {
        let server = try SendingBudgetTests.start(limit: 3 * LargeHandler.size)
        var slow: [Connection] = []
        for _ in 1...6 {
            slow.append(try Connection(port: server.port))
            try await slow[slow.count - 1].send(Connection.bytes("GET", "/large"))
            // Once its head has arrived, its answer is under way before the next one's.
            _ = try await slow[slow.count - 1].receive(bodyless: true)
        }
        // Answers that were cut take memory until their connections are closed.
        try await eventually { server.openConnections == 3 }

        let quick = try Connection(port: server.port)
        #expect(try await quick.request("GET", "/large").body.count == LargeHandler.size)
        #expect(try await quick.request("GET", "/small").text == "xxxx")

        var received: [Int] = []
        for connection in slow {
            try? await connection.send(Connection.bytes("GET", "/small", headers: ["Connection": "close"]))
            received.append((try? await connection.receiveAll().count) ?? 0)
        }
        #expect(received[..<4].allSatisfy { $0 < LargeHandler.size }, "\(received)")
        #expect(received[4...].allSatisfy { $0 >= LargeHandler.size }, "\(received)")
    }

    @Test func `an answer larger than the limit is sent if there is no other`() async throws {
        let server = try SendingBudgetTests.start(limit: 1000)
        let connection = try Connection(port: server.port)

        for _ in 1...3 { #expect(try await connection.request("GET", "/large").body.count == LargeHandler.size) }
    }
}
