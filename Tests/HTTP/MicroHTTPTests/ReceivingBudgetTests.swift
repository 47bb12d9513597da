import Foundation
import MicroHTTP
import TestSupport
import Testing

/// Answers with the size of the body; those who send `Authorization` have a right. The proxy is this machine.
private struct CountingHandler: HTTPHandler {
    func respond(to request: HTTPRequest) async -> HTTPResponse {
        HTTPResponse(status: 200, body: Array("\(request.body.count)".utf8))
    }

    func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { headers["Authorization"] != nil }
}

@Suite struct ReceivingBudgetTests {
    static let size = 1 << 20
    private let server: HTTPServer

    /// At most eight bodies at a time: four without a right, two from one address.
    init() throws {
        var settings = HTTPServer.Settings.unhurried
        settings.bodyLimit = ReceivingBudgetTests.size
        settings.receivingLimit = 8 * ReceivingBudgetTests.size
        settings.proxies = [try #require(IPNetwork("127.0.0.1"))]
        server = try HTTPServer(settings, handler: CountingHandler())
    }

    private func bytes(from address: Int, hasRight: Bool = false) -> Data {
        var headers = ["X-Forwarded-For": "192.0.2.\(address)"]
        if hasRight { headers["Authorization"] = "yes" }
        return Connection.bytes(
            "POST", "/", headers: headers, body: Data(repeating: 0x78, count: ReceivingBudgetTests.size))
    }

    /// A connection that has sent all of a body but its last byte, which has arrived.
    ///
    /// - Parameter count: how many of those there are already. What was answered gives its room back a little later.
    private func stalled(from address: Int, hasRight: Bool = false, beside count: Int) async throws -> Connection {
        try await eventually { server.receivingBytes < (count + 1) * ReceivingBudgetTests.size }
        let connection = try Connection(port: server.port)
        try await connection.send(bytes(from: address, hasRight: hasRight).dropLast())
        try await eventually { server.receivingBytes >= (count + 1) * ReceivingBudgetTests.size }
        return connection
    }

    private func status(from address: Int, hasRight: Bool = false) async throws -> Int {
        let connection = try Connection(port: server.port)
        try? await connection.send(bytes(from: address, hasRight: hasRight))
        return try await connection.receive().status
    }

    @Test func `an address has a quarter, and clients without a right have half of what may be under way`() async throws
    {
        var held = [try await stalled(from: 1, beside: 0), try await stalled(from: 1, beside: 1)]
        #expect(try await status(from: 1) == 503)
        #expect(try await status(from: 1, hasRight: true) == 503, "a right does not help against the address's share")
        #expect(try await status(from: 2) == 200)

        held += [try await stalled(from: 2, beside: 2), try await stalled(from: 2, beside: 3)]
        #expect(try await status(from: 3) == 503)
        #expect(try await status(from: 3, hasRight: true) == 200)

        for address in [3, 3, 4, 4] {
            held.append(try await stalled(from: address, hasRight: true, beside: held.count))
        }
        #expect(try await status(from: 5, hasRight: true) == 503)
        let small = try Connection(port: server.port)
        #expect(
            try await small.request("POST", "/", body: Data(count: 4000)).text == "4000", "small bodies always pass")

        for connection in held {
            try await connection.send(Data("x".utf8))
            #expect(
                try await connection.receive().text == "\(ReceivingBudgetTests.size)", "what was accepted is answered")
        }
        held = []
        try await eventually { try await status(from: 1) == 200 }
    }

    @Test func `a body that exceeds the budget while it arrives is answered, and its connection closed`() async throws {
        let first = try Connection(port: server.port)
        let request = bytes(from: 1)
        try await first.send(request.prefix(20_000))
        try await eventually { server.receivingBytes > 0 }
        let second = try await stalled(from: 1, beside: 0)

        // When it begins, there is room for it, but not for all of it. The rest is discarded.
        let third = try Connection(port: server.port)
        try await third.send(request)
        let refused = try await third.receive()

        #expect(refused.status == 503 && refused.headers["connection"] == "close")
        #expect(try await third.isClosed())
        for (connection, rest) in [(first, request.dropFirst(20_000)), (second, request.suffix(1))] {
            try await connection.send(rest)
            #expect(try await connection.receive().text == "\(ReceivingBudgetTests.size)")
        }
    }

    @Test func `memory is taken as bytes arrive, not as they are announced`() async throws {
        var announced: [Connection] = []
        for _ in 0..<64 {
            let connection = try Connection(port: server.port)
            try await connection.send(bytes(from: 1).prefix(1000))
            announced.append(connection)
        }

        #expect(try await status(from: 1) == 200)
        withExtendedLifetime(announced) {}
    }
}
