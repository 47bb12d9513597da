import Foundation
import MicroHTTP
import Testing
import TestSupport

/// Slow clients. The limits are short here; they apply however steadily the bytes arrive.
@Suite struct WatchdogTests {
    static func start(_ handler: EchoHandler = EchoHandler(), head: Int = 10_000, body: Int = 10_000) throws
        -> HTTPServer
    {
        var settings = HTTPServer.Settings()
        settings.port = 0
        settings.limits.head = head
        settings.limits.body = body
        return try HTTPServer(settings, handler: handler)
    }

    /// Sends a byte every 20 ms, until the server closes the connection.
    ///
    /// - Returns: after how many seconds it did; `nil` if it did not within `limit` seconds.
    static func trickle(
        _ connection: Connection, since start: ContinuousClock.Instant = .now, limit: Double = 60
    ) async throws -> Double? {
        while ContinuousClock.now - start < .seconds(limit) {
            do { try await connection.send("a") } catch { return (ContinuousClock.now - start) / .seconds(1) }
            try await Task.sleep(for: .milliseconds(20))
        }
        return nil
    }

    @Test(arguments: ["", "GE", "GET /", "GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nA: "])
    func `a head that arrives too slowly is cut off`(beginning: String) async throws {
        let server = try WatchdogTests.start(head: 500)
        let start = ContinuousClock.now
        let connection = try Connection(port: server.port)

        try await connection.send(beginning)
        let time = try #require(try await WatchdogTests.trickle(connection, since: start))

        #expect(time > 0.3, "it was not given the time")
        await server.stop(within: .zero)
    }

    @Test func `a slow head after good requests on the same connection is cut off`() async throws {
        let server = try WatchdogTests.start(head: 500)
        let connection = try Connection(port: server.port)

        for _ in 1...3 {
            #expect(try await connection.request("GET", "/a").status == 200)
            try await Task.sleep(for: .milliseconds(700))
        }
        _ = try #require(try await WatchdogTests.trickle(connection))
        await server.stop(within: .zero)
    }

    @Test func `a body that arrives too slowly is cut off`() async throws {
        let server = try WatchdogTests.start(body: 500)
        let start = ContinuousClock.now
        let connection = try Connection(port: server.port)

        try await connection.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
        let time = try #require(try await WatchdogTests.trickle(connection, since: start))

        #expect(time > 0.3, "it was not given the time")
        await server.stop(within: .zero)
    }

    @Test func `a client that is slow, but within the limits, is served`() async throws {
        let server = try WatchdogTests.start(head: 8000, body: 8000)
        let connection = try Connection(port: server.port)

        for piece in ["POST /a HT", "TP/1.1\r\nHost: x\r\nContent-", "Length: 4\r\n", "\r\n12", "34"] {
            try await connection.send(piece)
            try await Task.sleep(for: .milliseconds(300))
        }

        #expect(try await connection.receive().text == "POST [\"a\"] - 4")
        await server.stop(within: .zero)
    }

    @Test func `a handler may take longer than a head or a body may`() async throws {
        let handler = EchoHandler()
        let server = try WatchdogTests.start(handler, head: 200, body: 200)
        let connection = try Connection(port: server.port)

        try await connection.send(Connection.bytes("GET", "/wait"))
        try await Task.sleep(for: .milliseconds(800))
        handler.release()

        #expect(try await connection.receive().status == 200)
        await server.stop(within: .zero)
    }

    @Test(arguments: [
        ("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", true), ("GET /a HT", false), ("", false),
        ("GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234", false),
    ])
    func `a client that sends no more is answered, and disconnected soon`(bytes: String, isWhole: Bool) async throws {
        let server = try WatchdogTests.start(head: 60_000, body: 60_000)
        let connections = try (1...40).map { _ in try Connection(port: server.port) }

        // The end often arrives together with the last bytes.
        let start = ContinuousClock.now
        for connection in connections { try await connection.send(Data(bytes.utf8), isLast: true) }
        for connection in connections {
            let answer = String(decoding: try await connection.receiveAll(), as: UTF8.self)
            #expect(FramingTests.status(answer) == (isWhole ? 200 : 0))
        }

        #expect(ContinuousClock.now - start < .seconds(40), "only a limit has ended it")
        await server.stop(within: .zero)
    }

    @Test func `many silent clients delay no other`() async throws {
        let server = try WatchdogTests.start(head: 500)
        let silent = try (1...300).map { _ in try Connection(port: server.port) }
        for connection in silent.prefix(150) { try await connection.send("GET /a HTTP/1.1\r\nA: ") }

        let connection = try Connection(port: server.port)
        for _ in 1...20 { #expect(try await connection.request("GET", "/a").status == 200) }

        for connection in silent.prefix(150) { #expect(try await connection.receiveAll().isEmpty) }
        await server.stop(within: .zero)
    }

    @Test func `one address gets no more connections than the limit`() async throws {
        var settings = HTTPServer.Settings()
        settings.port = 0
        settings.addressLimit = 2
        let server = try HTTPServer(settings, handler: EchoHandler())
        let (first, second) = (try Connection(port: server.port), try Connection(port: server.port))
        #expect(try await first.request("GET", "/a").status == 200)
        #expect(try await second.request("GET", "/a").status == 200)

        #expect(try await Connection(port: server.port).isClosed())

        #expect(try await first.request("GET", "/a").status == 200)
        await server.stop(within: .zero)
    }
}
