import Foundation
import Testing
import TestSupport

/// What the log of a server says about the requests that it could not serve.
@Suite struct FailureLogTests {
    @Test func `a handler that fails is logged with all that is needed to find it`() async throws {
        let (lines, session) = try await LogTests.log(["--log-format", "text"])

        let entry = """
            Z error: handler-failed app=numbers call=handle(fail) coordinator=number error=Failure event=fail \
            request=trace-4711 session=\(session) status=500
            """
        #expect(lines.contains { $0.hasSuffix(entry) })
    }

    /// All clients may be refused at once, and at any rate.
    @Test func `a flood of refusals does not flood the log`() async throws {
        let (program, port, _) = try await ServerTests.start("--sessions", "1", "--log-format", "text")
        let connection = try Connection(port: port)
        #expect(try await connection.request("POST", "/v1/sessions").status == 201)

        let start = ContinuousClock.now
        for _ in 0..<300 { #expect(try await connection.request("POST", "/v1/sessions").status == 503) }
        let seconds = Int((ContinuousClock.now - start).components.seconds) + 2
        try await Task.sleep(for: .milliseconds(1100))
        _ = try await connection.request("POST", "/v1/sessions")

        program.signal(SIGTERM)
        let lines = try await program.exit().errors.split(separator: "\n").filter { $0.contains("too-many-sessions") }
        #expect(lines.count <= seconds * 10 + 1)
        let leftOut = lines.compactMap { $0.firstMatch(of: /left-out=(\d+)/).flatMap { Int($0.output.1) } }
        #expect(lines.count + leftOut.reduce(0, +) == 301)
        #expect(lines.allSatisfy { $0.contains(" warning: too-many-sessions cause=\"Too many sessions\"") })
    }
}
