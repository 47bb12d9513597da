import Foundation
import JSONCoding
import Testing
import TestSupport

/// A new version of an app, as an operator rolls it out and back: real processes on one store.
@Suite struct ChangedAppTests {
    let storage: StorageTests

    init() throws {
        storage = try StorageTests()
    }

    private func serve(version: Int) async throws -> (program: Program, connection: Connection) {
        let program = try Program(
            Program.oddServer,
            ["serve", "--port", "0", "--store", storage.store, "--data-directory", storage.directory.path + "/apps"]
                + ServerTests.unhurried,
            environment: ["ODD_VERSION": "\(version)"])
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        return (program, try Connection(port: port))
    }

    private func run(_ command: String..., version: Int = 2) async throws -> (
        code: Int32, output: String, errors: String
    ) {
        var result = try await Program(
            Program.oddServer, command + ["--store", storage.store], environment: ["ODD_VERSION": "\(version)"]
        ).exit()
        result.errors = result.errors.withoutProgress
        return result
    }

    private func post(_ type: String, _ session: StorageTests.Session, _ connection: Connection) async throws -> JSON {
        let answer = try await connection.request(
            "POST", "\(session.path)/events", headers: session.headers, body: Data(#"{"type":"\#(type)"}"#.utf8))
        #expect(answer.status == 200)
        return try JSON(parsing: Array(answer.body))
    }

    private func state(_ session: StorageTests.Session, _ connection: Connection) async throws -> JSON {
        try JSON(parsing: Array(try await connection.request("GET", session.path, headers: session.headers).body))
    }

    @Test func `check reports what serving then does, a rollback changes nothing, and a version can be restored`()
        async throws
    {
        var (program, connection) = try await serve(version: 1)
        let reading = try await storage.open(connection, app: "library")
        _ = try await post("read", reading, connection)
        let helped = try await storage.open(connection, app: "library")
        _ = try await post("help", helped, connection)
        let saved = try await state(helped, connection)

        // While the old build runs.
        let check = try await run("check")
        #expect(check.code == 1)
        let lost = "coordinator “help” (there is no such coordinator), screen “help”"
        #expect(check.output.contains("\(helped.id) reduced \(lost)\n"))
        #expect(check.output.contains("\(reading.id) migrated from version 1\n"))
        #expect(check.output.contains("\n1 of library reduced \(lost)\n"))
        let counts = "restored: 0, migrated: 1, reduced: 1, relaunched: 0, refused: 0, over: 0, damaged: 0\n"
        #expect(check.output.hasSuffix(counts))
        #expect(check.errors.isEmpty)
        let explored = try await run("check", "--explore", "--event-time", "\(hangLimit)")
        #expect(explored.output == check.output)
        #expect(
            explored.errors
                == "Warning: exploring “library” found its screen “book” nowhere, which sessions have: 1\n")
        for (allowed, code) in [("reduced", 1), ("reduced,stray", 0)] {
            let result = try await run("check", "--explore", "--event-time", "\(hangLimit)", "--allow", allowed)
            #expect(result.code == code, "\(allowed)")
        }
        let described = try await Program(Program.oddServer, ["describe", "library", "--event-time", "\(hangLimit)"])
            .exit()
        let file = storage.directory.path + "/library.json"
        try described.output.write(toFile: file, atomically: true, encoding: .utf8)
        let compared = try await run(
            "check", "--allow", "relaunched,reduced", "--compare", file, "--event-time", "\(hangLimit)")
        #expect(compared.code == 1 && compared.output == check.output)
        #expect(
            compared.errors == """
                App “library”: breaks clients that post “help” to shelf: the event is gone
                App “library”: breaks clients that draw “help”: the screen is gone
                App “library”: breaks clients that draw “book”: the screen is gone
                App “library”: harmless: screen “shelf” does not offer “help” any more
                App “library”: harmless: screen “volume”

                """)
        #expect(try await run("check", "--allow", "relaunched,reduced").code == 0)
        #expect(try await run("check", "--allow", "relaunched").code == 1)
        #expect(try await run("check", "--allow", "restored").code == 64)
        let lines = try await run("check", "--json").output.split(separator: "\n").map {
            try JSON(parsing: Array($0.utf8))
        }
        #expect(lines.count == 3 && lines.last?["counts"]?["reduced"] == 1)
        #expect(lines.contains { $0["session"]?.string == helped.id && $0["details"]?.string == lost })
        try await storage.stop(program)

        // The new build does what was reported.
        (program, connection) = try await serve(version: 2)
        let reduced = try await state(helped, connection)
        #expect(reduced["visible"]?["title"] == "New shelf" && reduced["session"]?["version"] == 3)
        #expect(try await state(reading, connection)["visible"]?["title"] == "New book")
        try await storage.stop(program)
        #expect(try await run("check").output.contains("restored: 2, migrated: 0"))

        // The old build leaves it alone.
        (program, connection) = try await serve(version: 1)
        let refused = try await connection.request("GET", helped.path, headers: helped.headers)
        #expect(refused.status == 503 && refused.text.contains("newer-app"))
        try await storage.stop(program)
        let older = try await run("check", version: 1)
        #expect(older.code == 1 && older.output.contains("refused version 2 of the app has saved it"))

        // The operator returns to what the old build had saved.
        #expect(try await run("sessions", "restore", helped.id, "7", version: 1).code == 1)
        #expect(try await run("sessions", "restore", helped.id, "3", version: 1).code == 1)
        let restored = try await run("sessions", "restore", helped.id, "--version", "2", version: 1)
        #expect(restored.code == 0 && restored.output == "\(helped.id): version 4 is as version 2 was\n")
        (program, connection) = try await serve(version: 1)
        let returned = try await state(helped, connection)
        #expect(returned["session"]?["version"] == 4)
        #expect(returned["stack"] == saved["stack"] && returned["events"] == saved["events"])
        try await storage.stop(program)
    }
}
