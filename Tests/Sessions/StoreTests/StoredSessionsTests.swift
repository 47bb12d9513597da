import Coordinators
import Foundation
import PostgresStore
import SQLiteStore
import Sessions
import TestSupport
import Testing

/// Counts taps and payments.
private struct Till: Coordinator {
    var count = 0
    enum Event: NavigationEvent, CaseIterable { case tap }
    enum Signal: NavigationSignal {
        case paid
        static let external: [Signal] = [.paid]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("till")) }
    mutating func handle(_ event: Event, _ navigator: inout Navigator) { count += 1 }
    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) { count += 1 }

    static func host(_ store: any SessionStore) -> SessionHost {
        var settings = SessionSettings()
        settings.handlerDeadline = .seconds(7200)
        settings.attemptTime = .seconds(7200)
        return SessionHost(apps: [App("till", root: { Till() })], store: store, settings: settings)
    }
}

/// What operators' commands do with every kind of store that outlives processes.
@Suite struct StoredSessionsTests {
    enum Kind: CaseIterable {
        case sqlite, postgres

        func makePlace() async throws -> Place {
            switch self {
            case .sqlite: .sqlite(TemporaryDirectory())
            case .postgres: .postgres(try await PostgresCluster.makeDatabase())
            }
        }
    }

    /// Where a store is, or will be.
    enum Place {
        case sqlite(TemporaryDirectory)
        case postgres(String)

        func open(_ secret: StoreSecret? = nil) async throws -> any WritableStore {
            switch self {
            case .sqlite(let directory):
                try SQLiteStore(directory: directory.path, newSecret: secret) { Issue.record("\($0)") }
            case .postgres(let uri):
                try await PostgresStore.open(uri: uri, durability: .relaxed, newSecret: secret, limits: .hours)
            }
        }

        func reader() throws -> any StoreReader {
            switch self {
            case .sqlite(let directory): try StoreSnapshot(directory: directory.path)
            case .postgres(let uri): try PostgresSnapshot(uri: uri, limits: .hours)
            }
        }
    }

    private static func session(
        _ number: Int, _ versions: ClosedRange<Int>, keys: [String] = []
    ) throws -> StoredSession {
        let id = try SessionID.make(number)
        return StoredSession(
            id: id, stamp: SessionStamp(version: versions.upperBound),
            versions: try versions.map { try SessionRecord(parsing: EncodedRecord.make(id, $0).text) },
            answers: try keys.map { try .make(id, $0, version: versions.upperBound) })
    }

    private static func texts(_ session: StoredSession?) -> [[UInt8]]? {
        session.map { $0.versions.map(\.encoded.text) + $0.answers.map(\.encoded) }
    }

    @Test(arguments: Kind.allCases)
    func `what is inserted is read back whole, and what exists stays as it is`(kind: Kind) async throws {
        let place = try await kind.makePlace()
        let store = try await place.open()
        let (one, two) = (try Self.session(1, 3...5, keys: ["a", "b"]), try Self.session(2, 1...1))

        #expect(try await store.insert([one, two]) == [])
        #expect(try await store.insert([try Self.session(1, 1...9), try Self.session(3, 1...2)]) == [one.id])

        let reader = try place.reader()
        let ids = try [1, 2, 3, 4].map(SessionID.make)
        let page = try reader.page(after: nil)
        #expect(page.sessions == Array(ids.prefix(3)) && page.total == 3)
        #expect(try reader.page(after: page.sessions.last).sessions == [])
        let contents = try reader.contents(of: ids[...]).map { Self.texts(try $0.value.get()) }
        #expect(contents == [Self.texts(one), Self.texts(two), Self.texts(try Self.session(3, 1...2)), nil])
        for depth in [ReadingDepth.lastVersion, .answers, .past] {
            let loaded = try reader.loaded(ids[...], depth).map { try $0.value.get()?.record.version }
            #expect(loaded == [5, 1, 2, nil], "\(depth)")
        }
        await store.close()
    }

    @Test(arguments: Kind.allCases)
    func `a change made from what was read is committed, and seen by the next read`(kind: Kind) async throws {
        let place = try await kind.makePlace()
        let store = try await place.open()
        let session = try Self.session(1, 1...2, keys: ["a"])
        _ = try await store.insert([session])
        let reader = try place.reader()

        for depth in [ReadingDepth.lastVersion, .past] {
            let loaded = try #require(try reader.loaded([session.id], depth).first?.value.get())
            let next = try EncodedRecord.make(session.id, loaded.record.version + 1)
            let change = SessionChange(id: session.id, expected: loaded.stamp, record: next)
            #expect(await store.commit([change]) == .success([]), "\(depth)")
        }

        #expect(try reader.contents(of: [session.id]).first?.value.get()?.versions.map(\.version) == [1, 2, 3, 4])
        #expect(try await store.forget(session.id))
        #expect(try reader.page(after: nil).sessions == [])
        await store.close()
    }

    @Test(arguments: Kind.allCases)
    func `after 300 signals of services, a restart and a move, a client's event is still known`(
        kind: Kind
    ) async throws {
        let place = try await kind.makePlace()
        var store = try await place.open()
        func once(_ key: String, of service: String? = nil) -> IdempotentRequest {
            IdempotentRequest(key: key, of: service, request: []) { _ in [] }
        }
        let paid = PostedEvent("paid")
        let host = Till.host(store)
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        #expect(try await session.apply(PostedEvent("tap"), once: once("k-1")).isReplay == false)
        for number in 1...300 {
            let once = once("k-\(number)", of: "payments")
            #expect(try await host.receive(paid, for: created.id, once: once).isReplay == false)
        }
        await store.close()

        func areKnown(by store: any WritableStore) async throws -> [Bool] {
            let host = Till.host(store)
            let session = try await host.session(created.id, token: created.token.text)
            return [
                try await session.apply(PostedEvent("tap"), once: once("k-1")).isReplay,
                try await host.receive(paid, for: created.id, once: once("k-45", of: "payments")).isReplay,
            ]
        }
        let contents = try #require(try place.reader().contents(of: [created.id]).first?.value.get())
        store = try await place.open()
        #expect(try await areKnown(by: store) == [true, true])
        await store.close()

        let elsewhere = try await kind.makePlace()
        let other = try await elsewhere.open(StoreSecret(store.secret))
        #expect(try await other.insert([contents]) == [])
        #expect(try await areKnown(by: other) == [true, true])
        await other.close()
    }

    @Test(arguments: Kind.allCases)
    func `a new store takes the secret that it is given, and one with sessions keeps its own`(
        kind: Kind
    ) async throws {
        let place = try await kind.makePlace()
        let (own, other) = (StoreSecret(Array(0..<32)), StoreSecret(Array(1...32)))

        let new = try await place.open(own)
        _ = try await new.insert([try Self.session(1, 1...1)])
        await new.close()
        let old = try await place.open(other)

        #expect(new.secret == own?.bytes && old.secret == own?.bytes)
        #expect(try place.reader().secret() == own)
        await old.close()
    }
}
