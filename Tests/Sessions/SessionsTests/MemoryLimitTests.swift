import Coordinators
import Foundation
import JSONCoding
import Sessions
import TestSupport
import Testing

/// A screen that is as large as its last event asks.
private struct SizedCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case grow(Int)
        static let examples: [Event] = [.grow(1)]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("sized")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        guard case .grow(let size) = event else { return }
        navigator.update("sized") { $0.params = ["text": .string(String(repeating: "x", count: size))] }
    }
}

/// Limits in bytes on the live sessions and on the memory store.
@Suite struct MemoryLimitTests {
    static let app = App("sized", root: { SizedCoordinator() })

    static func host(
        _ store: any SessionStore = MemoryStore(), app: App = app, count: Int = 100_000, bytes: Int = .max
    ) -> SessionHost {
        var settings = SessionSettings.unhurried
        settings.liveLimit = count
        settings.liveMemory = bytes
        return SessionHost(apps: [app], store: store, settings: settings, now: TestClock().read)
    }

    static func grow(_ created: CreatedSession, to size: Int, on host: SessionHost) async throws {
        let session = try await host.session(created.id, token: created.token.text)
        _ = try await session.apply(PostedEvent("grow", payload: .integer(size)))
    }

    @Test func `a large session takes the place of several small ones`() async throws {
        let host = MemoryLimitTests.host(bytes: 4 << 20)
        var created: [CreatedSession] = []
        for _ in 0..<200 { created.append(try await host.create()) }
        #expect(host.liveCount == 200)

        for one in created { try await MemoryLimitTests.grow(one, to: 32_000, on: host) }

        #expect((2..<20).contains(host.liveCount))
        for one in created { #expect(try await host.session(one.id, token: one.token.text).state().version == 2) }
    }

    @Test func `one session stays in memory, however large it is`() async throws {
        let host = MemoryLimitTests.host(bytes: 1)
        let created = try await host.create()

        for size in 1...5 { try await MemoryLimitTests.grow(created, to: size * 10_000, on: host) }

        #expect(host.liveCount == 1)
    }

    @Test func `a session that shrinks makes room again`() async throws {
        let host = MemoryLimitTests.host(bytes: 2 << 20)
        let large = try await host.create()
        for _ in 0..<3 {
            try await MemoryLimitTests.grow(large, to: 50_000, on: host)
            try await MemoryLimitTests.grow(large, to: 1, on: host)
        }

        for _ in 0..<50 { _ = try await host.create() }

        #expect(host.liveCount == 51)
    }

    @Test func `after a burst, the number of live sessions returns to the limit`() async throws {
        let host = MemoryLimitTests.host(app: SessionHostTests.app, count: 2)
        let gate = Gate()

        try await Gate.$current.withValue(gate) {
            var events: [Task<AppliedEvent, any Error>] = []
            for number in 1...60 {
                let created = try await host.create()
                let session = try await host.session(created.id, token: created.token.text)
                events.append(
                    Task.immediate { try await session.apply(PostedEvent("wait", payload: .integer(number))) })
            }
            try await eventually { gate.waitingCount == 60 }
            #expect(host.liveCount == 60)
            gate.open()
            for event in events { _ = try await event.value }
        }

        _ = try await host.sweep()
        #expect(host.liveCount <= 2)
    }

    @Test func `a full memory store refuses sessions and events, but sessions can be read and ended`() async throws {
        let store = MemoryStore(limitBytes: 1 << 20)
        let host = MemoryLimitTests.host(store)
        var created: [CreatedSession] = []
        let error = await #expect(throws: SessionError.self) {
            while created.count < 1000 { created.append(try await host.create()) }
        }
        #expect(error == .storageFull && created.count > 50)

        let session = try await host.session(created[0].id, token: created[0].token.text)
        await #expect(throws: SessionError.storageFull) {
            try await session.apply(PostedEvent("grow", payload: 60_000))
        }
        #expect(try session.state().version == 1)
        for one in created.prefix(10) { try await host.session(one.id, token: one.token.text).end() }

        _ = try await host.create()
    }

    @Test func `sweeping frees the memory of sessions`() async throws {
        let store = MemoryStore(limitBytes: 1 << 20)
        let host = MemoryLimitTests.host(store)
        for _ in 0..<100 { _ = try await host.create() }
        #expect(store.sweep(at: .distantFuture, limit: 1000).count == 100)

        for _ in 0..<100 { _ = try await host.create() }

        #expect(store.sessionCount == 100)
    }

    @Test func `sweeping finds what is due, whatever was created, used, ended and swept before`() async throws {
        let store = MemoryStore()
        var due: [SessionID: Int] = [:]
        var versions: [SessionID: Int] = [:]
        var random = SystemRandomNumberGenerator()
        for number in 0..<3000 {
            let id = SessionID.make(Int.random(in: 0..<300, using: &random))
            let keptUntil = number + Int.random(in: 1...400, using: &random)
            let version = (versions[id] ?? 0) + 1
            let isEnd = version > 1 && Int.random(in: 0..<5, using: &random) == 0
            #expect(store.commit([.make(id, version, keptUntil: keptUntil, isEnd: isEnd)]) == .success([]))
            (due[id], versions[id]) = (keptUntil, version)
            guard number.isMultiple(of: 7) else { continue }
            let now = Date(timeIntervalSince1970: TimeInterval(number))
            let expected = Set(due.filter { $0.value <= number }.keys)

            let swept = store.sweep(at: now, limit: 1000)

            #expect(Set(swept) == expected && swept.count == expected.count)
            for id in swept { (due[id], versions[id]) = (nil, nil) }
            #expect(store.sessionCount == due.count)
        }
    }

    @Test func `a session created again under its key is not forgotten with the one that ended`() throws {
        let store = MemoryStore()
        let commit = { (change: SessionChange) in #expect(store.commit([change]) == .success([])) }
        commit(.make(.make(1), 1, keptUntil: 10))
        commit(.make(.make(1), 2, keptUntil: 10, isEnd: true))
        #expect(store.sweep(at: Date(timeIntervalSince1970: 11), limit: 10) == [.make(1)])
        commit(.make(.make(1), 1, keptUntil: 100))

        for number in 2...MemoryStore.endedLimit + 2 {
            commit(.make(.make(number), 1, keptUntil: 100))
            commit(.make(.make(number), 2, keptUntil: 100, isEnd: true))
        }

        #expect(try store.load(.make(1))?.record.version == 1)
    }
}

extension SessionID {
    static func make(_ number: Int) -> SessionID {
        SessionID("s_" + String(String(10_000_000_000_000 + number).suffix(13)))!
    }
}

extension SessionChange {
    static func make(_ id: SessionID, _ version: Int, keptUntil seconds: Int, isEnd: Bool = false) -> SessionChange {
        let state = isEnd ? "" : #","expiresAt":1900000000000,"state":{}"#
        let text = """
            {"session":"\(id.text)","app":"a","token":"\(String(repeating: "ab", count: 32))","createdAt":0,\
            "version":\(version),"time":0,"keptUntil":\(seconds * 1000)\(state)}
            """
        let record = try! SessionRecord(parsing: Array(text.utf8)).encoded
        return SessionChange(id: id, expected: SessionStamp(version: version - 1), record: record)
    }
}
