import Coordinators
import Foundation
import Synchronization
import Testing

@testable import Sessions

/// Expiry while the wall clock is set back.
@Suite struct ClockTests {
    @Test func `an expired session stays expired when the clock is set back`() async throws {
        let clock = TestClock()
        let host = SessionHostTests.make(clock: clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        clock.advance(25 * 3600)
        #expect(throws: SessionError.expired) { try session.state() }

        clock.advance(-24 * 3600)

        #expect(throws: SessionError.expired) { try session.state() }
        await #expect(throws: SessionError.expired) { try await session.apply(PostedEvent("pass", payload: 1)) }
    }

    @Test func `a server started after the clock was set back goes on from the store's latest time`() async throws {
        let clock = TestClock()
        let store = MemoryStore()
        let first = SessionHostTests.make(store: store, clock: clock)
        let created = try await first.create()
        clock.advance(25 * 3600)
        try await first.sweep()
        clock.advance(-24 * 3600)

        let reports = Mutex<[String]>([])
        let second = SessionHost(apps: [SessionHostTests.app], store: store, settings: .unhurried, now: clock.read) {
            report in
            reports.withLock { $0.append(report) }
        }

        await #expect(throws: SessionError.expired) {
            try await second.session(created.id, token: created.token.text)
        }
        #expect(
            reports.withLock { $0 }
                == ["the clock is 86400 seconds behind the newest record; time goes on from there"])
    }

    @Test func `a time that is far ahead makes and removes no sessions, and says so`() async throws {
        let clock = TestClock()
        let store = MemoryStore()
        let created = try await SessionHostTests.make(store: store, clock: clock).create()
        clock.advance(8000 * 365 * 86_400)
        let ahead = SessionHostTests.make(store: store, clock: clock)
        _ = try await ahead.create()
        #expect(ahead.condition.failure == nil)

        clock.advance(-8000 * 365 * 86_400)

        for host in [ahead, SessionHostTests.make(store: store, clock: clock)] {
            let failure = try #require(host.condition.failure)
            #expect(failure.hasPrefix("the server's time is ") && failure.contains("reset-clock"))
            await #expect(throws: SessionError.notApplied(reason: failure)) { _ = try await host.create() }
            #expect(try await host.sweep() == 0)
        }
        #expect(try store.load(created.id, token: nil) != nil)
    }

    @Test func `time never goes back, and jumps forward to a clock that is ahead`() {
        let wall = Mutex(1_000_000.0)
        let uptime = Mutex(5.0)
        let clock = SteadyClock(
            startingAt: .distantPast, wall: { Date(timeIntervalSince1970: wall.withLock { $0 }) },
            uptime: { uptime.withLock { Int($0 * 1e6) } })
        func pass(_ seconds: Double, wall moved: Double) -> Double {
            uptime.withLock { $0 += seconds }
            wall.withLock { $0 += moved }
            return clock.now().timeIntervalSince1970
        }

        #expect(pass(0, wall: 0) == 1_000_000)
        #expect(pass(10, wall: 10) == 1_000_010)
        #expect(pass(10, wall: -3600) == 1_000_020, "set back")
        #expect(pass(10, wall: 10) == 1_000_030)
        #expect(pass(1, wall: 7200) == 1_003_620, "set forward")
        #expect(pass(1, wall: 1) == 1_003_621)
        #expect(pass(1, wall: 90_000) == 1_003_622, "far ahead")
        #expect(pass(58, wall: 58) == 1_003_680, "not yet for a minute")
        #expect(pass(1, wall: -89_998) == 1_003_681, "and not any more")
        #expect(pass(1, wall: 90_000) == 1_003_682, "again, and the minute begins anew")
        #expect(pass(60, wall: 60) == 1_093_741, "for a minute")
    }
}
