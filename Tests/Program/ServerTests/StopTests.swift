import Foundation
import JSONCoding
import Testing
import TestSupport

/// What ends the server, and how.
@Suite struct StopTests {
    /// A connection whose event is being handled.
    static func waiter(at server: MeteredServer, milliseconds: Int) async throws -> Connection {
        let session = try await server.open()
        let connection = try Connection(port: server.port)
        func isUnderWay(_ count: Double) async throws -> Bool {
            try await server.scrape()["coordinatord_http_requests_under_way"] == count
        }
        try await eventually { try await isUnderWay(0) }
        try await connection.send(
            Connection.bytes(
                "POST", "\(session.path)/events", headers: session.headers,
                body: Data(#"{"type":"wait","payload":{"milliseconds":\#(milliseconds)}}"#.utf8)))
        try await eventually { try await isUnderWay(1) }
        return connection
    }

    /// A server whose requests under way have an hour after a signal.
    static func start() async throws -> MeteredServer {
        try await MeteredServer(["--store", "memory", "--log-format", "text"])
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT]) func `a signal drains the server`(signal: Int32) async throws {
        let server = try await StopTests.start()
        let waiter = try await StopTests.waiter(at: server, milliseconds: 300)

        server.program.signal(signal)

        #expect(try await waiter.receive().status == 200)
        let result = try await server.program.exit()
        #expect(result.code == 0)
        let names = [SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGHUP", SIGQUIT: "SIGQUIT"]
        #expect(result.errors.hasSuffix("info: stopped by \(names[signal] ?? "")\n"), "\(result.errors)")
    }

    @Test func `a server ends also if an app blocks all threads of Swift's tasks`() async throws {
        let program = try Program(
            Program.oddServer,
            [
                "serve", "--port", "0", "--store", "memory", "--drain-time", "1s", "--drain-delay", "0s",
            ])
        var line = try await program.line()
        while !line.contains("listening on") { line = try await program.line() }
        let port = try #require(line.split(separator: ":").compactMap { Int($0.prefix { $0.isNumber }) }.last)
        let connection = try Connection(port: port)
        let type = ["Content-Type": "application/json"]
        let created = try JSON(
            parsing: Array(
                try await connection.request(
                    "POST", "/v1/sessions", headers: type, body: Data(#"{"app":"freezing"}"#.utf8)
                ).body))
        let id = try #require(created["session"]?["id"]?.string), token = try #require(created["token"]?.string)
        let answer = try await connection.request(
            "POST", "/v1/sessions/\(id)/events", headers: type.merging(["Authorization": "Bearer \(token)"]) { $1 },
            body: Data(#"{"type":"freeze"}"#.utf8))
        #expect(answer.status == 200)

        program.signal(SIGTERM)

        let result = try await program.exit()
        #expect(result.code == 70 && result.errors.contains("did not stop in 12 s"), "\(result)")
    }

    @Test func `who waits for a change is answered at once`() async throws {
        let server = try await StopTests.start()
        let session = try await server.open()
        let waiting = ["If-None-Match": "\"1\"", "Prefer": "wait=60"]
        try await server.connection.send(
            Connection.bytes("GET", session.path, headers: session.headers.merging(waiting) { $1 }))
        try await eventually { try await server.scrape()["coordinatord_watchers"] == 1 }

        server.program.signal(SIGTERM)
        let answer = try await server.connection.receive()

        // The header distinguishes it from an answer at the end of the wait.
        #expect(answer.status == 304 && answer.headers["retry-after"] == "1")
        #expect(try await server.program.exit().code == 0)
    }

    @Test func `other signals are ignored`() async throws {
        let (program, port, _) = try await ServerTests.start()

        // One that was not ignored would end the process before SIGTERM does.
        for signal in [SIGUSR1, SIGUSR2, SIGPIPE] {
            program.signal(signal)
            #expect(try await Connection(port: port).request("GET", "/readyz").status == 200)
        }
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `under nohup, SIGHUP is ignored`() async throws {
        let program = try Program(
            URL(filePath: "/usr/bin/env"),
            [
                "nohup", Program.server.path, "serve", "--port", "0", "--store", "memory", "--log-format", "text",
            ])
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })

        program.signal(SIGHUP)

        #expect(try await Connection(port: port).request("GET", "/readyz").status == 200)
        program.signal(SIGTERM)
        let result = try await program.exit()
        #expect(result.code == 0 && result.errors.hasSuffix("info: stopped by SIGTERM\n"), "\(result.errors)")
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `the server says that it drains, and ends at a Ctrl-C from then on`(first: Int32) async throws {
        let server = try await StopTests.start()
        let waiter = try await StopTests.waiter(at: server, milliseconds: 60_000)
        let halfOpen = try Connection(port: server.port)
        try await halfOpen.send("GET /livez HTTP/1.1\r\nHost: ")

        server.program.signal(first)
        let log = try await server.program.errors(until: "connections=")
        #expect(log.contains("draining for 3600.0 seconds at most; Ctrl-C now stops at once"))
        server.program.signal(SIGINT)

        // With another code, or much later, if it waited for either connection.
        #expect(try await server.program.end() == 130)
        withExtendedLifetime((halfOpen, waiter)) {}
    }

    @Test func `SIGTERM twice still drains`() async throws {
        let server = try await StopTests.start()
        let waiter = try await StopTests.waiter(at: server, milliseconds: 300)

        server.program.signal(SIGTERM)
        _ = try await server.program.errors(until: "draining")
        server.program.signal(SIGTERM)

        #expect(try await waiter.receive().status == 200)
        #expect(try await server.program.exit().code == 0)
    }
}
