import Foundation
import Logging
import Synchronization
import Testing
import TestSupport

@testable import CoordinatorServer

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
        let start = ContinuousClock.now
        let (program, port, _) = try await ServerTests.start("--sessions", "1", "--log-format", "text")
        let connection = try Connection(port: port)
        #expect(try await connection.request("POST", "/v1/sessions").status == 201)

        let statuses = try await connection.statuses(of: 300, "POST", "/v1/sessions")

        #expect(statuses == Array(repeating: 503, count: 300))
        program.signal(SIGTERM)
        let lines = try await program.exit().errors.split(separator: "\n").filter { $0.contains("too-many-sessions") }
        let seconds = Int((ContinuousClock.now - start).components.seconds) + 1
        #expect((1...10 * seconds).contains(lines.count))
        #expect(lines.allSatisfy { $0.contains(" warning: too-many-sessions cause=\"Too many sessions\"") })
    }

    @Test func `ten lines a second are written for a problem, and the next one says how many were left out`() {
        let clock = StandingClock()
        let log = FailureLog(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now })

        let first = (0..<300).map { _ in log.admit("too-many-sessions") }
        let other = log.admit("storage-full")
        clock.advance(by: .milliseconds(999))
        let late = log.admit("too-many-sessions")
        clock.advance(by: .milliseconds(1))
        let second = (0..<11).map { _ in log.admit("too-many-sessions") }

        #expect(first.prefix(10).allSatisfy { $0 == 0 } && first.dropFirst(10).allSatisfy { $0 == nil })
        #expect(other == 0 && late == nil)
        #expect(second == [291, 0, 0, 0, 0, 0, 0, 0, 0, 0, nil])
    }
}

/// Stands still until a test advances it.
private final class StandingClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { instant.withLock { $0 } }
    func advance(by duration: Duration) { instant.withLock { $0 += duration } }
}
