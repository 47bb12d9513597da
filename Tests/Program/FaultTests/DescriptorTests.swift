import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    /// A server that may open few files, and many connections to it.
    @Suite struct DescriptorTests {
        /// How many files the server may open when it starts, and how many later.
        @Test(arguments: [(256, 256), (10_000, 100)])
        func `a flood of connections takes no processor time, and after it the server answers at once`(
            first: Int, then: Int
        ) async throws {
            DescriptorTests.allowMany()
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path, wrapper: ["prlimit", "--nofile=\(first):10000"])
            #expect(BlockingClient(port: server.port).call("GET", "/livez")?.status == 200)
            let memory = try server.residentMemory
            try await server.limitDescriptors(to: then)
            let flood = Flood(port: server.port)

            flood.hold(2000)
            try await Task.sleep(for: .seconds(1))
            let before = try server.processorTime
            try await Task.sleep(for: .seconds(3))
            let time = try server.processorTime - before
            flood.end()
            let end = ContinuousClock.now

            let status = try await blocking { BlockingClient(port: server.port).call("GET", "/livez")?.status }
            #expect(status == 200)
            #expect(ContinuousClock.now - end < .seconds(1))
            #expect(time < 0.6, "of 3 s")
            #expect(try server.residentMemory - memory < 16 * 1024)
            try await server.stop()
        }

        /// Lets this process open as many files as a flood needs.
        static func allowMany() {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = min(limit.rlim_max, 10_000)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
    }
}

extension ServerUnderTest {
    fileprivate func limitDescriptors(to count: Int) async throws {
        let code = try await Program(
            URL(filePath: "/usr/bin/env"), ["prlimit", "--pid", "\(program.processID)", "--nofile=\(count):10000"]
        ).end()
        guard code == 0 else { throw TestFailure("prlimit ended with \(code)") }
    }
}
