import Foundation
import Glibc
import Testing
import TestSupport

extension WaitingFaults {
    /// A backup is proven by restoring it.
    @Suite struct RestoreTests {
        let directory = TemporaryDirectory()
        var store: String { "sqlite:\(directory.path)/store" }
        var restored: String { "\(directory.path)/restored" }
        var copy: String { "\(directory.path)/copy" }

        private func run(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
            try await Program(try Program.server, arguments).exit()
        }

        /// The sessions of one client, who posts to one after the other, and waits for each answer.
        private final class Client: Sendable {
            let sessions: [SessionUnderTest]
            let poster: Poster

            init(_ number: Int, port: Int) throws {
                let client = BlockingClient(port: port)
                sessions = try (0..<5).map { _ in try SessionUnderTest(client) }
                poster = Poster(number, port: port, sessions)
            }

            /// How many events have been acknowledged.
            var count: Int { sessions.reduce(0) { $0 + $1.count } }

            /// The sessions' versions, after a number of events.
            func versions(after count: Int) -> [Int] {
                sessions.indices.map { index in 1 + (1..<count + 1).count { $0 % sessions.count == index } }
            }
        }

        @Test func `a backup under load has one moment's state, with everything acknowledged before`() async throws {
            let server = try await ServerUnderTest(directory: directory.path)
            let port = server.port
            let clients = try await blocking { try (1...4).map { try Client($0, port: port) } }
            async let load: Void = clients.map(\.poster).postUntilCut()
            try await eventually { clients.allSatisfy { $0.count > 100 } }

            let before = clients.map(\.count)
            let hold = try await Hold.amidWriting()
            let backup = try Program(
                try Program.server, ["backup", copy, "--store", store], environment: hold.environment)
            try await hold.wait()
            // It is held until each has posted more.
            try await eventually { zip(clients, before).allSatisfy { $0.count > $1 + 5 } }
            try hold.release()
            let backedUp = try await backup.exit()
            try await server.kill()
            try await load

            #expect(backedUp.code == 0 && backedUp.output == "\(copy): 20 sessions\n")
            let result = try await run("restore", copy, "--store", "sqlite:\(restored)")
            #expect(result.code == 0 && result.errors == "")
            #expect(result.output.hasPrefix("sqlite:\(restored): 20 sessions, damaged: 0, the newest change of 20"))
            let check = try await run("check", "--store", "sqlite:\(restored)", "--data-directory", directory.path)
            #expect(check.code == 0 && check.output.contains("restored: 20, migrated: 0, "))
            let other = try await ServerUnderTest(directory: directory.path, store: "sqlite:\(restored)")
            for (client, (least, most)) in zip(clients, zip(before, clients.map { $0.count + 1 })) {
                let there = BlockingClient(port: other.port)
                let versions = try client.sessions.map { session in
                    try #require(there.call("GET", session.path, token: session.token)?.version)
                }
                let count = versions.reduce(0) { $0 + $1 - 1 }
                #expect(count >= least && count <= most)
                #expect(versions == client.versions(after: count), "an event is there without those before it")
            }
            try await other.stop()
        }

        @Test func `a restore that fails leaves no store, and names its file`() async throws {
            let (directory, target) = try await BackupTests.prepare(sessions: 300)
            #expect(try await BackupTests.start(directory.path, []).exit().code == 0)

            let result = try await restore("\(target)/copy", ["prlimit", "--fsize=80000"]).exit()

            #expect(result.code == EX_IOERR && result.output == "")
            #expect(result.errors.hasPrefix("Error: \(restored)/sessions.sqlite cannot be written: "))
            #expect(!FileManager.default.fileExists(atPath: restored))
            #expect(try await restore("\(target)/copy").exit().code == 0, "the next one finds nothing in its way")
        }

        @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        func `a restore that is interrupted leaves no store`(signal: Int32) async throws {
            let (directory, target) = try await BackupTests.prepare(sessions: 40)
            #expect(try await BackupTests.start(directory.path, []).exit().code == 0)

            let hold = try await Hold.amidWriting()
            let restore = try restore("\(target)/copy", hold: hold)
            try await hold.wait()
            #expect(try BackupTests.files(in: restored).count > 1)
            restore.signal(signal)

            #expect(try await restore.end() == 128 + signal)
            #expect(try BackupTests.files(in: restored) == ["lock"])
        }

        private func restore(_ file: String, _ wrapper: [String] = [], hold: Hold? = nil) throws -> Program {
            let command = [try Program.server.path, "restore", file, "--store", "sqlite:\(restored)"]
            return try Program(
                URL(filePath: "/usr/bin/env"), wrapper + command, environment: hold?.environment ?? [:])
        }
    }
}
