import Foundation
import Glibc
import Testing
import TestSupport

extension WaitingFaults {
    @Suite struct BackupTests {
        /// Some stored sessions, and an empty directory for a backup of them.
        static func prepare(sessions: Int) async throws -> (directory: TemporaryDirectory, target: String) {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            try await blocking {
                let client = BlockingClient(port: server.port)
                for _ in 0..<sessions { _ = try SessionUnderTest(client) }
            }
            try await server.stop()
            try FileManager.default.createDirectory(
                atPath: "\(directory.path)/backups", withIntermediateDirectories: true)
            return (directory, "\(directory.path)/backups")
        }

        static func start(_ directory: String, _ wrapper: [String], _ hold: Hold? = nil) throws -> Program {
            let command = [
                try Program.server.path, "backup", "\(directory)/backups/copy", "--store",
                "sqlite:\(directory)/store",
            ]
            return try Program(
                URL(filePath: "/usr/bin/env"), wrapper + command, environment: hold?.environment ?? [:])
        }

        static func files(in path: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: path)
        }

        @Test func `a backup that fails leaves nothing behind, and names its file`() async throws {
            let (directory, target) = try await BackupTests.prepare(sessions: 300)

            let result = try await BackupTests.start(directory.path, ["prlimit", "--fsize=80000"]).exit()

            #expect(result.code == EX_IOERR)
            #expect(result.errors.hasPrefix("Error: \(target)/copy cannot be written: "))
            #expect(try BackupTests.files(in: target) == [])
        }

        @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        func `a backup that is interrupted leaves nothing behind`(signal: Int32) async throws {
            let (directory, target) = try await BackupTests.prepare(sessions: 40)

            let hold = try await Hold.amidWriting()
            let backup = try BackupTests.start(directory.path, [], hold)
            try await hold.wait()
            #expect(try BackupTests.files(in: target) != [])
            backup.signal(signal)

            #expect(try await backup.end() == 128 + signal)
            #expect(try BackupTests.files(in: target) == [])
        }
    }
}
