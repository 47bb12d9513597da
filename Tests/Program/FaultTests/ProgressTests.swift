import Foundation
import Testing
import TestSupport

extension WaitingFaults {
    /// Long work shows how far it is. It is long because the clock goes on by seconds whenever the command reads it.
    @Suite struct ProgressTests {
        static let commands = [
            ("backup", ["backup", "DIRECTORY/copy"]), ("check", ["check", "--data-directory", "DIRECTORY/apps"]),
            ("export", ["sessions", "export"]), ("restore", ["restore", "DIRECTORY/backups/copy"]),
            ("search", ["sessions", "purge", "--over"]),
        ]
        private static let sessions = 40

        /// Some sessions, and a backup of them.
        private func prepare() async throws -> TemporaryDirectory {
            let (directory, _) = try await BackupTests.prepare(sessions: ProgressTests.sessions)
            #expect(try await BackupTests.start(directory.path, []).exit().code == 0)
            return directory
        }

        private func command(_ words: [String], _ directory: String) throws -> [String] {
            let store = words[0] == "restore" ? "restored" : "store"
            return [try Program.server.path] + words.map { $0.replacing("DIRECTORY", with: directory) } + [
                "--store", "sqlite:\(directory)/\(store)",
            ]
        }

        @Test(arguments: commands)
        func `long work shows lines where there is no terminal`(work: String, words: [String]) async throws {
            let directory = try await prepare()

            let result = try await Program(
                URL(filePath: "/usr/bin/env"), command(words, directory.path),
                environment: Preloaded.clock(step: 2)
            ).exit()

            #expect(result.code == 0)
            let lines = result.errors.split(separator: "\n")
            #expect(lines.contains { $0.wholeMatch(of: /[a-z ]+: \d+ %/) != nil && $0.hasPrefix(work) }, "\(lines)")
            #expect(!result.errors.contains("\r") && !result.output.contains("%"))
        }

        @Test(arguments: commands)
        func `long work shows a bar on a terminal, and removes it`(work: String, words: [String]) async throws {
            let directory = try await prepare()

            let result = try await ProgressTests.onTerminal(command(words, directory.path), directory.path, step: 2)

            #expect(result.code == 0)
            let bar = try #require(
                try result.output.firstMatch(of: Regex(#"\r\#(work)[a-z ]* \[#*\.*\] \d+ %\x1B\[K"#)))
            let rest = result.output[bar.range.upperBound...]
            let last = try #require(rest.ranges(of: "%\u{1B}[K").last?.upperBound ?? rest.startIndex)
            #expect(rest[last...].hasPrefix("\r\u{1B}[K"), "\(rest[last...].debugDescription)")
            if work == "export" {
                let lines = try String(contentsOfFile: "\(directory.path)/output", encoding: .utf8).split(
                    separator: "\n")
                #expect(lines.count == ProgressTests.sessions && lines.allSatisfy { $0.hasPrefix("{") })
            }
        }

        @Test(arguments: [true, false])
        func `short work shows nothing but its result`(isOnTerminal: Bool) async throws {
            let (directory, target) = try await BackupTests.prepare(sessions: 3)
            let command = [
                try Program.server.path, "backup", "\(target)/copy", "--store", "sqlite:\(directory.path)/store",
            ]

            let result =
                isOnTerminal
                ? try await ProgressTests.onTerminal(command, directory.path, step: 0)
                : try await Program(
                    URL(filePath: "/usr/bin/env"), command, environment: Preloaded.clock(step: 0)
                ).exit()

            #expect(result.output == (isOnTerminal ? "" : "\(target)/copy: 3 sessions\n") && result.errors == "")
        }

        @Test func `an import shows how many sessions it has read`() async throws {
            let (directory, _) = try await BackupTests.prepare(sessions: 1)
            let export = try await Program(
                try Program.server,
                ["sessions", "export", "--store", "sqlite:\(directory.path)/store"]
            ).exit().output
            try export.write(toFile: "\(directory.path)/one", atomically: true, encoding: .utf8)
            let id = try #require(export.firstMatch(of: /s_[0-9A-Za-z_-]{13}/))
            // Copies without an end, with other ids.
            let copies = """
                awk -v old=\(id.output) '{ for (i = 0; ; i++) { line = $0; sub(old, sprintf("s_%013d", i), line); \
                print line } }' \(directory.path)/one
                """
            let command = """
                exec '\(try Program.server.path)' sessions import --store sqlite:\(directory.path)/other < <(\(copies))
                """

            let importing = try Program(
                URL(filePath: "/bin/bash"), ["-c", command], environment: await Preloaded.clock(step: 2))
            let lines = try await importing.errors(until: " so far\n")
            importing.signal(SIGKILL)
            _ = try await importing.end()

            #expect(lines.prefixMatch(of: /import: \d+ sessions so far\n/) != nil, "\(lines)")
        }

        @Test func `a start that reads much of the journal says how far it is`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            var log = ""
            // Whenever clients make a pause, the server compacts the journal. It has all been compacted if this thread
            // stood still before the kill.
            while !log.contains(/reading what is not compacted: row \d+ of \d+ of the journal/) {
                let client = BlockingClient(port: server.port)
                for _ in 0..<100 { _ = try SessionUnderTest(client) }
                try await server.kill()
                try await server.restart(environment: Preloaded.clock(step: 10))
                server.signal(SIGTERM)
                log = try await server.program.exit().errors
                try await server.restart()
            }
            try await server.stop()
        }

        /// Runs a command on a terminal; its standard output goes to a file.
        ///
        /// - Returns: what it wrote to the terminal.
        private static func onTerminal(
            _ command: [String], _ directory: String, step: Int
        ) async throws -> (code: Int32, output: String, errors: String) {
            let environment = try await Preloaded.clock(step: step)
            let words = ["/usr/bin/env"] + environment.map { "\($0)=\($1)" } + command
            let line = words.map { "'\($0)'" }.joined(separator: " ") + " > '\(directory)/output'"
            return try await Program(
                URL(filePath: "/usr/bin/script"), ["--quiet", "--return", "--command", line, "/dev/null"],
                environment: ["TERM": "xterm"]
            ).exit()
        }
    }
}
