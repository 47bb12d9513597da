import Foundation
import JSONCoding
import Testing
import TestSupport

/// The program as an operator runs it.
@Suite(.serialized) struct ServerTests {
    /// The limits on clients are for those that are slow on purpose, and a test of one sets it. The machine may be slow
    /// as well.
    static let unhurried = [
        "--head-time", "1h", "--body-time", "1h", "--answer-time", "1h", "--idle-time", "1h", "--drain-time", "1h",
    ]

    /// Starts a server on a free port.
    static func start(_ flags: String...) async throws -> (program: Program, port: Int, line: String) {
        let common = ["serve", "--port", "0", "--development", "--store", "memory", "--log-format", "text"]
        let program = try Program(Program.server, common + unhurried + flags)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        return (program, port, line)
    }

    @Test(.enabled(if: isComplete))
    func `the server says where it listens and what its store does, and where its console is`() async throws {
        let (program, port, line) = try await ServerTests.start()

        #expect(
            line == """
                coordinatord 0.1.0 listening on http://127.0.0.1:\(port) (store: memory, sessions end with this process)
                """
        )
        let console = try await program.line()
        let expected = /console: http:\/\/127\.0\.0\.1:\d+\/console \(the operator's token: [-\w]{43}\)/
        #expect(console.wholeMatch(of: expected) != nil, "\(console)")
        program.signal(SIGTERM)
        #expect(try await program.exit().output == "")
    }

    @Test(
        .enabled(if: isComplete),
        arguments: [
            "short", "", "# nothing", "two tokens of which each is long enough", String(repeating: "x", count: 600),
        ])
    func `a console without a usable token does not start`(text: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "console-token-\(UUID())")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let flags = [
            "serve", "--port", "0", "--store", "memory", "--console", "--public-console", "--console-token-file",
            file.path,
        ]
        let ended = try await Program(Program.server, flags).exit()
        #expect(ended.code == 65 && (text.isEmpty || !ended.errors.contains(text)))
        let alone = try await Program(Program.server, ["serve", "--port", "0", "--store", "memory", "--console"]).exit()
        #expect(alone.code == 64)
    }

    @Test(arguments: [SIGTERM, SIGINT]) func `a signal ends the server with exit code 0`(signal: Int32) async throws {
        let (program, port, _) = try await ServerTests.start()
        #expect(try await Connection(port: port).request("GET", "/readyz").status == 200)

        program.signal(signal)

        #expect(try await program.exit().code == 0)
    }

    @Test(arguments: 1...2) func `a signal under load loses no answer`(round: Int) async throws {
        let (program, port, _) = try await ServerTests.start()
        let start = ContinuousClock.now
        let connections = try (0..<8).map { _ in try Connection(port: port) }
        // The server has accepted all of them.
        for connection in connections { #expect(try await connection.request("POST", "/v1/sessions").status == 201) }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in connections {
                group.addTask {
                    try await ServerTests.load(connection, since: start) { if $0 == 100 { program.signal(SIGTERM) } }
                }
            }
            try await group.waitForAll()
        }

        #expect(try await program.exit().code == 0)
    }

    /// Posts until the server drains. That may close a connection that has been idle for half a second, as one is whose
    /// client stands still.
    ///
    /// - Parameter before: a time before its last request.
    private static func load(
        _ connection: Connection, since before: ContinuousClock.Instant, _ answered: (Int) -> Void
    ) async throws {
        let request = Connection.bytes("POST", "/v1/sessions")
        var before = before
        for count in 1... {
            let start = ContinuousClock.now
            var sent: ContinuousClock.Instant?
            do {
                try await connection.send(request)
                sent = .now
                let answer = try await connection.receive()
                #expect(answer.status == 201)
                if answer.headers["connection"] == "close" { return }
            } catch {
                guard (sent ?? .now) - before > .milliseconds(500) else { throw error }
                return
            }
            answered(count)
            before = start
        }
    }

    @Test func `a port in use is a clear error`() async throws {
        let (program, port, _) = try await ServerTests.start()

        let second = try await Program.coordinatord(
            "serve", "--port", "\(port)", "--store", "memory", "--log-format", "text"
        ).exit()

        #expect(second.code == 69)
        #expect(second.errors == "Error: 127.0.0.1:\(port) is in use by another process; choose another --port\n")
        program.signal(SIGTERM)
        _ = try await program.exit()
    }

    @Test func `off a terminal everything that the server writes is an entry of its log`() async throws {
        let arguments = ["serve", "--port", "0", "--store", "memory", "--admin-port", "0"]
        let program = try Program(Program.server, arguments)
        let first = try JSON(parsing: Array(try await program.line().utf8))
        let address = try #require(first["message"]?.string?.firstMatch(of: /listening on http:\/\/127\.0\.0\.1:(\d+)/))
        let refused = try await Program(
            Program.server, ["serve", "--port", String(address.output.1), "--store", "memory"]
        ).exit()
        program.signal(SIGTERM)
        let end = try await program.exit()

        let entries = try [end.output, end.errors, refused.errors].map { text in
            try text.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
        }
        #expect(first["level"] == "info" && first["logger"] == "server" && first["time"] != nil)
        #expect(entries[0].first?["message"]?.string?.hasPrefix("metrics: http://") == true)
        #expect(entries[1].count >= 2 && entries[1].allSatisfy { $0["message"] != nil })
        #expect(refused.code == 69 && entries[2].map { $0["level"] } == ["critical"])
        #expect(entries[2].first?["message"]?.string?.hasPrefix("127.0.0.1:\(address.output.1) is in use") == true)
    }

    @Test func `the time that a head may take can be set by a flag`() async throws {
        let (program, port, _) = try await ServerTests.start("--head-time", "1s")
        let connection = try Connection(port: port)

        try await connection.send("GET /livez HTTP/1.1\r\nHost: ")

        // Without the flag, these servers wait for an hour.
        #expect(try await connection.isClosed())
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `sizes, limits, proxies and origins can be set by flags`() async throws {
        let (program, port, _) = try await ServerTests.start(
            "--head-size", "4096", "--body-size", "2000", "--events-per-second", "1",
            "--trusted-proxy", "127.0.0.1", "--creations-per-second", "1", "--allow-origin", "https://app.example")
        let connection = try Connection(port: port)
        func create(_ address: String, _ headers: [String: String] = [:]) async throws -> Answer {
            let forwarded = ["X-Forwarded-For": address, "Content-Type": "application/json"]
            return try await connection.request("POST", "/v1/sessions", headers: forwarded.merging(headers) { $1 })
        }

        let created = try await create("192.0.2.1", ["Origin": "https://app.example"])
        #expect(created.status == 201 && created.headers["access-control-allow-origin"] == "https://app.example")
        // Sooner or later, requests come faster than one a second.
        var status = 201
        while status == 201 { status = try await create("192.0.2.1").status }
        #expect(status == 429)
        #expect(try await create("192.0.2.2").status == 201)

        let body = try JSON(parsing: Array(created.body))
        let id = try #require(body["session"]?["id"]?.string)
        let headers = ["Authorization": "Bearer \(body["token"]?.string ?? "")", "Content-Type": "application/json"]
        repeat {
            let event = Data(#"{"type":"none"}"#.utf8)
            status = try await connection.request(
                "POST", "/v1/sessions/\(id)/events", headers: headers, body: event
            ).status
        } while status == 422
        #expect(status == 429)
        let large = try await connection.request("POST", "/v1/sessions", body: Data(count: 2001))
        #expect(large.status == 413)
        let long = ["X-Long": String(repeating: "x", count: 4096)]
        #expect(try await connection.request("GET", "/livez", headers: long).status == 431)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `the log names the request that has failed on the server's side`() async throws {
        let (program, port, _) = try await ServerTests.start("--log-format", "text")
        let connection = try Connection(port: port)
        let created = try await connection.request(
            "POST", "/v1/sessions", headers: ["Content-Type": "application/json"],
            body: Data(#"{"app":"numbers"}"#.utf8))
        let body = try JSON(parsing: Array(created.body))
        let id = try #require(body["session"]?["id"]?.string), token = try #require(body["token"]?.string)

        let failed = try await connection.request(
            "POST", "/v1/sessions/\(id)/events",
            headers: [
                "Authorization": "Bearer \(token)", "Content-Type": "application/json", "X-Request-Id": "trace-4711",
            ], body: Data(#"{"type":"fail"}"#.utf8))

        #expect(failed.status == 500 && failed.headers["x-request-id"] == "trace-4711")
        program.signal(SIGTERM)
        #expect(try await program.exit().errors.contains("request=trace-4711"))
    }

    @Test(arguments: [
        ["serve", "--no-such-flag"], ["serve", "--port", "70000"], ["serve", "--port", "x"], ["serve", "--store", "x"],
        ["serve", "--durability", "x"], ["serve", "--idle-expiry", "5"], ["serve", "--live-sessions", "0"],
        ["serve", "--connections", "0"], ["serve", "--head-time", "10"], ["serve", "--history", "0"],
        ["serve", "--head-size", "100"], ["serve", "--body-size", "1"], ["serve", "--answers-size", "1"],
        ["serve", "--sessions", "0"],
        ["serve", "--events-per-second", "-1"], ["serve", "--creations-per-second", "-1"],
        ["serve", "--trusted-proxy", "10.0.0.0/33"], ["serve", "--allow-origin", "*"],
        ["serve", "--allow-origin", "https://app.example/"], ["serve", "--allow-origin", "null"],
        ["serve", "--allow-origin", "https://*.example"], ["serve", "--allow-origin", "https://app.example:443"],
        ["serve", "--base-path", "nav"], ["serve", "--base-path", "/nav/"], ["serve", "--base-path", "/v1"],
        ["sessions", "list", "--store", "memory"], ["sessions", "purge"],
        ["sessions", "show", "no-id"],
        ["no-such-command"],
    ])
    func `a wrong flag is explained, with exit code 64`(arguments: [String]) async throws {
        let folder = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: folder).deletingLastPathComponent().appending(path: "coordinatord")

        let result = try await Program(program, arguments).exit()

        #expect(result.code == 64)
        #expect(result.errors.contains("--help"))
    }

    @Test func `the program has the same version as the API description`() async throws {
        let description = try String(contentsOf: repository.appending(path: "openapi.yaml"), encoding: .utf8)
        let version = try #require(description.firstMatch(of: /\n  version: (\S+)\n/)?.output.1)

        let result = try await Program.coordinatord("--version").exit()

        #expect(result.code == 0 && result.output == "coordinatord \(version)\n")
    }

    @Test func `the reference apps are declared without mistakes, and each can be opened`() async throws {
        let (program, port, _) = try await ServerTests.start()
        let connection = try Connection(port: port)
        let apps = try JSON(parsing: Array(try await connection.request("GET", "/v1/apps").body))

        #expect(apps["defaultApp"] == "tabs")
        for app in try #require(apps["apps"]?.array) {
            let body = Data((["app": try #require(app["name"])] as JSON).description.utf8)
            let answer = try await connection.request(
                "POST", "/v1/sessions", headers: ["Content-Type": "application/json"], body: body)
            #expect(answer.status == 201)
        }
        program.signal(SIGTERM)
        _ = try await program.exit()
    }
}
