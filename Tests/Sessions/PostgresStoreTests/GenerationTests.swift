import Foundation
import Sessions
import Sodium
import TestSupport
import Testing

@testable import PostgresStore

/// A database that is replaced by one without the last commits, or nearly.
@Suite(.serialized) struct GenerationTests {
    /// For servers that die while somebody connects to them: an attempt that is never answered is given up.
    private var patient: TimeLimits {
        var limits = TimeLimits.hours
        limits.extra = .seconds(60)
        return limits
    }

    private static func uri(_ servers: PostgresCluster..., database: String) -> String {
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        return "postgresql://postgres@\(hosts)/\(database)"
    }

    @Test func `a promoted standby without the last commits begins a generation, and no copy of before counts`()
        async throws
    {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: false)
        let uri = Self.uri(primary, standby, database: "postgres")
        let reports = Reports()
        let store = try await PostgresStore.open(uri: uri, limits: patient, report: reports.add)
        let other = try await PostgresStore.open(uri: uri, limits: patient)
        let kept = try await store.commit(.make(1), versions: 3)
        let position = try await other.changes(since: nil).position
        try await eventually { try await standby.query("SELECT count(*) FROM journal") == "3" }
        try await standby.stopFollowing()
        let lost = try await store.commit(.make(1), versions: 2, after: kept)
        try await store.commit(.make(2), versions: 1)

        try await primary.kill()
        try await standby.promote()
        try await store.waitUntilUsable()

        let loaded = try #require(try await store.load(.make(1)))
        #expect(loaded.record.version == 3)
        #expect(store.generation > 1 && loaded.stamp.generation == store.generation)
        try await eventually { reports.critical.count == 1 }
        #expect(try await !store.isCurrent(lost, of: .make(1)))
        #expect(try await !store.isCurrent(kept, of: .make(1)))
        #expect(try await store.isCurrent(loaded.stamp, of: .make(1)))
        #expect(try await store.load(.make(2)) == nil)
        #expect(await store.commit([try .make(.make(1), after: lost)]) == .success([.make(1)]))
        #expect(await store.commit([try .make(.make(1), after: kept)]) == .success([.make(1)]))
        try await store.commit(.make(1), versions: 1, after: loaded.stamp)

        // Another replica, which has lost nothing itself, learns of it from its next query.
        try await other.waitUntilUsable()
        try await eventually { (try? await other.isCurrent(kept, of: .make(1))) == false }
        #expect(other.generation == store.generation)
        #expect(try await !other.changes(since: position).isComplete)
        await store.close()
        await other.close()
    }

    @Test func `a loss is noticed even if nobody is left who knows of it`() async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: false)
        let uri = Self.uri(primary, standby, database: "postgres")
        let gone = try await PostgresStore.open(uri: uri, limits: patient)
        let other = try await PostgresStore.open(uri: uri, limits: patient)
        let kept = try await gone.commit(.make(1), versions: 3)
        try await eventually { try await standby.query("SELECT count(*) FROM journal") == "3" }
        try await standby.stopFollowing()
        let lost = try await gone.commit(.make(1), versions: 1, after: kept)
        #expect(try await other.isCurrent(lost, of: .make(1)))
        await gone.close()

        try await primary.kill()
        try await standby.promote()
        try await other.waitUntilUsable()

        #expect(try await !other.isCurrent(lost, of: .make(1)))
        #expect(await other.commit([try .make(.make(1), after: lost)]) == .success([.make(1)]))
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
        try await eventually { database.reports.critical.count == 2 }
        #expect(try await !one.isCurrent(stamp, of: .make(1)))
        let loaded = try #require(try await one.load(.make(1)))
        try await one.commit(.make(1), versions: 5, after: loaded.stamp)
        try await database.terminateConnections()
        // Each connection that is made again checks what is missing.
        for (number, store) in [(3, one), (4, other)] {
            try await store.commit(.make(number), versions: 1, after: .none(in: 2))
            _ = try await store.load(.make(number))
            _ = try await store.sessionsWithEffects(after: nil, limit: 1)
        }
        #expect(one.generation == 2 && other.generation == 2)
        #expect(database.reports.critical.count == 2)
        await one.close()
        await other.close()
    }

    @Test func `connections that are lost and made again begin no generation`() async throws {
        let database = try await Database()
        let store = try await database.open()
        var stamp = SessionStamp.none
        for number in 1...30 {
            // Nothing is committed for a moment if also the connection that was made anew is ended.
            try await eventually {
                do {
                    stamp = try await store.commit(.make(1), versions: 1, after: stamp)
                    return true
                } catch StoreError.unavailable {
                    return false
                }
            }
            if number % 3 == 0 { try await database.terminateConnections() }
        }

        #expect(try await store.isCurrent(stamp, of: .make(1)))
        #expect(store.generation == 1 && database.reports.critical == [])
        await store.close()
    }

    @Test func `a synchronous standby that is promoted has everything that was acknowledged`() async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: true)
        let store = try await PostgresStore.open(
            uri: Self.uri(primary, standby, database: "postgres"), limits: patient)
        let (committed, promoted) = (Counter(), Counter())
        let writing = Task {
            var stamps: [SessionID: SessionStamp] = [:]
            var (number, later) = (0, 0)
            while later < 50 {
                let id = SessionID.make(number % 8)
                let change = try SessionChange.make(id, after: stamps[id] ?? .none)
                number += 1
                switch await store.commit([change]) {
                case .success([]):
                    stamps[id] = change.stamp
                    committed.add()
                    later += promoted.value
                // A promotion begins a generation.
                case .success:
                    var loaded: LoadedSession?
                    try await eventually {
                        loaded = try? await store.load(id)
                        return loaded != nil
                    }
                    stamps[id] = loaded?.stamp
                // Known not to be made; tried again with another number.
                case .failure(.unavailable): try await Task.sleep(for: .milliseconds(2))
                case .failure(let error): throw error
                }
            }
            return stamps
        }

        try await eventually { committed.value > 50 }
        try await primary.kill()
        try await standby.promote()
        promoted.add()
        let stamps = try await writing.value
        try await store.waitUntilUsable()

        for (id, stamp) in stamps { #expect(try await store.load(id)?.stamp.commits == stamp.commits) }
        #expect(store.generation > 1)
        await store.close()
    }

    /// A store whose synchronous standby does not answer any more, and a change whose commit would wait for it.
    private func frozen(_ limits: TimeLimits = .hours) async throws -> (
        primary: PostgresCluster, standby: PostgresCluster, store: PostgresStore, change: SessionChange
    ) {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: true)
        let store = try await PostgresStore.open(uri: Self.uri(primary, database: "postgres"), limits: limits)
        let stamp = try await store.commit(.make(1), versions: 1)
        try await standby.setFrozen(true)
        return (primary, standby, store, try SessionChange.make(.make(1), after: stamp))
    }

    /// How many connections stores have to a server.
    private func connectionCount(of server: PostgresCluster) async throws -> Int {
        let count = try await server.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coordinatord'")
        return Int(count) ?? .max
    }

    /// The process of a server that waits until the standby has a commit of a store; 0 if there is none.
    private func waitingProcess(of primary: PostgresCluster) async throws -> Int {
        let processes = try await primary.query(
            """
            SELECT coalesce(min(pid), 0) FROM pg_stat_activity
            WHERE wait_event = 'SyncRep' AND query LIKE 'WITH c AS (%'
            """)
        return Int(processes) ?? 0
    }

    @Test(arguments: ["pg_terminate_backend", "pg_cancel_backend"])
    func `a commit whose wait for the standby is cut off is acknowledged only when the standby has it`(
        ending: String
    ) async throws {
        let (primary, standby, store, change) = try await frozen()
        let thawed = Counter()
        let commit = Task { (outcome: await store.commit([change]), isThawed: thawed.value > 0) }
        try await eventually { try await waitingProcess(of: primary) != 0 }
        // Committed on the primary server alone, which says so to nobody.
        let process = try await waitingProcess(of: primary)
        try await primary.query("SELECT \(ending)(\(process))")
        try await eventually { try await primary.query("SELECT count(*) FROM journal") == "2" }
        // The batch that proves it.
        try await eventually { try await waitingProcess(of: primary) != 0 }
        thawed.add()
        try await standby.setFrozen(false)
        let (outcome, isThawed) = await commit.value

        #expect(outcome == .success([]))
        #expect(isThawed)
        #expect(try await standby.query("SELECT count(*) FROM journal") == "2")
        // The batch, and the one that proves it.
        #expect(try await primary.query("SELECT count(*) FROM batches WHERE lane <> 0") == "3")
        await store.close()
    }

    @Test(arguments: [PostgresCluster.StopMode.immediate, .fast])
    func `after a restart, what the standby has not received is neither read nor confirmed until it has`(
        mode: PostgresCluster.StopMode
    ) async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: true)
        // The limits of a server, because the reads are to be given up.
        let store = try await PostgresStore.openRepeatedly(
            uri: Self.uri(primary, database: "postgres"), limits: .standard)
        let first = try SessionChange.make(.make(1))
        try await store.commitRepeatedly(first)
        try await standby.stop()
        let change = try SessionChange.make(.make(1), after: first.stamp, key: "key")
        let commit = Task { try await store.commitRepeatedly(change) }
        try await eventually { try await waitingProcess(of: primary) != 0 }

        try await primary.restart(mode)
        // The server shows it to those who do not ask for the standby.
        try await eventually { try await primary.query("SELECT count(*) FROM journal") == "2" }
        await #expect(throws: StoreError.self) { try await store.load(.make(1)) }
        await #expect(throws: StoreError.self) { try await store.isCurrent(change.stamp, of: .make(1)) }
        await #expect(throws: StoreError.self) {
            try await store.answer(to: SHA256Digest(of: "key").hex, of: .make(1))
        }
        try await eventually { store.condition.failure == ReplicationBarrier.unconfirmed }
        // Those who wait take few of the server's connections.
        try await eventually { try await connectionCount(of: primary) <= 15 }

        try await standby.start()
        try await eventually { (try? await store.load(.make(1)))?.record.version == 2 }
        #expect(try await standby.query("SELECT count(*) FROM journal") == "2")
        try await commit.value
        await store.close()
    }

    @Test func `an old primary that comes back is not used, neither by who knows the new one nor by who can reach it`()
        async throws
    {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: false)
        let uri = Self.uri(primary, standby, database: "postgres")
        let reports = Reports()
        let store = try await PostgresStore.open(uri: uri, limits: patient, report: reports.add)
        try await store.commit(.make(1), versions: 1)
        try await eventually { try await standby.query("SELECT count(*) FROM journal") == "1" }
        try await primary.kill()
        try await standby.promote()
        try await store.waitUntilUsable()
        let stamp = try #require(try await store.load(.make(1))?.stamp)
        let last = try await store.commit(.make(1), versions: 3, after: stamp)

        try await primary.start()
        // The next connections try the first host first.
        let other = try await PostgresStore.open(uri: uri, limits: patient)
        try await standby.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coordinatord'")

        for _ in 0..<10 {
            try await eventually { (try? await store.isCurrent(last, of: .make(1))) == true }
            #expect(try await other.load(.make(1))?.record.version == 4)
        }
        // A connection that only asks for the timeline ends soon.
        try await eventually { try await connectionCount(of: primary) == 0 }
        // If the new one is gone, there is none.
        try await standby.stop(.immediate)
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
        var limits = TimeLimits.hours
        limits.closing = .milliseconds(100)
        let (primary, standby, store, change) = try await frozen(limits)
        let thawed = Counter()
        let commit = Task { (outcome: await store.commit([change]), isThawed: thawed.value > 0) }
        try await eventually { try await waitingProcess(of: primary) != 0 }

        await store.close()

        thawed.add()
        try await standby.setFrozen(false)
        let (outcome, isThawed) = await commit.value
        #expect(outcome == .success([]) && isThawed)
    }

    @Test func `while the standby does not answer, the outcome of a commit is unknown`() async throws {
        let primary = try await blocking { try PostgresCluster(isDurable: true) }
        let standby = try await primary.makeStandby(isSynchronous: true)
        let store = try await PostgresStore.openRepeatedly(
            uri: Self.uri(primary, database: "postgres"), limits: .standard)
        let first = try SessionChange.make(.make(1))
        try await store.commitRepeatedly(first)
        try await standby.setFrozen(true)
        let change = try SessionChange.make(.make(1), after: first.stamp)

        var outcome = CommitOutcome.success([])
        try await eventually {
            outcome = await store.commit([change])
            // A slow machine has not sent it in time.
            if case .failure(.unavailable) = outcome { return false }
            return true
        }

        guard case .failure(.unknownOutcome) = outcome else { throw TestFailure("the outcome is \(outcome)") }
        // It was committed, and is seen as soon as the standby has it.
        try await standby.setFrozen(false)
        try await eventually { try await primary.query("SELECT count(*) FROM journal") == "2" }
        await store.close()
    }
}
