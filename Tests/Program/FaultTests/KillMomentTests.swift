import Foundation
import Glibc
import SQLiteStore
import Sessions
import TestSupport
import Testing

extension WaitingFaults {
    /// What is on the disk if a command is killed: before each call by which it changes a file, not at random moments.
    /// Whatever it is, every command reads it or says what to do, and a server has everything that was acknowledged.
    @Suite struct KillMomentTests {
        private let directory = TemporaryDirectory()
        private var store: String { directory.path + "/store" }
        private var backups: String { directory.path + "/backups" }
        private var apps: String { directory.path + "/apps" }

        @Test func `a first start makes a store or none`() async throws {
            let moments = try await moments(of: store) { environment in
                try await ServerUnderTest(directory: directory.path, environment: environment).stop()
            }

            try await verify(moments, [], mayBeMissing: true)
        }

        @Test(.longForm) func `a restore makes a store or none, and its first start changes nothing`() async throws {
            let sessions = try await prepare()
            try await succeed("backup", backups + "/copy", "--store", "sqlite:\(store)")
            let restored = directory.path + "/restored"

            let restoring = try await moments(of: restored) { environment in
                try await succeed(
                    "restore", backups + "/copy", "--store", "sqlite:\(restored)", environment: environment)
            }
            for moment in restoring {
                // A directory without a store is what the next attempt needs.
                let again = try await run("restore", backups + "/copy", "--store", "sqlite:\(moment)")
                #expect(again.code == 0 || again.code == EX_CANTCREAT, "\(moment): \(again.errors)")
                try await verify([moment], sessions)
            }
            let starting = try await moments(of: restored) { environment in
                let store = "sqlite:\(restored)"
                try await ServerUnderTest(directory: directory.path, store: store, environment: environment).stop()
            }
            try await verify(starting, sessions)
        }

        @Test(.longForm)
        func `a backup that was put in place by hand is a store at every moment of its first start`() async throws {
            let sessions = try await prepare()
            let copy = directory.path + "/copy"
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            try await succeed("backup", copy + "/sessions.sqlite", "--store", "sqlite:\(store)")

            let moments = try await moments(of: copy) { environment in
                let store = "sqlite:\(copy)"
                try await ServerUnderTest(directory: directory.path, store: store, environment: environment).stop()
            }

            try await verify(moments, sessions, mayAskForServer: true)
        }

        @Test(arguments: Scale.isLong ? [true, false] : [true])
        func `a store that is being rebuilt loses nothing`(wasKilled: Bool) async throws {
            let sessions = try await prepare(killed: wasKilled)
            #expect(FileManager.default.createFile(atPath: store + "/sessions.damaged", contents: nil))

            let moments = try await moments(of: store) { environment in
                try await ServerUnderTest(directory: directory.path, environment: environment).stop()
            }

            try await verify(moments, sessions)
        }

        @Test(.longForm) func `an import can be repeated, and a purge removes a session whole`() async throws {
            let sessions = try await prepare()
            let export = try await run("sessions", "export", "--store", "sqlite:\(store)")
            try Data(export.output.utf8).write(to: URL(filePath: directory.path + "/export"))
            let imported = directory.path + "/imported"
            func importing(_ store: String, _ environment: [String: String] = [:]) async throws -> Output {
                try await run(
                    "sessions", "import", "--store", "sqlite:\(store)", input: directory.path + "/export",
                    environment: environment)
            }

            let moments = try await moments(of: imported) { environment in
                let first = try await importing(imported, environment)
                #expect(first.code == 0, "\(first.errors)")
            }
            for moment in moments {
                // 1 says that there are sessions already.
                let again = try await importing(moment)
                #expect([0, 1].contains(again.code), "\(moment): \(again.errors)")
                try await verify([moment], sessions)
            }

            let purged = sessions[0]
            let purging = try await self.moments(of: imported) { environment in
                try await succeed(
                    "sessions", "purge", purged.text, "--store", "sqlite:\(imported)", environment: environment)
            }
            for moment in purging {
                let again = try await run("sessions", "purge", purged.text, "--store", "sqlite:\(moment)")
                #expect(again.code == 0 || again.errors.contains(purged.text), "\(moment): \(again.errors)")
                try await verify([moment], Array(sessions.dropFirst()))
            }
        }

        @Test(.longForm) func `a backup is whole or not there`() async throws {
            let sessions = try await prepare()

            let moments = try await moments(of: backups) { environment in
                try await succeed(
                    "backup", backups + "/copy", "--store", "sqlite:\(store)", environment: environment)
            }

            for moment in moments {
                if !FileManager.default.fileExists(atPath: moment + "/copy") {
                    try await succeed("backup", moment + "/copy", "--store", "sqlite:\(store)")
                }
                try await succeed("restore", moment + "/copy", "--store", "sqlite:\(moment)/restored")
                try await verify([moment + "/restored"], sessions)
            }
        }

        @Test func `an account is there or can be added`() async throws {
            let password = directory.path + "/password"
            try Data("correct horse battery\n".utf8).write(to: URL(filePath: password))
            func add(_ apps: String, _ environment: [String: String] = [:]) async throws -> Output {
                try await run(
                    "accounts", "add", "ann@example.org", "--data-directory", apps, input: password,
                    environment: environment)
            }

            let moments = try await moments(of: apps) { environment in
                let added = try await add(apps, environment)
                #expect(added.code == 0, "\(added.errors)")
            }

            for moment in moments {
                let before = try await run("accounts", "list", "--data-directory", moment)
                let added = try await add(moment)
                #expect(added.code == 0 || before.output.contains("ann@example.org"), "\(moment): \(added.errors)")
                let after = try await run("accounts", "list", "--data-directory", moment)
                #expect(after.code == 0 && after.output.contains("ann@example.org"), "\(moment): \(after.errors)")
            }
        }

        // MARK: -

        /// A store with three sessions, each with an event.
        private func prepare(killed: Bool = false) async throws -> [SessionID] {
            for path in [backups, apps] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            let server = try await ServerUnderTest(directory: directory.path)
            let port = server.port
            let ids = try await blocking {
                let client = BlockingClient(port: port)
                return try (1...3).map { number in
                    let session = try SessionUnderTest(client)
                    #expect(try session.postAndRemember(number, key: "key", client))
                    return try #require(SessionID(session.id))
                }
            }
            if killed { try await server.kill() } else { try await server.stop() }
            return ids
        }

        /// The copies of a directory that were made while a program ran, without those that equal the one before; of
        /// many, the short form tries some.
        private func moments(
            of watched: String, _ body: ([String: String]) async throws -> Void
        ) async throws -> [String] {
            let copies = directory.path + "/copies-\(UUID())"
            try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: true)
            try await body(["LD_PRELOAD": try await Preloaded.copies, "WATCHED": watched, "COPIES": copies])
            var moments: [String] = []
            var last: [String: Data] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: copies).sorted() {
                let content = try KillMomentTests.content(of: copies + "/" + name)
                if moments.isEmpty || content != last { moments.append(copies + "/" + name) }
                last = content
            }
            #expect(moments.count > 3, "the program was not watched")
            return Scale.factor == 1 ? Array(moments.shuffled().prefix(4)) : moments
        }

        /// The directory's files. What is only shared between processes does not count.
        private static func content(of path: String) throws -> [String: Data] {
            var content: [String: Data] = [:]
            for file in try FileManager.default.subpathsOfDirectory(atPath: path) where !file.hasSuffix("-shm") {
                content[file] = try? Data(contentsOf: URL(filePath: path + "/" + file))
            }
            return content
        }

        /// - Parameters:
        ///   - mayBeMissing: whether there may be no store yet.
        ///   - mayAskForServer: whether a command that only reads may say that a server has to be started first.
        private func verify(
            _ moments: [String], _ sessions: [SessionID], mayBeMissing: Bool = false, mayAskForServer: Bool = false
        ) async throws {
            for moment in moments {
                let list = try await run("sessions", "list", "--store", "sqlite:\(moment)")
                let isExcused =
                    mayBeMissing && list.errors.contains("there is no store")
                    || mayAskForServer && list.errors.contains("start the server, which does so")
                #expect(isExcused || list.code == 0, "\(moment): \(list.errors)")
                if !isExcused { for id in sessions { #expect(list.output.contains(id.text), "\(moment)") } }

                let store = try SQLiteStore(directory: moment) { Issue.record("\($0)") }
                for id in sessions { #expect(try await store.load(id, token: nil)?.record.version == 2, "\(moment)") }
                await store.close()
                #expect(!FileManager.default.fileExists(atPath: moment + "/sessions.sqlite.new"), "\(moment)")
                try await succeed("check", "--store", "sqlite:\(moment)", "--data-directory", apps)
            }
        }

        private typealias Output = (code: Int32, output: String, errors: String)

        private func run(
            _ arguments: String..., input: String = "/dev/null", environment: [String: String] = [:]
        ) async throws -> Output {
            try await run(arguments, input: input, environment: environment)
        }

        private func run(_ arguments: [String], input: String, environment: [String: String]) async throws -> Output {
            let command = ["-c", "exec \"$@\" < '\(input)'", "sh", try Program.server.path] + arguments
            return try await Program(URL(filePath: "/bin/sh"), command, environment: environment).exit()
        }

        private func succeed(
            _ arguments: String..., input: String = "/dev/null", environment: [String: String] = [:]
        ) async throws {
            let (code, _, errors) = try await run(arguments, input: input, environment: environment)
            #expect(code == 0, "\(arguments): \(errors)")
        }
    }
}
