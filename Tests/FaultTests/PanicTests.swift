import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    @Suite struct PanicTests {
        /// The system refuses what it never refuses, so libmicrohttpd finds its own state broken when a connection ends.
        @Test func `a panic of libmicrohttpd is told, and ends the process with a code of its own`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path,
                wrapper: [
                    "strace", "-D", "-f", "--seccomp-bpf", "-e", "trace=epoll_ctl", "-e",
                    // Each thread's first call is for the connection's beginning.
                    "inject=epoll_ctl:error=ENOENT:when=2+", "-o", "/dev/null",
                ])

            let client = BlockingClient(port: server.port)
            try await eventually {
                defer { client.disconnect() }
                return client.call("GET", "/livez") == nil
            }

            let (code, _, errors) = try await server.program.exit()
            #expect(code == EX_OSERR)
            #expect(errors.contains(/libmicrohttpd panic at daemon\.c:\d+: Failed to remove FD from epoll set/))
        }
    }
}
