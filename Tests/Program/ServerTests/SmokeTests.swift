import Foundation
import Testing
import TestSupport

@Suite struct SmokeTests {
    @Test func `the smoke script succeeds for every reference app`() async throws {
        let (program, port, _) = try await ServerTests.start()
        let smoke = repository.appending(path: "scripts/smoke")

        let result = try await Program(smoke, ["http://127.0.0.1:\(port)"]).exit()

        #expect(result.code == 0, "\(result.output.suffix(1000))\(result.errors)")
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }
}
