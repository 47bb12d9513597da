import Foundation
import JSONCoding
import Testing
import TestSupport

/// What ends the server, and how.
@Suite struct StopTests {
    /// A connection whose event is being handled.
    static func waiter(at port: Int, milliseconds: Int) async throws -> Connection {
        let connection = try Connection(port: port)
        let type = ["Content-Type": "application/json"]
        let created = try await connection.request(
            "POST", "/v1/sessions", headers: type, body: Data(#"{"app":"numbers"}"#.utf8))
        let body = try JSON(parsing: Array(created.body))
        let id = try #require(body["session"]?["id"]?.string), token = try #require(body["token"]?.string)
        try await connection.send(
            Connection.bytes(
                "POST", "/v1/sessions/\(id)/events", headers: type.merging(["Authorization": "Bearer \(token)"]) { $1 },
                body: Data(#"{"type":"wait","payload":{"milliseconds":\#(milliseconds)}}"#.utf8)))
        return connection
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT]) func `a signal drains the server`(signal: Int32) async throws {
        let (program, port, _) = try await ServerTests.start()
        let waiter = try await StopTests.waiter(at: port, milliseconds: 1000)
        try await Task.sleep(for: .milliseconds(200))

        program.signal(signal)

        #expect(try await waiter.receive().status == 200)
        let result = try await program.exit()
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
        let (program, port, _) = try await ServerTests.start("--drain-time", "60s")
        let connection = try Connection(port: port)
        let created = try JSON(parsing: Array(try await connection.request("POST", "/v1/sessions").body))
        let id = try #require(created["session"]?["id"]?.string), token = try #require(created["token"]?.string)
        let headers = ["Authorization": "Bearer \(token)", "If-None-Match": "\"1\"", "Prefer": "wait=50"]
        try await connection.send(Connection.bytes("GET", "/v1/sessions/\(id)", headers: headers))
        try await Task.sleep(for: .milliseconds(300))

        let start = ContinuousClock.now
        program.signal(SIGTERM)
        let answer = try await connection.receive()

        #expect(answer.status == 304 && answer.headers["retry-after"] == "1")
        #expect(try await program.exit().code == 0)
        #expect(ContinuousClock.now - start < .seconds(20), "it did not wait for a change")
    }

    @Test(arguments: [SIGPIPE, SIGUSR1, SIGUSR2]) func `other signals are ignored`(signal: Int32) async throws {
        let (program, port, _) = try await ServerTests.start()

        program.signal(signal)

        try await Task.sleep(for: .milliseconds(200))
        #expect(try await Connection(port: port).request("GET", "/readyz").status == 200)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `under nohup, SIGHUP is ignored`() async throws {
        let program = try Program(
            URL(filePath: "/usr/bin/env"),
            [
                "nohup", Program.server.path, "serve", "--port", "0", "--store", "memory",
            ])
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })

        program.signal(SIGHUP)

        try await Task.sleep(for: .milliseconds(200))
        #expect(try await Connection(port: port).request("GET", "/readyz").status == 200)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `the server says that it drains, and ends at a Ctrl-C from then on`(first: Int32) async throws {
        let (program, port, _) = try await ServerTests.start("--drain-time", "60s", "--log-format", "text")
        let halfOpen = try Connection(port: port)
        try await halfOpen.send("GET /livez HTTP/1.1\r\nHost: ")
        let waiter = try await StopTests.waiter(at: port, milliseconds: 60_000)

        let start = ContinuousClock.now
        program.signal(first)
        let log = try await program.errors(until: "connections=")
        #expect(log.contains("draining for 60.0 seconds at most; Ctrl-C now stops at once"))
        program.signal(SIGINT)

        #expect(try await program.end() == 130)
        #expect(ContinuousClock.now - start < .seconds(9), "it did not wait for the limits")
        _ = (halfOpen, waiter)
    }

    @Test func `SIGTERM twice still drains`() async throws {
        let (program, port, _) = try await ServerTests.start()
        let waiter = try await StopTests.waiter(at: port, milliseconds: 1000)
        try await Task.sleep(for: .milliseconds(200))

        program.signal(SIGTERM)
        _ = try await program.errors(until: "draining")
        program.signal(SIGTERM)

        #expect(try await waiter.receive().status == 200)
        #expect(try await program.exit().code == 0)
    }
}
