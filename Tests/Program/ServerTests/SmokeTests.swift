import Foundation
import Testing
import TestSupport

@Suite struct SmokeTests {
    @Test func `the smoke script succeeds for every reference app`() async throws {
        // Streams are ended during the first half of the drain.
        let (program, port, _) = try await ServerTests.start("--drain-time", "6s")
        let smoke = repository.appending(path: "scripts/smoke")

        let result = try await Program(smoke, ["http://127.0.0.1:\(port)"]).exit()

        #expect(result.code == 0, "\(result.output.suffix(1000))\(result.errors)")
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }
}
