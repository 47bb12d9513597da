import Coordinators
import Foundation
@testable import Sessions
import Synchronization
import TestSupport
import Testing

/// Sessions that are being loaded from the store, while other calls read, change or end them.
@Suite struct LoadingTests {
    let store = HeldStore()

    func host(liveLimit: Int = 100, _ adjust: (inout SessionSettings) -> Void = { _ in }) -> SessionHost {
        var settings = SessionSettings.unhurried
        settings.liveLimit = liveLimit
        adjust(&settings)
        return SessionHost(apps: [SessionHostTests.app], store: store, settings: settings, now: TestClock().read)
    }

    /// A session that was evicted from a host with room for one, and the same as it was opened before its eviction.
    func evicted() async throws -> (host: SessionHost, created: CreatedSession, before: AuthorizedSession) {
        let host = host(liveLimit: 1)
        let created = try await host.create()
        let before = try await host.session(created.id, token: created.token.text)
        try await host.evictAll()
        return (host, created, before)
    }

    @Test func `whoever waits for a first commit that fails gets its error`() async throws {
        let store = HeldStore()
        let clock = TestClock()
        let host = SessionHostTests.make(store: store, clock: clock)
        let once = IdempotentRequest(key: "a key that nobody can guess", request: []) { _ in [] }
        // The client knows the token from an earlier try, of which nothing is left.
        let earlier = try await host.create(once: once)
        try await host.session(earlier.id, token: earlier.token.text).end()
        clock.advance(48 * 60 * 60)
        #expect(try await host.sweep() == 1)

        store.failure.withLock { $0 = .full }
        store.hold(.commit)
        let creating = Task { try await host.create(once: once) }
        try await eventually { store.heldCount == 1 }
        let waiting = Task.immediate { try await host.session(earlier.id, token: earlier.token.text) }
        store.release()

        await #expect(throws: SessionError.storageFull) { try await creating.value }
        await #expect(throws: SessionError.storageFull) { _ = try await waiting.value }
    }

    @Test func `a state that another build has made has another tag, under which events may be posted`() async throws {
        let created = try await host { $0.build = 1 }.create()
        let host = host { $0.build = 0xAB }
        let session = try await host.session(created.id, token: created.token.text)
        #expect(try session.state().tag == VersionTag(1, build: 0xAB))
        #expect(
            try await self.host { $0.build = 1 }.session(created.id, token: created.token.text).state().tag
                == VersionTag(1))

        _ = try await session.apply(PostedEvent("pass", payload: 1), if: .oneOf([VersionTag(1)]))

        #expect(try session.state().tag == VersionTag(2))
        let record = try await store.load(created.id, token: nil)?.record
        #expect(record?.build == 0xAB && record?.isFull == true)
        _ = try await session.apply(PostedEvent("pass", payload: 2))
        let again = self.host { $0.build = 0xAB }
        #expect(try await again.session(created.id, token: created.token.text).state().tag == VersionTag(3))
    }

    @Test func `all requests for a session share one load of it`() async throws {
        let created = try await host().create()
        let host = host()
        store.hold(.load(hasToken: true))

        let asking = (0..<8).map { _ in
            Task.immediate { try await host.session(created.id, token: created.token.text) }
        }
        try await eventually { store.heldCount == 1 }
        store.release()

        for one in asking { #expect(try await one.value.state().version == 1) }
        #expect(store.count(of: .load(hasToken: true)) == 1 && host.liveCount == 1)
    }

    @Test func `a request with a wrong token does not wait for the owner's load`() async throws {
        let created = try await host().create()
        let host = host()
        store.hold(.load(hasToken: true))
        let owner = Task.immediate { try await host.session(created.id, token: created.token.text) }
        let stranger = Task.immediate { try await host.session(created.id, token: "wrong") }

        try await eventually { store.heldCount == 2 }
        store.release()

        #expect(try await owner.value.state().version == 1)
        await #expect(throws: SessionError.unauthorized) { try await stranger.value }
    }

    @Test func `a load that began before the session ended does not bring it back`() async throws {
        let (host, created, before) = try await evicted()
        store.hold(.load(hasToken: true))
        let late = Task.immediate { try await host.session(created.id, token: created.token.text) }
        try await eventually { store.heldCount == 1 }

        try await before.end()
        store.release()

        await #expect(throws: SessionError.ended) { try await late.value }
        await #expect(throws: SessionError.ended) { try await host.session(created.id, token: created.token.text) }
    }

    @Test func `a load that began before an event does not bring back the older version`() async throws {
        let (host, created, before) = try await evicted()
        store.hold(.load(hasToken: true))
        let late = Task.immediate { try await host.session(created.id, token: created.token.text) }
        try await eventually { store.heldCount == 1 }

        #expect(try await before.apply(PostedEvent("pass", payload: 1)).state.version == 2)
        try await host.evictAll()
        store.release()

        let session = try await late.value
        #expect(try session.state().version == 2)
        #expect(try await session.apply(PostedEvent("pass", payload: 2)).state.version == 3)
    }

    @Test func `after a conflict, all waiting events are applied to the version of the other server`() async throws {
        let gate = Gate()
        let (one, other) = (host(), host())
        let created = try await one.create()
        let session = try await one.session(created.id, token: created.token.text)

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate { try await session.apply(PostedEvent("wait", payload: 1)) }
            let second = Task.immediate { try await session.apply(PostedEvent("pass", payload: 2)) }
            try await eventually { gate.waitingCount == 1 }
            let elsewhere = try await other.session(created.id, token: created.token.text)
            _ = try await elsewhere.apply(PostedEvent("pass", payload: 3))
            gate.open()

            #expect(SessionHostTests.passed(try await first.value.state) == [3, 1])
            #expect(SessionHostTests.passed(try await second.value.state) == [3, 1, 2])
        }
    }

    @Test func `a session is ended before the events that wait, however many these are`() async throws {
        let gate = Gate()
        let host = host { $0.waitingLimit = 1 }
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate { try await session.apply(PostedEvent("wait", payload: 1)) }
            let second = Task.immediate { try await session.apply(PostedEvent("pass", payload: 2)) }
            try await eventually { gate.waitingCount == 1 }
            await #expect(throws: SessionError.tooManyWaiting) {
                try await session.apply(PostedEvent("pass", payload: 3))
            }
            let end = Task.immediate { try await session.end() }
            gate.open()

            _ = try await first.value
            try await end.value
            await #expect(throws: SessionError.ended) { try await second.value }
        }
        #expect(throws: SessionError.ended) { try session.state() }
    }

    @Test func `a device is revoked before its events that wait`() async throws {
        let gate = Gate()
        let host = host()
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        let paired = try await host.pair(try await session.openPairing(label: nil).code.text)
        let device = try await host.session(paired.id, token: paired.token.text)

        try await Gate.$current.withValue(gate) {
            let first = Task.immediate { try await device.apply(PostedEvent("wait", payload: 1)) }
            let second = Task.immediate { try await device.apply(PostedEvent("pass", payload: 2)) }
            try await eventually { gate.waitingCount == 1 }
            let revoked = Task.immediate { try await session.revokeToken(2) }
            gate.open()

            _ = try await first.value
            #expect(SessionHostTests.passed(try await revoked.value) == [1])
            await #expect(throws: SessionError.unauthorized) { try await second.value }
        }
    }

    @Test func `an event to an evicted session counts once against the rate limit`() async throws {
        let host = host(liveLimit: 1) { $0.eventRate = 2 }
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        try await host.evictAll()

        _ = try await session.apply(PostedEvent("pass", payload: 1))

        let again = try await host.session(created.id, token: created.token.text)
        for number in 2...3 { _ = try await again.apply(PostedEvent("pass", payload: .integer(number))) }
        await #expect(throws: SessionError.tooManyEvents(rate: 2, retryAfter: 1)) {
            try await again.apply(PostedEvent("pass", payload: 4))
        }
    }
}

extension SessionHost {
    /// Evicts the sessions of a host with room for one by creating others.
    func evictAll() async throws {
        for _ in 0..<3 { _ = try await create() }
    }
}
