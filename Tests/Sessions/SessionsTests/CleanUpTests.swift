import Coordinators
import Foundation
import JSONCoding
@testable import Sessions
import Synchronization
import Testing
import TestSupport

/// Notes which holds were released, and why; it fails as often as a test wants.
private final class Holds: Sendable {
    struct Failure: Error {}

    private let state = Mutex((released: [String](), ids: [String](), failures: 0))

    var released: [String] { state.withLock { $0.released.sorted() } }
    var ids: [String] { state.withLock { $0.ids } }

    func fail(_ count: Int) { state.withLock { $0.failures = count } }

    func release(_ what: String, _ reason: RemovalReason, id: String) throws {
        try state.withLock { state in
            state.ids.append(id)
            state.failures -= 1
            if state.failures >= 0 { throw Failure() }
            state.released.append("\(what): \(reason.rawValue)")
        }
    }
}

private struct Hall: Coordinator {
    enum Event: NavigationEvent {
        case enter(String), clear
        static let examples: [Event] = [.enter("A"), .clear]
    }

    static let everywhere: [Event] = [.enter("A"), .clear]

    func start(_ navigator: inout Navigator) { navigator.push(Screen("hall")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .enter(let seat): navigator.start(Seat(seat: seat))
        case .clear: navigator.endChildren()
        }
    }
}

private struct Seat: Coordinator {
    let seat: String

    enum Event: NavigationEvent {
        case leave
        static let examples: [Event] = [.leave]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("seat")) }

    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws {
        try context.resolve(Holds.self).release(seat, reason, id: context.effectID)
    }
}

/// What coordinators that are gone have still to undo.
@Suite struct CleanUpTests {
    private let holds = Holds()
    private let clock = WallClock()
    private let store = MemoryStore()

    private var app: App {
        var dependencies = Dependencies()
        dependencies.register(Holds.self) { [holds] _ in holds }
        return App("hall", root: { Hall() }, coordinators: [Seat.self], dependencies: dependencies)
    }

    private func host() -> SessionHost {
        var settings = SessionSettings.unhurried
        settings.retryPause = .milliseconds(1)
        settings.idleLifetime = 600
        return SessionHost(apps: [app], store: store, settings: settings, now: clock.read)
    }

    private func opened(_ host: SessionHost, seats: String...) async throws -> AuthorizedSession {
        let created = try await host.create(SessionRequest(app: "hall"))
        let session = try await host.session(created.id, token: created.token.text)
        for seat in seats { try await session.post("enter", .string(seat)) }
        return session
    }

    /// Runs a host's chores until the work is done.
    private func running(_ host: SessionHost, _ work: () async throws -> Void) async throws {
        let chores = [Task { await host.fireTimers() }, Task { await host.resumeEffects() }]
        defer { for chore in chores { chore.cancel() } }
        try await work()
    }

    private func released(_ expected: String...) async throws {
        try await eventually { holds.released == expected.sorted() }
    }

    private func isOver(_ id: SessionID) async throws {
        try await eventually { try store.load(id, token: nil)?.record.isEnd == true }
        #expect(store.sessionsWithEffects(after: nil, limit: 10) == [])
        #expect(store.dueTimers(at: .distantFuture, limit: 10) == [])
    }

    @Test func `the end of a session is told to its coordinators, while its clients see it as gone`() async throws {
        let host = host()
        let session = try await opened(host, seats: "A", "B")
        holds.fail(2)

        try await session.end()

        await #expect(throws: SessionError.ended) { try await host.inMemory(session.id, for: nil) }
        try await released("A: ended", "B: ended")
        try await isOver(session.id)
        #expect(Set(holds.ids).count == 2 && holds.ids.count == 4)
        #expect(host.measures.signals[.cleanUpDone] == 2)
    }

    @Test func `a clean-up that always fails is given up, and the session is over all the same`() async throws {
        let host = host()
        let session = try await opened(host, seats: "A")
        holds.fail(.max)

        try await session.end()

        try await isOver(session.id)
        #expect(holds.ids.count == 6)
        #expect(host.measures.signals[.cleanUpFailed] == 1)
    }

    @Test func `a session that expires while no server runs is cleaned up after the next start`() async throws {
        let session = try await opened(host(), seats: "A")
        clock.move(by: 60 * 24 * 90)
        let next = host()
        #expect(try await next.sweep() == 0)

        try await running(next) {
            try await released("A: expired")
            try await isOver(session.id)
            await #expect(throws: SessionError.expired) { try await next.inMemory(session.id, for: nil) }
        }

        clock.move(by: 60 * 25)
        #expect(try await next.sweep() == 1)
    }

    @Test func `a crash between the end and the clean-up loses nothing`() async throws {
        let host = host()
        let session = try await opened(host, seats: "A")
        let live = try await host.inMemory(session.id, for: nil).current(for: nil, at: clock.now)
        let end = try #require(SessionRecord(live, at: clock.now, build: 0).over(.ended, at: clock.now))
        let change = SessionChange(id: session.id, expected: live.stamp, record: end)
        guard case .success(let conflicts) = store.commit([change]) else { throw Holds.Failure() }
        #expect(conflicts.isEmpty)
        clock.move(by: 60)

        try await running(self.host()) { try await released("A: ended") }
        try await isOver(session.id)
    }

    @Test func `a coordinator gives back what it holds, whatever it goes by, and once`() async throws {
        let host = host()
        let session = try await opened(host, seats: "A", "B", "C")

        try await session.post("leave")
        try await session.post("back")
        try await session.post("clear")
        try await session.post("enter", "D")
        try await session.post("relaunch")

        try await released("C: finished", "B: dismissed", "A: removed", "D: relaunched")
        try await eventually { try session.state().navigation.pending.isEmpty }
        #expect(try await session.history(from: nil, limit: 1).first?.note.event == "willBeRemoved")
        try await session.end()
        try await isOver(session.id)
        #expect(holds.released.count == 4)
    }

    @Test func `a fork releases what it holds itself, not what the other session holds`() async throws {
        let host = host()
        let session = try await opened(host, seats: "A")
        let fork = try await host.fork(session, version: nil)
        let forked = try await host.session(fork.id, token: fork.token.text)
        try await forked.post("enter", "B")

        try await forked.end()
        try await released("B: ended")
        try await session.end()

        try await released("A: ended", "B: ended")
    }

    @Test func `a session that the operator returns to an earlier version releases what that does not hold`()
        async throws
    {
        let host = host()
        let session = try await opened(host, seats: "A", "B")
        let records = try store.history(of: session.id, from: nil, limit: 10, bytes: .max)

        let returned = try records[0].returning(to: records[1], at: clock.now)

        let stamp = try await host.inMemory(session.id, for: nil).stamp
        _ = store.commit([SessionChange(id: session.id, expected: stamp, record: returned)])
        let next = self.host()
        try await running(next) { try await released("B: removed") }
        let again = try await next.inMemory(session.id, for: nil).current(for: nil, at: clock.now)
        #expect(again.navigation.coordinators.map(\.name) == ["hall", "seat"])
    }
}
