import Foundation
import TestSupport
import Testing

/// The server that is built without the trait `Complete`: `scripts/test-release small` runs these tests.
@Suite(.enabled(if: !isComplete)) struct SmallServerTests {
    @Test(arguments: ["--console", "--trace-endpoint=http://127.0.0.1:4318", "--store-password-file=/dev/null"])
    func `an option of an absent part is unknown`(option: String) async throws {
        let refused = try await Program.refused("serve", "--port", "0", "--store", "memory", option)

        #expect(refused.code == 64)
        #expect(refused.errors.contains("Unknown option '\(option.prefix { $0 != "=" })'"), "\(refused.errors)")
    }

    @Test func `a variable of an absent part is no setting`() async throws {
        let flags = ["\(hangLimit)", try Program.server.path, "serve", "--port", "0", "--store", "memory"]
        let refused = try await Program(
            URL(filePath: "/usr/bin/timeout"), flags, environment: ["COORDINATORD_CONSOLE": "true"]
        ).exit()

        #expect(refused.code == 64)
        #expect(refused.errors.contains("COORDINATORD_CONSOLE: there is no such setting"), "\(refused.errors)")
    }

    @Test(arguments: [["serve"], ["migrate"], ["sessions", "list"]])
    func `a store in PostgreSQL is refused, and its URI not shown`(command: [String]) async throws {
        let store = "postgresql://ann:hunter2@127.0.0.1/sessions"
        let refused = try await Program(
            URL(filePath: "/usr/bin/timeout"),
            ["\(hangLimit)", try Program.server.path] + command + ["--store", store]
        ).exit()

        #expect(refused.code == 64)
        #expect(refused.errors.contains("--store: This program is built without PostgreSQL."), "\(refused.errors)")
        #expect(!refused.errors.contains("hunter2"))
    }

    @Test func `what is absent is not described`() async throws {
        let help = try await Program(Program.server, ["serve", "--help"]).exit().output
        let metrics = try await Program(Program.server, ["describe-metrics"]).exit().output

        for word in ["postgresql:", "console", "trace-"] { #expect(!help.contains(word), "\(word)") }
        for word in ["postgres", "trace"] { #expect(!metrics.contains(word), "\(word)") }
    }

    @Test func `there is no console, not even for development, and pages still get the client library`() async throws {
        let (program, port, _) = try await ServerTests.start()
        let connection = try Connection(port: port)

        #expect(try await connection.request("GET", "/console").status == 404)
        #expect(try await connection.request("GET", "/console/main.js").status == 404)
        #expect(try await connection.request("GET", "/client.js").status == 200)

        program.signal(SIGTERM)
        #expect(try await program.exit().output == "")
    }
}
