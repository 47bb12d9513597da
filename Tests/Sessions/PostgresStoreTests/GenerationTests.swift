import Foundation
import Sessions
import Sodium
import TestSupport
import Testing

@testable import PostgresStore

/// A database that is replaced by one without the last commits, or nearly.
@Suite(.serialized) struct GenerationTests {
    private static func uri(_ servers: PostgresCluster..., database: String) -> String {
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return "postgresql://postgres@\(hosts)/\(database)"
    }

    @Test func `a promoted standby without the last commits begins a generation, and no copy of before counts`()
        async throws
    {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: false) }
        let uri = Self.uri(primary, standby, database: "postgres")
        let reports = Reports()
        let store = try await PostgresStore.open(uri: uri, report: reports.add)
        let other = try await PostgresStore.open(uri: uri)
        let kept = try await store.commit(.make(1), versions: 3)
        let position = try await other.changes(since: nil).position
        try await eventually { try await blocking { try standby.query("SELECT count(*) FROM journal") } == "3" }
        try await blocking { try standby.stopFollowing() }
        let lost = try await store.commit(.make(1), versions: 2, after: kept)
        try await store.commit(.make(2), versions: 1)

        try await blocking {
            try primary.kill()
            try standby.promote()
        }
        try await eventually { (try? await store.load(.make(1))) != nil }

        let loaded = try #require(try await store.load(.make(1)))
        #expect(loaded.record.version == 3)
        #expect(store.generation > 1 && loaded.stamp.generation == store.generation)
        try await eventually { reports.critical.count == 1 }
        #expect(try await !store.isCurrent(lost, of: .make(1)))
        #expect(try await !store.isCurrent(kept, of: .make(1)))
        #expect(try await store.isCurrent(loaded.stamp, of: .make(1)))
        #expect(try await store.load(.make(2)) == nil)
        #expect(await store.commit([try .make(.make(1), after: lost)]) == .success([CommitConflict(id: .make(1))]))
        #expect(await store.commit([try .make(.make(1), after: kept)]) == .success([CommitConflict(id: .make(1))]))
        try await store.commit(.make(1), versions: 1, after: loaded.stamp)

        // Another replica, which has lost nothing itself, learns of it from its next query.
        try await eventually { (try? await other.isCurrent(kept, of: .make(1))) == false }
        #expect(other.generation == store.generation)
        #expect(try await !other.changes(since: position).isComplete)
        await store.close()
        await other.close()
    }

    @Test func `a loss is noticed even if nobody is left who knows of it`() async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: false) }
        let uri = Self.uri(primary, standby, database: "postgres")
        let (gone, other) = (try await PostgresStore.open(uri: uri), try await PostgresStore.open(uri: uri))
        let kept = try await gone.commit(.make(1), versions: 3)
        try await eventually { try await blocking { try standby.query("SELECT count(*) FROM journal") } == "3" }
        try await blocking { try standby.stopFollowing() }
        let lost = try await gone.commit(.make(1), versions: 1, after: kept)
        #expect(try await other.isCurrent(lost, of: .make(1)))
        await gone.close()

        try await blocking {
            try primary.kill()
            try standby.promote()
        }
        try await eventually { (try? await other.load(.make(1))) != nil }

        #expect(try await !other.isCurrent(lost, of: .make(1)))
        #expect(await other.commit([try .make(.make(1), after: lost)]) == .success([CommitConflict(id: .make(1))]))
        let loaded = try #require(try await other.load(.make(1)))
        #expect(loaded.stamp.version == 3 && loaded.stamp.generation > 1)
        await other.close()
    }

    @Test func `a lane that misses its last batch begins a generation, once for all replicas`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        let stamp = try await one.commit(.make(1), versions: 5)
        try await other.commit(.make(2), versions: 5)
        try await database.query("DELETE FROM batches")

        try await database.terminateConnections()
        try await eventually { one.generation == 2 && other.generation == 2 }

        // Each server says what it misses.
        #expect(database.reports.critical.count == 2)
        #expect(try await !one.isCurrent(stamp, of: .make(1)))
        let loaded = try #require(try await one.load(.make(1)))
        try await one.commit(.make(1), versions: 5, after: loaded.stamp)
        try await database.terminateConnections()
        try await one.commit(.make(3), versions: 1, after: .none(in: 2))
        try await Task.sleep(for: .milliseconds(1200))
        #expect(one.generation == 2 && other.generation == 2)
        await one.close()
        await other.close()
    }

    @Test func `connections that are lost and made again begin no generation`() async throws {
        let database = try await Database()
        let store = try await database.open()
        var stamp = SessionStamp.none
        for _ in 0..<10 {
            stamp = try await store.commit(.make(1), versions: 3, after: stamp)
            try await database.terminateConnections()
        }

        #expect(try await store.isCurrent(stamp, of: .make(1)))
        #expect(store.generation == 1 && database.reports.critical == [])
        await store.close()
    }

    @Test func `a synchronous standby that is promoted has everything that was acknowledged`() async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: true) }
        let store = try await PostgresStore.open(uri: Self.uri(primary, standby, database: "postgres"))
        let writing = Task {
            var stamps: [SessionID: SessionStamp] = [:]
            for number in 0..<400 {
                let id = SessionID.make(number % 8)
                let change = try SessionChange.make(id, after: stamps[id] ?? .none)
                switch await store.commit([change]) {
                case .success([]): stamps[id] = change.stamp
                // A promotion begins a generation.
                case .success: stamps[id] = try await store.load(id)?.stamp
                // Known not to be made; tried again with the next number.
                case .failure(.unavailable): continue
                case .failure(.unknownOutcome):
                    // If the promotion takes long.
                    try await eventually { (try? await store.load(id)) != nil }
                    stamps[id] = try await store.load(id)?.stamp
                case .failure(let error): throw error
                }
                try await Task.sleep(for: .milliseconds(2))
            }
            return stamps
        }

        try await Task.sleep(for: .milliseconds(300))
        try await blocking {
            try primary.kill()
            try standby.promote()
        }
        let stamps = try await writing.value

        for (id, stamp) in stamps { #expect(try await store.load(id)?.stamp.commits == stamp.commits) }
        #expect(store.generation > 1)
        await store.close()
    }

    /// A store whose synchronous standby does not answer any more, and a change whose commit would wait for it.
    private func frozen() async throws -> (
        primary: PostgresCluster, standby: PostgresCluster, store: PostgresStore, change: SessionChange
    ) {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: true) }
        let store = try await PostgresStore.open(uri: Self.uri(primary, database: "postgres"))
        let stamp = try await store.commit(.make(1), versions: 1)
        try await blocking { try standby.setFrozen(true) }
        return (primary, standby, store, try SessionChange.make(.make(1), after: stamp))
    }

    @Test(arguments: ["pg_terminate_backend", "pg_cancel_backend"])
    func `a commit whose wait for the standby is cut off is acknowledged only when the standby has it`(
        ending: String
    ) async throws {
        let (primary, standby, store, change) = try await frozen()
        let commit = Task { await store.commit([change]) }
        @Sendable func waiting() throws -> String {
            try primary.query("SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        }
        try await eventually { try await blocking { try waiting() } != "0" }
        // Committed on the primary server alone, which says so to nobody.
        _ = try await blocking { try primary.query("SELECT \(ending)(\(waiting()))") }
        try await eventually { try await blocking { try primary.query("SELECT count(*) FROM journal") } == "2" }
        let early = Task {
            try await Task.sleep(for: .milliseconds(700))
            return try await blocking { try standby.setFrozen(false) }
        }
        let start = ContinuousClock.now
        let outcome = await commit.value

        #expect(outcome == .success([]))
        #expect(.now - start > .milliseconds(500))
        try await early.value
        #expect(try await blocking { try standby.query("SELECT count(*) FROM journal") } == "2")
        // The batch, and the one that proves it.
        #expect(try await blocking { try primary.query("SELECT count(*) FROM batches WHERE lane <> 0") } == "3")
        await store.close()
    }

    @Test(arguments: [PostgresCluster.StopMode.immediate, .fast])
    func `after a restart, what the standby has not received is neither read nor confirmed until it has`(
        mode: PostgresCluster.StopMode
    ) async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: true) }
        let store = try await PostgresStore.open(uri: Self.uri(primary, database: "postgres"))
        let stamp = try await store.commit(.make(1), versions: 1)
        try await blocking { try standby.stop() }
        let change = try SessionChange.make(.make(1), after: stamp, key: "key")
        let commit = Task { await store.commit([change]) }
        try await eventually {
            try await blocking {
                try primary.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            } != "0"
        }

        try await blocking { try primary.restart(mode) }
        // The server shows it to those who do not ask for the standby.
        try await eventually { try await blocking { try primary.query("SELECT count(*) FROM journal") } == "2" }
        await #expect(throws: StoreError.self) { try await store.load(.make(1)) }
        await #expect(throws: StoreError.self) { try await store.isCurrent(change.stamp, of: .make(1)) }
        await #expect(throws: StoreError.self) {
            try await store.answer(to: SHA256Digest(of: "key").hex, of: .make(1))
        }
        try await eventually { store.condition.failure == ReplicationBarrier.unconfirmed }
        // Those who wait take few of the server's connections.
        let count = try await blocking {
            try primary.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coordinatord'")
        }
        #expect(Int(count) ?? .max <= 15)

        try await blocking { try standby.start() }
        try await eventually { (try? await store.load(.make(1)))?.record.version == 2 }
        #expect(try await blocking { try standby.query("SELECT count(*) FROM journal") } == "2")
        _ = await commit.value
        await store.close()
    }

    @Test func `an old primary that comes back is not used, neither by who knows the new one nor by who can reach it`()
        async throws
    {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await blocking { try primary.makeStandby(isSynchronous: false) }
        let uri = Self.uri(primary, standby, database: "postgres")
        let reports = Reports()
        let store = try await PostgresStore.open(uri: uri, report: reports.add)
        try await store.commit(.make(1), versions: 1)
        try await eventually { try await blocking { try standby.query("SELECT count(*) FROM journal") } == "1" }
        try await blocking {
            try primary.kill()
            try standby.promote()
        }
        try await eventually { (try? await store.load(.make(1))) != nil }
        let stamp = try #require(try await store.load(.make(1))?.stamp)
        let last = try await store.commit(.make(1), versions: 3, after: stamp)

        try await blocking { try primary.start() }
        // The next connections try the first host first.
        let other = try await PostgresStore.open(uri: uri)
        try await blocking {
            _ = try standby.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coordinatord'")
        }

        for _ in 0..<10 {
            try await eventually { (try? await store.isCurrent(last, of: .make(1))) == true }
            #expect(try await other.load(.make(1))?.record.version == 4)
        }
        let number = try await blocking {
            try primary.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coordinatord'")
        }
        #expect(number == "0")
        // If the new one is gone, there is none.
        try await blocking { try standby.stop(.immediate) }
        try await eventually { store.condition.failure != nil }
        await #expect(throws: StoreError.self) { try await store.load(.make(1)) }
        try await eventually { reports.all.contains { $0.contains("it was the primary before") } }
        await store.close()
        await other.close()
    }

    @Test func `two promotions that know nothing of each other begin different generations`() async throws {
        let databases = [try await Database(), try await Database()]
        var generations: Set<Int> = []
        for database in databases {
            try await database.open().close()
            try await database.query("UPDATE store SET value = '5' WHERE name = 'generation'")
            // As in a copy of a server that was on another timeline.
            try await database.query("UPDATE store SET value = 'FFFFFFFF' WHERE name = 'timeline'")
            let store = try await database.open()
            generations.insert(store.generation)
            await store.close()
        }

        #expect(generations.count == 2 && generations.allSatisfy { $0 > 5 })
    }

    @Test func `a store is closed soon, although a commit waits for the standby`() async throws {
        let (primary, standby, store, change) = try await frozen()
        let outcome = await store.commit([change])
        guard case .failure(.unknownOutcome) = outcome else { throw TestFailure("the outcome is \(outcome)") }

        let start = ContinuousClock.now
        await store.close()

        #expect(.now - start < .seconds(4))
        // Unknown was right: it was committed, and is seen as soon as the standby has it.
        try await blocking { try standby.setFrozen(false) }
        try await eventually { try await blocking { try primary.query("SELECT count(*) FROM journal") } == "2" }
    }
}
