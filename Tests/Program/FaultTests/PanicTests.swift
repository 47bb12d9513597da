import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    @Suite struct PanicTests {
        /// A system call fails that never fails, so libmicrohttpd finds its own state broken when a connection ends.
        @Test func `a panic of libmicrohttpd is logged, and ends the process with a code of its own`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)

            try await PanicTests.panic(server)

            let (code, _, errors) = try await server.program.exit()
            #expect(code == EX_OSERR)
            #expect(errors.contains(/libmicrohttpd panic at daemon\.c:\d+: Failed to remove FD from epoll set/))
        }

        @Test func `a panic of libmicrohttpd ends the process also when nobody reads the log`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            LogTests.fill(server)

            try await PanicTests.panic(server)

            #expect(try await server.program.end() == EX_OSERR)
        }

        static func panic(_ server: ServerUnderTest) async throws {
            // The calls of each thread alternate between the beginning and the end of a connection.
            let strace = try Program(
                URL(filePath: "/usr/bin/env"),
                [
                    "strace", "-f", "-p", "\(server.program.processID)", "-e", "trace=epoll_ctl", "-e",
                    "inject=epoll_ctl:error=ENOENT:when=2+2", "-o", "/dev/null",
                ])

            let client = BlockingClient(port: server.port)
            try await eventually {
                defer { client.disconnect() }
                _ = client.call("GET", "/livez")
                return client.isRefused
            }

            // strace ends with the server.
            _ = strace
        }
    }
}
