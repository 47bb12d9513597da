import Foundation
import Testing
import TestSupport

/// The console blocks of these pages are run, one shell for all blocks of a page, and must print what they show. Ids,
/// tokens and times differ from run to run; the shape is compared.
@Suite struct TranscriptTests {
    @Test(arguments: ["README.md", "docs/sessions.md", "docs/sign-in.md"])
    func `the transcripts run as they are shown`(page: String) async throws {
        // Streams are ended during the first half of the drain.
        let (program, port, _) = try await ServerTests.start("--drain-time", "6s")
        let steps = try TranscriptTests.steps(
            in: String(contentsOf: repository.appending(path: page), encoding: .utf8))
        #expect(steps.count >= 5, "the page has lost its transcripts")

        let separator = "----- next -----"
        let script = steps.map { "\($0.command)\necho; echo '\(separator)'" }.joined(separator: "\n")
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        let result = try await Program(URL(filePath: "/bin/bash"), ["-c", script]).exit()
        program.signal(SIGTERM)
        _ = try await program.exit()

        let outputs = result.output.components(separatedBy: separator)
        #expect(outputs.count == steps.count + 1, "the shell ended early\n\(result.errors)")
        for (step, output) in zip(steps, outputs) {
            #expect(
                TranscriptTests.shape(output) == TranscriptTests.shape(step.output), "\(step.command)\n\(result.errors)"
            )
        }
    }

    /// On a server with what the page replaces: operators `ann` and `bob`, the service `payments`, an account.
    @Test(.enabled(if: isComplete)) func `each secret is replaced as the page says, while the server runs`()
        async throws
    {
        let storage = try StorageTests()
        let directory = storage.directory.path
        for (file, lines) in [
            ("operators", "bob a-token-of-bob-for-tests\nann a-token-of-ann-for-tests\n"),
            ("services", "payments a-key-of-payments-that-is-long-enough\n"),
        ] { try lines.write(toFile: "\(directory)/\(file)", atomically: true, encoding: .utf8) }
        let server = try await MeteredServer(
            [
                "--store", "sqlite:\(directory)/data", "--data-directory", "\(directory)/data", "--console",
                "--console-token-file", "\(directory)/operators", "--service-key-file", "\(directory)/services",
            ], storage: storage)
        _ = try await server.open()
        let steps = try TranscriptTests.steps(
            in: String(contentsOf: repository.appending(path: "docs/secrets.md"), encoding: .utf8))
        #expect(steps.count >= 18, "the page has lost its transcripts")

        let separator = "----- next -----"
        // The page waits until the server has read a file again; here the test says when.
        let start = """
            sleep() { touch waits; while [ -e waits ]; do command sleep 0.02; done; }
            cd '\(directory)'; PATH='\(try Program.server.deletingLastPathComponent().path)':$PATH
            echo a-password-of-bob | coordinatord accounts add bob@example.com --data-directory data
            echo '\(separator)'
            """
        let script = steps.map { "\n\($0.command)\necho; echo '\(separator)'" }.joined()
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(server.port)")
            .replacing("127.0.0.1:9464", with: "127.0.0.1:\(server.admin)")
        let changes = [" added: ann-2", " removed: ann", " removed: payments"]
        try #require(steps.count { $0.command.hasPrefix("sleep ") } == changes.count)
        @Sendable func release() async throws {
            for change in changes {
                _ = try await server.program.errors(until: change)
                try await eventually { FileManager.default.fileExists(atPath: "\(directory)/waits") }
                try FileManager.default.removeItem(atPath: "\(directory)/waits")
            }
        }
        async let released: Void = release()
        let result = try await Program(URL(filePath: "/bin/bash"), ["-c", start + script]).exit()
        try await released
        try await server.stop()

        let outputs = result.output.components(separatedBy: separator).dropFirst()
        #expect(outputs.count == steps.count + 1, "the shell ended early\n\(result.errors)")
        for (step, output) in zip(steps, outputs) {
            #expect(
                TranscriptTests.shape(output) == TranscriptTests.shape(step.output), "\(step.command)\n\(result.errors)"
            )
        }
    }

    /// What follows `$ ` is a command, with the lines that end in a backslash; the lines after it are its output.
    static func steps(in page: String) -> [(command: String, output: String)] {
        var steps: [(command: String, output: String)] = []
        var isConsole = false
        var continues = false
        for line in page.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isConsole = line == "```console"
            } else if isConsole, line.hasPrefix("$ ") {
                steps.append((String(line.dropFirst(2)), ""))
                continues = line.hasSuffix("\\")
            } else if isConsole, continues {
                steps[steps.count - 1].command += "\n" + line
                continues = line.hasSuffix("\\")
            } else if isConsole, !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
        return steps
    }

    static func shape(_ text: String) -> String {
        // Tokens first: what looks like an id may be a part of one.
        text.replacing(/"requestId": ?"[^"]*"/, with: "<request>").replacing(/[A-Za-z0-9_-]{43}/, with: "<token>")
            .replacing(/s_[A-Za-z0-9_-]{13}/, with: "<id>")
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, with: "<time>").trimmingCharacters(
                in: .whitespacesAndNewlines)
    }
}
