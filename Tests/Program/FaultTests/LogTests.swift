import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    /// The log while nobody reads it: `Program` does not, unless it is asked to.
    @Suite struct LogTests {
        /// So many events that neither the pipe nor the server's queue can hold what is logged about them.
        static let much = 16_000
        static let text = ["--log-format", "text"]

        /// Posts events that fail, each of which is logged.
        static func fail(_ count: Int, _ server: ServerUnderTest) async throws {
            let threads = 4
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<threads {
                    group.addTask {
                        try await blocking {
                            let client = BlockingClient(port: server.port)
                            let session = try SessionUnderTest(client)
                            for _ in 0..<count / threads {
                                let reply = client.call(
                                    "POST", "\(session.path)/events", token: session.token, body: #"{"type":"fail"}"#)
                                guard reply?.status == 500 else { throw TestFailure("\(reply?.status ?? 0)") }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// Fills the pipe that the log is written to.
        static func fill(_ server: ServerUnderTest) {
            let pipe = open("/proc/\(server.program.processID)/fd/2", O_WRONLY | O_NONBLOCK)
            while write(pipe, "x", 1) == 1 {}
            close(pipe)
        }

        @Test func `a log that nobody reads delays neither requests nor the end`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let client = BlockingClient(port: server.port)

            try await LogTests.fail(LogTests.much, server)

            for _ in 0..<20 { #expect(client.call("GET", "/readyz")?.status == 200) }
            #expect(try SessionUnderTest(client).post(1, key: "key-1", client)?.status == 200)
            client.disconnect()
            try await server.stop()
        }

        @Test func `when the log is read again, it says how many messages are missing`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: LogTests.text)

            try await LogTests.fail(LogTests.much, server)
            let log = try await server.program.errors(until: " messages were dropped: the log could not be written")

            let match = try #require(log.firstMatch(of: /warning: (\d+) messages were dropped/))
            let dropped = try #require(Int(match.output.1))
            let logged = log.split(separator: "\n").count { $0.contains("error: handler-failed ") }
            #expect(logged + dropped == LogTests.much)
            try await LogTests.fail(4, server)
            _ = try await server.program.errors(until: "handler-failed")
            try await server.stop()
        }

        @Test(.enabled(if: DiskTests.canMount))
        func `a full disk under the log stops nothing, and the log says afterwards how many messages are missing`()
            async throws
        {
            let (directory, disk) = (TemporaryDirectory(), TemporaryDirectory())
            #expect(try await DiskTests.run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk.path) == 0)
            let log = disk.path + "/log"
            let server = try await ServerUnderTest(
                directory: directory.path, flags: ["--admin-port", "0"],
                wrapper: ["sh", "-c", #"exec "$@" 2>>\#(log)"#, "sh"])
            func whole(_ text: String) -> Int {
                text.split(separator: "\n").count {
                    $0.hasPrefix("{") && $0.hasSuffix("}") && $0.contains("handler-failed")
                }
            }
            try await LogTests.fail(4000, server)
            // The log is written by a thread of its own.
            try await eventually {
                let written = whole(try String(contentsOfFile: log, encoding: .utf8))
                return try written + server.metric("coordinatord_log_messages_dropped_total") == 4000
            }
            try FileManager.default.copyItem(atPath: log, toPath: directory.path + "/full")
            // What is written from here on is written whole.
            #expect(truncate(log, 0) == 0)
            try await LogTests.fail(4, server)
            try await server.stop()

            let full = try String(contentsOfFile: directory.path + "/full", encoding: .utf8)
            let later = try String(contentsOfFile: log, encoding: .utf8)
            let lines = (full + later).split(separator: "\n")
            let dropped = lines.compactMap { $0.firstMatch(of: /"message":"(\d+) messages were dropped/) }
                .compactMap { Int($0.output.1) }.reduce(0, +)
            #expect(dropped > 1000)
            #expect(whole(full) + whole(later) + dropped == 4004)
            #expect(later.split(separator: "\n").allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
            #expect(try await DiskTests.run("umount", disk.path) == 0)
        }

        @Test func `a failed flush ends the process also when nobody reads the log`() async throws {
            let directory = TemporaryDirectory()
            try await ServerUnderTest(directory: directory.path).stop()
            let server = try await ServerUnderTest(
                directory: directory.path,
                wrapper: [
                    "strace", "-D", "-f", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-e",
                    "inject=fsync,fdatasync:error=EIO:when=20", "-o", "/dev/null",
                ])
            LogTests.fill(server)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)

            var value = 1
            while session.post(value, key: "key-\(value)", client)?.status == 200 { value += 1 }

            #expect(try await server.program.end() == EX_IOERR)
        }

        @Test func `a write that fails is logged with its cause, the request and the session`() async throws {
            let directory = TemporaryDirectory()
            try await ServerUnderTest(directory: directory.path).stop()
            let server = try await ServerUnderTest(
                directory: directory.path, flags: LogTests.text,
                wrapper: [
                    "strace", "-D", "-f", "--seccomp-bpf", "-P", "\(directory.path)/store/sessions.sqlite-wal", "-e",
                    "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:when=60", "-o", "/dev/null",
                ])
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)

            let refused = try await blocking {
                var value = 1
                while let reply = session.post(value, key: "key-\(value)", client) {
                    if reply.status != 200 { return reply }
                    value += 1
                }
                throw TestFailure("cut")
            }

            #expect(refused.status == 503 && refused.text.contains("not-applied"))
            // A write of a chore may have failed first, with a warning.
            let log = try await server.program.errors(until: "status=503")
            #expect(log.contains("error: not-applied cause=\"disk I/O error"))
            #expect(log.contains("session=\(session.id) status=503") && log.contains(" request="))
            #expect(!refused.text.contains("I/O"))
            try await server.kill()
        }

        /// The server announces itself there, but can be used without anybody reading that.
        @Test func `a standard output that nobody reads does not keep the server from serving`() async throws {
            let directory = TemporaryDirectory()
            let full = Pipe()
            let writing = full.fileHandleForWriting.fileDescriptor
            _ = fcntl(writing, F_SETFL, O_NONBLOCK)
            while write(writing, "x", 1) == 1 {}
            _ = fcntl(writing, F_SETFL, 0)
            let server = Process()
            server.executableURL = try Program.server
            server.arguments = ["serve", "--port", "0", "--store", "memory"]
            server.environment = ["COORDINATORD_ADDRESS_FILE": "\(directory.path)/address"]
            server.standardOutput = full

            try server.run()

            defer { kill(server.processIdentifier, SIGKILL) }
            var port = 0
            try await eventually {
                let address = try? String(contentsOfFile: "\(directory.path)/address", encoding: .utf8)
                let word = address?.split(separator: " ").last?.trimmingCharacters(in: .newlines)
                port = word.flatMap { Int($0) } ?? 0
                return port > 0
            }
            #expect(BlockingClient(port: port).call("GET", "/readyz")?.status == 200)
            kill(server.processIdentifier, SIGTERM)
            try await blocking { server.waitUntilExit() }
            #expect(server.terminationStatus == 0 && server.terminationReason == .exit)
        }
    }
}
