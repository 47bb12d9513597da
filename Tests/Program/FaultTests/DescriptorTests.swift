import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    /// A server that may open few files, and many connections to it.
    @Suite struct DescriptorTests {
        /// How many files the server may open when it starts, and how many later.
        @Test(arguments: [(256, 256), (10_000, 100)])
        func `a flood of connections takes no processor time, and after it the server answers`(
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
            // Once those that fit are accepted, the server rests.
            try await eventually {
                let (before, start) = (try server.processorTime, ContinuousClock.now)
                try await Task.sleep(for: .milliseconds(500))
                let share = try (server.processorTime - before) / ((ContinuousClock.now - start) / .seconds(1))
                return share < 0.2
            }
            flood.end()

            // Not only when connections have been idle for an hour.
            #expect(BlockingClient(port: server.port).call("GET", "/livez")?.status == 200)
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
