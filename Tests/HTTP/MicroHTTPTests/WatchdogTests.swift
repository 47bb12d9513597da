import Foundation
import MicroHTTP
import Testing
import TestSupport

/// Slow clients. The limits apply however steadily the bytes arrive. All are an hour, which passes when a test says so.
@Suite struct WatchdogTests {
    private let handler = EchoHandler()
    private let server: HTTPServer

    init() throws {
        server = try HTTPServer(.unhurried, handler: handler)
    }

    /// Sends a byte in each quarter of an hour, until the server closes the connection.
    ///
    /// - Returns: how many quarters have passed.
    private func trickle(_ connection: Connection) async throws -> Int {
        var quarters = 0
        while (try? await connection.send("a")) != nil {
            await server.elapse(.seconds(900))
            quarters += 1
            // The server may still be accepting the connection.
            try await Task.sleep(for: .milliseconds(2))
        }
        return quarters
    }

    @Test(arguments: ["", "GE", "GET /", "GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nA: "])
    func `a head that arrives too slowly is cut off`(beginning: String) async throws {
        let connection = try Connection(port: server.port)

        try await connection.send(beginning)
        let quarters = try await trickle(connection)

        #expect(quarters >= 4, "it was not given the time")
        #expect(server.measures[.slowHead] == 1)
    }

    @Test func `a slow head after good requests on the same connection is cut off`() async throws {
        let connection = try Connection(port: server.port)

        for _ in 1...3 {
            #expect(try await connection.request("GET", "/a").status == 200)
            try await eventually { server.requestsUnderWay == 0 }
            await server.elapse(.seconds(7200))
        }
        #expect(server.measures[.slowHead] == 0, "a connection without a request was cut off")
        #expect(try await trickle(connection) >= 4)
        #expect(server.measures[.slowHead] == 1)
    }

    @Test func `a body that arrives too slowly is cut off`() async throws {
        let connection = try Connection(port: server.port)

        try await connection.send(
            "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\nExpect: 100-continue\r\n\r\n")
        #expect(try await connection.receive().status == 100)
        let quarters = try await trickle(connection)

        #expect(quarters >= 4, "it was not given the time")
        #expect(server.measures[.slowBody] == 1)
    }

    @Test func `a client that is slow, but within the limits, is served`() async throws {
        let connection = try Connection(port: server.port)

        for piece in ["POST /a HT", "TP/1.1\r\nHost: x\r\nContent-", "Length: 4\r\n", "\r\n12", "34"] {
            try await connection.send(piece)
            await server.elapse(.seconds(600))
        }

        #expect(try await connection.receive().text == "POST [\"a\"] - 4")
    }

    @Test func `a handler may take longer than a head or a body may`() async throws {
        let connection = try Connection(port: server.port)

        try await connection.send(Connection.bytes("GET", "/wait"))
        try await eventually { handler.waitingCount == 1 }
        await server.elapse(.seconds(7200))
        handler.release()

        #expect(try await connection.receive().status == 200)
    }

    @Test(arguments: [
        ("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", true), ("GET /a HT", false), ("", false),
        ("GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234", false),
    ])
    func `a client that sends no more is answered, and disconnected soon`(bytes: String, isWhole: Bool) async throws {
        let connections = try (1...40).map { _ in try Connection(port: server.port) }

        // The end often arrives together with the last bytes.
        for connection in connections { try await connection.send(Data(bytes.utf8), isLast: true) }

        // With the limits alone, this would take an hour.
        for connection in connections {
            let answer = String(decoding: try await connection.receiveAll(), as: UTF8.self)
            #expect(FramingTests.status(answer) == (isWhole ? 200 : 0))
        }
    }

    @Test func `many silent clients delay no other`() async throws {
        let silent = try (1...300).map { _ in try Connection(port: server.port) }
        for connection in silent.prefix(150) { try await connection.send("GET /a HTTP/1.1\r\nA: ") }

        let connection = try Connection(port: server.port)
        for _ in 1...20 { #expect(try await connection.request("GET", "/a").status == 200) }

        try await eventually { server.requestsUnderWay == 150 }
        await server.elapse(.seconds(7200))
        for connection in silent.prefix(150) { #expect(try await connection.receiveAll().isEmpty) }
        try await eventually { server.openConnections == 151 }
    }

    @Test func `nobody has to ask for the limits to be enforced`() async throws {
        var settings = HTTPServer.Settings.unhurried
        settings.limits.head = 100
        let server = try HTTPServer(settings, handler: handler)
        let connection = try Connection(port: server.port)

        while (try? await connection.send("a")) != nil { try await Task.sleep(for: .milliseconds(20)) }

        #expect(server.measures[.slowHead] == 1)
    }

    @Test func `one address gets no more connections than the limit`() async throws {
        var settings = HTTPServer.Settings.unhurried
        settings.addressLimit = 2
        let server = try HTTPServer(settings, handler: handler)
        let (first, second) = (try Connection(port: server.port), try Connection(port: server.port))
        #expect(try await first.request("GET", "/a").status == 200)
        #expect(try await second.request("GET", "/a").status == 200)

        #expect(try await Connection(port: server.port).isClosed())

        #expect(try await first.request("GET", "/a").status == 200)
    }
}
