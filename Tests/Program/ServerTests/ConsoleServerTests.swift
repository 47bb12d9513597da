import Foundation
import JSONCoding
import TestSupport
import Testing

/// The console of a server in production: where it is, and who may use it.
@Suite(.enabled(if: isComplete)) struct ConsoleServerTests {
    private static let tokens = (bob: "a-token-of-bob-for-tests", eve: "a-token-of-eve-for-tests")

    private let storage: StorageTests
    private var file: String { storage.directory.path + "/operators" }

    init() throws {
        storage = try StorageTests()
        try write(ConsoleServerTests.tokens.bob)
    }

    private func write(_ lines: String) throws {
        try Data("\(lines)\n".utf8).write(to: URL(filePath: file), options: .atomic)
    }

    private func serve(_ flags: String...) async throws -> MeteredServer {
        try await MeteredServer(["--console", "--console-token-file", file] + flags, storage: storage)
    }

    private func status(_ token: String, _ connection: Connection) async throws -> Int {
        try await connection.request(
            "GET", "/console/api/sessions", headers: ["Authorization": "Bearer \(token)"]
        ).status
    }

    @Test func `the console is on the admin port, with what its page needs, and not on the public one`() async throws {
        let server = try await serve("--base-path", "/nav")
        let admin = try Connection(port: server.admin)

        for path in ["/console", "/console/config", "/console/main.js", "/console/api/sessions", "/nav/console"] {
            #expect(try await server.connection.request("GET", path).status == 404, "\(path)")
        }
        for path in ["/console", "/console/config", "/console/main.js", "/client.js", "/nav/console", "/nav/v1/apps"] {
            #expect(try await admin.request("GET", path).status == 200, "\(path)")
        }
        #expect(try await admin.request("POST", "/v1/sessions").status == 201)
        #expect(try await admin.request("GET", "/metrics").text.contains("coordinatord_sessions"))
        #expect(try await admin.request("GET", "/nothing").text.contains("unknown-path"))
        #expect(try await status(ConsoleServerTests.tokens.bob, admin) == 200)
        #expect(try await status(ConsoleServerTests.tokens.eve, admin) == 401)
        #expect(try await server.scrape()[#"coordinatord_wrong_tokens_total{kind="operator"}"#] == 1)
        try await server.stop()
    }

    @Test func `a public console is on the public port, and the admin port is for metrics`() async throws {
        let server = try await serve("--public-console")
        let admin = try Connection(port: server.admin)

        #expect(try await server.connection.request("GET", "/console").status == 200)
        #expect(try await status(ConsoleServerTests.tokens.bob, server.connection) == 200)
        for path in ["/console", "/v1/apps"] { #expect(try await admin.request("GET", path).status == 404) }
        try await server.stop()
    }

    @Test func `on the admin port, nobody tries tokens under addresses of the own choice`() async throws {
        let server = try await serve("--trusted-proxy", "127.0.0.0/8", "--log-format", "json")
        let admin = try Connection(port: server.admin)

        // Ten in a minute: on a slow machine, the first ones may be forgotten when the eleventh comes.
        var statuses: [Int] = []
        while statuses.last != 429 {
            let number = statuses.count + 1
            let answer = try await admin.request(
                "GET", "/console/api/sessions",
                headers: [
                    "Authorization": "Bearer a-guess-\(number)-of-many", "X-Forwarded-For": "10.1.1.\(number % 256)",
                ])
            statuses.append(answer.status)
        }
        #expect(statuses.count > 10 && statuses.dropLast().allSatisfy { $0 == 401 }, "\(statuses)")

        server.program.signal(SIGTERM)
        let log = try await server.program.exit().errors
        #expect(log.contains("127.0.0.1") && !log.contains("10.1.1."))
    }

    @Test func `tokens are replaced while the server runs, and the log says whose was used`() async throws {
        let (bob, eve) = ConsoleServerTests.tokens
        let server = try await serve("--log-format", "json")
        let admin = try Connection(port: server.admin)
        let session = try await server.open()
        #expect(try await status(bob, admin) == 200)
        #expect(try await status(eve, admin) == 401)

        try write("# Operators.\n\(bob)\neve \(eve)")
        try await eventually { try await status(eve, admin) == 200 }
        try write("eve \(eve)")
        try await eventually { try await status(bob, admin) == 401 }
        // What cannot be used changes nothing.
        try write("eve short")
        let logged = try await server.program.errors(until: "the keys stay")
        let ended = try await admin.request(
            "DELETE", "/console/api/sessions/\(session.id)",
            headers: ["Authorization": "Bearer \(eve)", "X-Request-Id": "ticket-4711"])
        #expect(ended.status == 204)

        server.program.signal(SIGTERM)
        let log = try await logged + server.program.exit().errors
        #expect(!log.contains(bob) && !log.contains(eve))
        #expect(log.contains("\(file) has changed: it has 2 tokens now; added: eve\""))
        #expect(log.contains("\(file) has changed: it has 1 token now; removed: operator\""))
        #expect(log.contains("line 1 of \(file) has a key that has not 16 to 512 ASCII characters; the keys stay"))
        let entries = try log.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
            .filter { $0["logger"] == "audit" && $0["request"] != nil }
        #expect(entries.first?["operator"] == "operator" && entries.first?["message"] == "list-sessions")
        let wrong = try #require(entries.first { $0["message"] == "wrong-token" })
        #expect(wrong["level"] == "warning" && wrong["address"] == "127.0.0.1" && wrong["operator"] == nil)
        let last = try #require(entries.last)
        #expect(last["message"] == "end-session" && last["level"] == "notice" && last["operator"] == "eve")
        #expect(last["session"]?.string == session.id && last["address"] == "127.0.0.1")
        #expect(last["request"] == "ticket-4711" && last["outcome"] == "done")
    }

    @Test func `without a port for operators, the error names both ways`() async throws {
        let refused = try await Program.refused(
            "serve", "--store", "memory", "--console", "--console-token-file", file)
        #expect(refused.code == 64)
        for way in ["--admin-port", "--public-console"] { #expect(refused.errors.contains(way)) }
    }
}
