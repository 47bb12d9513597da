import Coordinators
import Foundation
import Sessions
import TestSupport
import Testing

/// Forks: how long they live, which past versions they may start from, and whether they end with their origin.
@Suite struct ForkTests {
    static let bound = App("gate", root: { GateCoordinator() }, endsForks: true)
    let store = HeldStore()
    let clock = TestClock()

    func host(_ app: App = bound) -> SessionHost {
        SessionHost(apps: [app], store: store, settings: .unhurried, now: clock.read)
    }

    func open(_ created: CreatedSession, on host: SessionHost) async throws -> AuthorizedSession {
        try await host.session(created.id, token: created.token.text)
    }

    @Test(arguments: [bound, SessionHostTests.app])
    func `neither a fork nor a fork of it outlives the absolute expiry of its origin`(app: App) async throws {
        let host = host(app)
        let created = try await host.create()
        var session = try await open(created, on: host)
        let end = try session.state().identity.createdAt + 30 * 24 * 3600

        for day in 1...30 {
            clock.advance(23.9 * 3600)
            session = try await open(try await host.fork(session, version: nil), on: host)
            #expect(try session.state().expiresAt <= end, "day \(day)")
        }

        clock.advance(23.9 * 3600)
        #expect(throws: SessionError.expired) { try session.state() }
    }

    @Test func `a fork records its origin`() async throws {
        let host = host()
        let created = try await host.create()
        let fork = try await host.fork(try await open(created, on: host), version: nil)

        #expect(try fork.state.identity.origin == created.id)
        let record = try #require(try store.store.load(fork.id)?.record)
        #expect(try SessionRecord(parsing: record.encoded.text).identity == record.identity)
        #expect(store.forks(of: created.id) == [fork.id] && store.forks(of: fork.id) == [])
    }

    @Test func `with endsForks, the end of a session ends its forks and their forks`() async throws {
        let host = host()
        let created = try await host.create()
        let origin = try await open(created, on: host)
        var forks: [CreatedSession] = []
        var parent = origin
        for _ in 0..<4 {
            forks.append(try await host.fork(parent, version: nil))
            forks.append(try await host.fork(parent, version: 1))
            parent = try await open(forks[forks.count - 2], on: host)
        }
        // On another host, the forks are only in the store.
        let other = self.host()
        let stranger = try await other.create()

        try await open(created, on: other).end()

        for one in forks + [created] {
            await #expect(throws: SessionError.ended) { try await open(one, on: other) }
        }
        #expect(try await open(stranger, on: other).state().version == 1)
    }

    @Test func `without endsForks, forks outlive the end of their origin`() async throws {
        let host = host(SessionHostTests.app)
        let origin = try await open(try await host.create(), on: host)
        let fork = try await host.fork(origin, version: nil)

        try await origin.end()

        #expect(try await open(fork, on: host).apply(PostedEvent("pass", payload: 1)).state.version == 2)
    }

    @Test func `the end of a fork ends neither its origin nor other forks`() async throws {
        let host = host()
        let origin = try await open(try await host.create(), on: host)
        let (one, other) = (try await host.fork(origin, version: nil), try await host.fork(origin, version: nil))

        try await open(one, on: host).end()

        #expect(try origin.state().version == 1)
        #expect(try await open(other, on: host).state().version == 1)
    }

    @Test func `a fork that is being created while its origin ends, ends too`() async throws {
        let host = host()
        let created = try await host.create()
        let origin = try await open(created, on: host)
        store.hold(.commit)
        let fork = Task.immediate { try await host.fork(origin, version: nil) }
        try await eventually { store.heldCount == 1 }

        let end = Task.immediate { try await origin.end() }
        let late = Task.immediate { try await host.fork(origin, version: nil) }
        store.release()

        let made = try await fork.value
        try await end.value
        await #expect(throws: SessionError.ended) { try await open(made, on: host) }
        await #expect(throws: SessionError.ended) { try await late.value }
    }

    @Test func `a fork of an expired fork ends with the origin, too`() async throws {
        let host = host()
        let created = try await host.create()
        let origin = try await open(created, on: host)
        let middle = try await host.fork(origin, version: nil)
        let last = try await host.fork(try await open(middle, on: host), version: nil)
        for _ in 0..<5 {
            clock.advance(20 * 3600)
            _ = try await origin.apply(PostedEvent("pass", payload: 1))
            _ = try await open(last, on: host).apply(PostedEvent("pass", payload: 1))
            try await host.sweep()
        }
        await #expect(throws: SessionError.expired) { try await open(middle, on: host).state() }

        try await origin.end()

        await #expect(throws: SessionError.ended) { try await open(last, on: host) }
    }

    @Test func `a fork that this build cannot restore ends with its origin, too`() async throws {
        func app(version: Int) -> App {
            App(
                "gate", version: version, root: { GateCoordinator() }, incompatibleSessions: .refused, endsForks: true)
        }
        let (older, newer) = (host(app(version: 1)), host(app(version: 2)))
        let created = try await older.create()
        let fork = try await older.fork(try await open(created, on: older), version: nil)
        _ = try await open(fork, on: newer).apply(PostedEvent("pass", payload: 1))
        let other = host(app(version: 1))
        let reason = "version 2 of the app has saved it"
        await #expect(throws: SessionError.newerApp(reason: reason)) { try await open(fork, on: other) }

        try await open(created, on: other).end()

        await #expect(throws: SessionError.ended) { try await open(fork, on: host(app(version: 2))) }
    }
}

/// Replaces the session's token at sign-in and sign-out.
private struct DeskCoordinator: Coordinator {
    var notes: [Int] = []

    enum Event: NavigationEvent {
        case note(Int)
        case signIn, signOut
        static let examples: [Event] = [.note(1), .signIn, .signOut]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("desk")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .note(let number): notes.append(number)
        case .signIn: navigator.rotateToken()
        case .signOut:
            notes = []
            navigator.rotateToken()
        }
    }
}

/// Rotating the token seals the past: earlier versions cannot be read or forked any more.
@Suite struct SealedPastTests {
    let store = MemoryStore()
    var host: SessionHost {
        SessionHost(
            apps: [App("desk", root: { DeskCoordinator() })], store: store, settings: .unhurried, now: TestClock().read)
    }

    /// A session with a sign-in at version 2, two notes, and a sign-out at version 5.
    func signedOut() async throws -> (host: SessionHost, session: AuthorizedSession, before: AuthorizedSession) {
        let host = host
        let created = try await host.create()
        var session = try await host.session(created.id, token: created.token.text)
        let token = try #require(try await session.apply(PostedEvent("signIn")).token)
        session = try await host.session(created.id, token: token.text)
        for number in 1...2 { _ = try await session.apply(PostedEvent("note", payload: .integer(number))) }
        let last = try #require(try await session.apply(PostedEvent("signOut")).token)
        return (host, try await host.session(created.id, token: last.text), session)
    }

    @Test func `the new token gives no access to the versions before it`() async throws {
        let (host, session, _) = try await signedOut()
        _ = try await session.apply(PostedEvent("note", payload: 9))

        #expect(try await session.history(limit: 10).map(\.version) == [6, 5])
        #expect(try await session.past(5).version == 5)
        for version in 1...4 {
            await #expect(throws: SessionError.unknownVersion) { try await session.past(version) }
            await #expect(throws: SessionError.unknownVersion) { try await host.fork(session, version: version) }
        }
        let fork = try await host.fork(session, version: 5)
        #expect(try fork.state.version == 1)
    }

    @Test func `the seal is stored with the session, for other servers and restarts`() async throws {
        let (_, session, _) = try await signedOut()
        let record = try #require(try store.load(session.id)?.record)

        #expect(record.identity.firstVersion == 5)
        #expect(try SessionRecord(parsing: record.encoded.text).identity == record.identity)
        #expect(try session.state().identity.firstVersion == 5)
    }

    @Test func `the old token can read neither the history nor a past version any more`() async throws {
        let (_, _, before) = try await signedOut()

        await #expect(throws: SessionError.unauthorized) { try await before.history(limit: 10) }
        await #expect(throws: SessionError.unauthorized) { try await before.past(4) }
    }

    @Test func `a history that is being read with the old token lacks the version that replaces it`() async throws {
        let held = HeldStore(store)
        let host = SessionHost(
            apps: [App("desk", root: { DeskCoordinator() })], store: held, settings: .unhurried, now: TestClock().read)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        held.hold(.history)
        let list = Task.immediate { try await session.history(limit: 10) }
        try await eventually { held.heldCount == 1 }

        _ = try await session.apply(PostedEvent("signIn"))
        held.release()

        #expect(try await list.value.map(\.version) == [1])
    }

    @Test func `records written before pasts were sealed hide no version`() throws {
        let text = SessionChange.make(.make(1), 3, keptUntil: 2_000_000_000).record?.text ?? []
        let identity = try SessionRecord(parsing: text).identity

        #expect(identity.firstVersion == 1 && identity.origin == nil)
        #expect(!String(decoding: text, as: UTF8.self).contains("firstVersion"))
    }
}
