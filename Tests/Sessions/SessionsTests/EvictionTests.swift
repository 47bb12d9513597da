import Coordinators
import Foundation
import JSONCoding
import Sessions
import Synchronization
import TestSupport
import Testing

/// Sessions that are evicted from memory, and how they are restored.
@Suite(.serialized) struct EvictionTests {
    static let starts = Mutex(0)

    /// Counts how often it is started.
    struct Counting: Coordinator {
        static let name = "gate"
        var passed: [Int] = []
        enum Event: NavigationEvent {
            case pass(Int)
            static let examples: [Event] = [.pass(1)]
        }

        func start(_ navigator: inout Navigator) {
            EvictionTests.starts.withLock { $0 += 1 }
            navigator.push(Screen("gate"))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            if case .pass(let number) = event { passed.append(number) }
            navigator.defaults["last"] = .integer(passed.count)
        }
    }

    /// A later version of `Counting`. Its state differs, and it cannot read the older one.
    struct Renewed: Coordinator {
        static let name = "gate"
        var total: Int
        enum Event: NavigationEvent, CaseIterable { case more }

        init() { total = 0 }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("renewed")) }
        mutating func handle(_ event: Event, _ navigator: inout Navigator) { total += 1 }
    }

    /// The same, but it migrates the older state.
    struct Migrating: Coordinator {
        static let name = "gate"
        var total = 0
        enum Event: NavigationEvent, CaseIterable { case more }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("renewed")) }
        mutating func handle(_ event: Event, _ navigator: inout Navigator) { total += 1 }
        static func migrate(_ saved: JSON, from version: Int) -> JSON {
            ["total": .integer(saved["passed"]?.array?.count ?? 0)]
        }
    }

    static func host(
        _ app: App, _ store: any SessionStore, liveLimit: Int = 100, clock: TestClock = TestClock(),
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) -> SessionHost {
        var settings = SessionSettings.unhurried
        settings.liveLimit = liveLimit
        return SessionHost(apps: [app], store: store, settings: settings, now: clock.read, report: report)
    }

    static let app = App("gate", root: { Counting() })

    @Test func `sessions beyond the limit are evicted, and loaded again without being started`() async throws {
        let host = EvictionTests.host(EvictionTests.app, MemoryStore(), liveLimit: 10)
        let before = EvictionTests.starts.withLock { $0 }
        var created: [CreatedSession] = []
        for _ in 0..<50 { created.append(try await host.create()) }
        #expect(host.liveCount == 10)

        for round in 1...3 {
            for one in created.shuffled() {
                let session = try await host.session(one.id, token: one.token.text)
                let state = try await session.apply(PostedEvent("pass", payload: .integer(round))).state
                #expect(state.version == round + 1)
                #expect(host.liveCount <= 10)
            }
        }

        #expect(EvictionTests.starts.withLock { $0 } == before + 50)
        for one in created {
            let state = try await host.session(one.id, token: one.token.text).state()
            #expect((state.navigation.coordinators[0].coordinator as? Counting)?.passed == [1, 2, 3])
        }
    }

    @Test func `a busy session is not evicted, and a reference to an evicted one still works`() async throws {
        let host = EvictionTests.host(SessionHostTests.app, MemoryStore(), liveLimit: 1)
        let gate = Gate()
        let one = try await host.create()
        let held = try await host.session(one.id, token: one.token.text)

        try await Gate.$current.withValue(gate) {
            let waiting = Task.immediate { try await held.apply(PostedEvent("wait", payload: 1)) }
            try await eventually { gate.waitingCount == 1 }
            for _ in 0..<3 { _ = try await host.create() }
            #expect(host.liveCount == 2)
            gate.open()
            #expect(try await waiting.value.state.version == 2)
        }

        for _ in 0..<3 { _ = try await host.create() }
        #expect(try await held.apply(PostedEvent("pass", payload: 2)).state.version == 3)
        for _ in 0..<3 { _ = try await host.create() }
        try await held.end()
    }

    @Test func `a session saved by an older version of the app is migrated`() async throws {
        let store = MemoryStore()
        let first = EvictionTests.host(EvictionTests.app, store)
        let created = try await first.create()
        let session = try await first.session(created.id, token: created.token.text)
        for number in 1...3 { _ = try await session.apply(PostedEvent("pass", payload: .integer(number))) }
        let record = try #require(try store.load(created.id)?.record)

        let second = EvictionTests.host(App("gate", version: 2, root: { Migrating() }), store)
        #expect(second.restorePlan(for: record) == .migrated(from: 1))
        let state = try await second.session(created.id, token: created.token.text).state()

        #expect(state.version == 4)
        #expect((state.navigation.coordinators[0].coordinator as? Migrating)?.total == 3)
        #expect(first.restorePlan(for: record) == .restored)
    }

    @Test func `a session that cannot be read is relaunched with its defaults, and reported`() async throws {
        let store = MemoryStore()
        let reports = Mutex<[String]>([])
        let first = EvictionTests.host(EvictionTests.app, store)
        let created = try await first.create()
        let session = try await first.session(created.id, token: created.token.text)
        _ = try await session.apply(PostedEvent("pass", payload: 1))
        let before = try session.state()
        let record = try #require(try store.load(created.id)?.record)

        let second = EvictionTests.host(App("gate", version: 2, root: { Renewed() }), store) { report in
            reports.withLock { $0.append(report) }
        }
        guard case .relaunched = second.restorePlan(for: record) else { return #expect(Bool(false)) }
        let state = try await second.session(created.id, token: created.token.text).state()

        #expect(state.version == 3)
        #expect(state.navigation.visible?.screen.name == "renewed")
        #expect(state.navigation.defaults["last"] == 1)
        #expect(state.navigation.visible?.key != before.navigation.visible?.key)
        #expect(reports.withLock { $0.count } == 1)
        let history = try await second.session(created.id, token: created.token.text).history(limit: 1)
        #expect(history.map(\.note.event) == ["relaunch"])
    }

    @Test func `a session that is older or newer than the app is refused if the author prefers it`() async throws {
        let store = MemoryStore()
        let created = try await EvictionTests.host(EvictionTests.app, store).create()
        let record = try #require(try store.load(created.id)?.record)
        let strict = App("gate", version: 2, root: { Renewed() }, incompatibleSessions: .refused)

        let host = EvictionTests.host(strict, store)
        guard case .refused = host.restorePlan(for: record) else { return #expect(Bool(false)) }
        await #expect(throws: SessionError.incompatible) {
            try await host.session(created.id, token: created.token.text)
        }

        let newer = try await EvictionTests.host(App("gate", version: 3, root: { Renewed() }), store).create()
        await #expect(throws: SessionError.newerApp(reason: "version 3 of the app has saved it")) {
            try await host.session(newer.id, token: newer.token.text)
        }
    }

    @Test func `an app may say how long its sessions live`() async throws {
        let clock = TestClock()
        let app = App(
            "gate", root: { Counting() }, expiry: Expiry(idle: .seconds(60), absolute: .seconds(100)))
        let host = EvictionTests.host(app, MemoryStore(), clock: clock)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        clock.advance(50)
        let state = try await session.apply(PostedEvent("pass", payload: 1)).state
        #expect(state.expiresAt == Date(timeIntervalSince1970: 1_800_000_100))
        clock.advance(51)
        #expect(throws: SessionError.expired) { try session.state() }
    }

    @Test func `a past version can be read and forked`() async throws {
        let host = EvictionTests.host(EvictionTests.app, MemoryStore())
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        for number in 1...3 { _ = try await session.apply(PostedEvent("pass", payload: .integer(number))) }

        #expect(try await session.history(limit: 10).map(\.version) == [4, 3, 2, 1])
        #expect(try await session.history(from: 3, limit: 2).map(\.note.event) == ["pass", "pass"])
        let past = try await session.past(2)
        #expect(past.version == 2)
        #expect((past.navigation.coordinators[0].coordinator as? Counting)?.passed == [1])
        await #expect(throws: SessionError.unknownVersion) { try await session.past(5) }
        await #expect(throws: SessionError.unknownVersion) { try await session.past(0) }

        let fork = try await host.fork(session, version: 3)
        let forked = try await host.session(fork.id, token: fork.token.text)
        #expect(fork.id != created.id && fork.token.text != created.token.text)
        #expect(try await forked.apply(PostedEvent("pass", payload: 9)).state.version == 2)
        let end = try forked.state().navigation.coordinators[0].coordinator as? Counting
        #expect(end?.passed == [1, 2, 9])
        #expect(try session.state().version == 4)
    }
}
