import Coordinators
import Foundation
import SQLiteStore
import Sessions
import Synchronization
import TestSupport
import Testing

/// What was released: a line for each attempt, with the id of the effect.
private final class Ledger: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct Booth: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("booth")) }

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws {
        try context.resolve(Ledger.self).add("\(context.session.id) \(reason.rawValue)")
    }
}

/// Clean-ups of sessions in stores that outlive processes.
@Suite struct CleanUpStoreTests {
    private let ledger = Ledger()

    private func host(_ store: any SessionStore) -> SessionHost {
        var dependencies = Dependencies()
        dependencies.register(Ledger.self) { [ledger] _ in ledger }
        var settings = SessionSettings()
        settings.retryPause = .milliseconds(1)
        settings.handlerDeadline = .seconds(7200)
        settings.effectDeadline = .seconds(7200)
        settings.attemptTime = .seconds(7200)
        settings.idleLifetime = 600
        let app = App("booth", root: { Booth() }, dependencies: dependencies)
        return SessionHost(apps: [app], store: store, settings: settings, now: clock.read)
    }

    private let clock = Clock()

    private final class Clock: Sendable {
        private let time = Mutex(Date(timeIntervalSince1970: 1_900_000_000))
        var read: @Sendable () -> Date { { self.time.withLock { $0 } } }
        func move(by minutes: Double) { time.withLock { $0 += minutes * 60 } }
    }

    /// Runs the hosts' chores until the work is done.
    private func running(_ hosts: SessionHost..., work: () async throws -> Void) async throws {
        let chores = hosts.flatMap { host in [Task { await host.fireTimers() }, Task { await host.resumeEffects() }] }
        defer { for chore in chores { chore.cancel() } }
        try await work()
    }

    @Test(arguments: StoredSessionsTests.Kind.allCases)
    func `a session that expires while no server runs is cleaned up after the next start, then forgotten`(
        kind: StoredSessionsTests.Kind
    ) async throws {
        let place = try await kind.makePlace()
        let first = try await place.open()
        let id = try await host(first).create().id
        await first.close()
        clock.move(by: 60 * 24 * 90)
        let store = try await place.open()
        let next = host(store)

        #expect(try await next.sweep() == 0)
        try await running(next) {
            try await eventually { try await store.load(id)?.record.isEnd == true }
        }

        #expect(ledger.all == ["\(id.text) expired"])
        clock.move(by: 60 * 25)
        try await eventually { try await next.sweep() == 1 }
        #expect(try await store.load(id) == nil)
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a full store ends sessions that have clean-ups, which make room`(isInFile: Bool) async throws {
        let directory = TemporaryDirectory()
        let store: any SessionStore =
            isInFile
            ? try SQLiteStore(directory: directory.path, sizeLimit: 2 << 20) { _ in }
            : MemoryStore(limitBytes: 1 << 20)
        let host = host(store)
        var created: [CreatedSession] = []
        let error = await #expect(throws: SessionError.self) {
            while created.count < 100_000 { created.append(try await host.create()) }
        }
        #expect(error == .storageFull)

        for one in created.prefix(10) { try await host.session(one.id, token: one.token.text).end() }
        clock.move(by: 60)
        try await running(host) {
            try await eventually {
                for one in created where try await store.load(one.id)?.record.isEnd == false { return false }
                return true
            }
        }

        #expect(Set(ledger.all).count == created.count)
        await store.close()
    }

    @Test func `of several servers on one database, one cleans up after each session`() async throws {
        let database = try await PostgresCluster.makeDatabase()
        let place = StoredSessionsTests.Place.postgres(database)
        let stores = [try await place.open(), try await place.open()]
        try await blocking { try PostgresCluster.shared.rejuvenate(database) }
        let (one, other) = (host(stores[0]), host(stores[1]))
        var (expired, ended): ([SessionID], [SessionID]) = ([], [])
        for number in 0..<20 { expired.append(try await (number % 2 == 0 ? one : other).create().id) }
        clock.move(by: 60)

        try await running(one, other) {
            for number in 0..<10 {
                let created = try await one.create()
                // The server that ends a session need not be the one that has created it.
                let session = try await (number % 2 == 0 ? one : other).session(created.id, token: created.token.text)
                try await session.end()
                ended.append(created.id)
            }
            try await eventually {
                for id in expired + ended where try await stores[0].load(id)?.record.isEnd != true { return false }
                return true
            }
        }

        let expected = expired.map { "\($0.text) expired" } + ended.map { "\($0.text) ended" }
        #expect(ledger.all.sorted() == expected.sorted())
        for store in stores { await store.close() }
    }
}
