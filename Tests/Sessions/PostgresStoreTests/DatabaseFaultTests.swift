import Foundation
import Postgres
import Sessions
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// What the failure table in the design promises, provoked really. One test after the other, because each disturbs a
/// whole server, and with the other fault tests, because the promises are times.
@Suite(.serialized) struct DatabaseFaultTests {
    private static func clock(_ body: () async throws -> Void) async rethrows -> Duration {
        try await ContinuousClock().measure { try await body() }
    }

    @Test func `connections that are ended under load cost no commit, and none is made twice`() async throws {
        let database = try await Database()
        let store = try await database.open()
        let (ended, committed) = (Counter(), Counter())
        let ending = Task {
            while !Task.isCancelled {
                ended.add(try await database.terminateConnections())
                let before = committed.value
                // However slow the machine is, the store gets on in between.
                repeat {
                    try? await Task.sleep(for: .milliseconds(30))
                } while committed.value < before + 40 && !Task.isCancelled
            }
        }

        let deadline = ContinuousClock.now + .seconds(60)
        let versions = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                group.addTask {
                    var stamp = SessionStamp.none
                    // However fast the machine is, until an end has come between a commit and its answer.
                    while ended.value <= 10 || stamp.version < 50
                        || (store.counters.unknownOutcomes == 0 && .now < deadline)
                    {
                        stamp = try await store.commit(.make(number), versions: 10, after: stamp)
                        committed.add(1)
                    }
                    return stamp.version
                }
            }
            return try await group.reduce(0, +)
        }
        ending.cancel()
        try await ending.value

        #expect(store.counters.unknownOutcomes > 0)
        #expect(
            try await database.query("SELECT count(*), sum(stamp), sum(version) FROM sessions")
                == "40|\(versions)|\(versions)")
        #expect(store.generation == 1 && database.reports.critical == [])
        await store.close()
    }

    @Test func `each lost connection is counted once, when it is used again, and each that is not made`() async throws {
        let database = try await Database()
        try await database.open().close()

        let counts = try await blocking { [uri = database.uri] in
            let state = StoreState(isStrict: false) { _, _ in }
            func link(_ uri: String) throws -> DatabaseLink { DatabaseLink(try PostgresSettings(uri: uri), state) }
            func use(_ link: DatabaseLink) throws { _ = try link.run(ReplicaQueries.time, within: .seconds(5)) }
            var counts: [Int] = []
            func note() { counts.append(state.counters.withLock { $0.lostConnections }) }
            let links = try (0..<3).map { _ in try link(uri) }
            for link in links { try use(link) }
            note()

            _ = try link(uri).run(DatabaseFaultTests.endOfOthers, within: .seconds(5))
            for link in links {
                #expect(throws: PostgresError.self) { try use(link) }
                for _ in 0..<2 { try use(link) }
            }
            note()

            let nowhere = try link("postgresql://postgres@127.0.0.1:1/x")
            #expect(throws: PostgresError.self) { try use(nowhere) }
            note()
            return counts
        }

        #expect(counts == [0, 3, 4])
    }

    private static let endOfOthers = PostgresStatement(
        "end",
        """
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """)

    @Test func `while the database is away, nothing is sent and two seconds are waited; then it goes on`() async throws
    {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let database = try await Database(on: cluster)
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)
        try await blocking { try cluster.stop(.immediate) }

        let change = try SessionChange.make(.make(1), after: stamp)
        let time = try await Self.clock {
            let outcome = await store.commit([change])
            guard case .failure(.unavailable) = outcome else { throw TestFailure("the outcome is \(outcome)") }
        }
        await #expect(throws: StoreError.self) { try await store.isCurrent(stamp, of: .make(1)) }
        try await eventually { store.condition.failure != nil }
        #expect((.milliseconds(1500)..<Duration.milliseconds(4000)).contains(time), "\(time)")

        try await blocking { try cluster.start() }
        let back = try await Self.clock {
            try await eventually { await store.commit([change]) == .success([]) }
        }
        #expect(back < .seconds(3), "\(back)")
        try await eventually { store.condition.failure == nil }
        #expect(try await store.isCurrent(change.stamp, of: .make(1)))
        await store.close()
    }

    @Test(arguments: [NetworkLink.Condition.partitioned, .deafServer, .deafClients])
    func `without a network, nothing is ready or applied; with it again, everything is decided`(
        condition: NetworkLink.Condition
    ) async throws {
        let database = try await Database()
        let link = try NetworkLink(to: database.port)
        defer { link.close() }
        let store = try await database.open(through: link.port)
        for number in 1...4 { try await store.commit(.make(number), versions: 1) }
        link.set(condition)
        let start = ContinuousClock.now

        let outcomes = try await withThrowingTaskGroup(of: (SessionChange, CommitOutcome, Duration).self) { group in
            for number in 0..<60 {
                let change = try SessionChange.make(.make(100 + number))
                group.addTask {
                    let start = ContinuousClock.now
                    return (change, await store.commit([change]), .now - start)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
            try await eventually { store.condition.failure != nil }
            #expect(.now - start < .seconds(5.5))
            return try await group.reduce(into: []) { $0.append($1) }
        }
        link.set(.whole)
        let back = try await Self.clock {
            try await eventually { (try? await store.commit(.make(900), versions: 1))?.version == 1 }
        }
        #expect(back < .seconds(2.5), "\(back)")
        try await eventually { store.condition.failure == nil }

        for (change, outcome, time) in outcomes {
            switch outcome {
            case .success(let conflicts): #expect(conflicts.isEmpty)
            case .failure(.unavailable):
                #expect(time < .seconds(3), "\(time)")
                #expect(try await store.load(change.id) == nil)
            case .failure(.unknownOutcome): #expect(time < .seconds(6.5), "\(time)")
            case .failure(let error): throw error
            }
        }
        #expect(outcomes.contains { $0.1 != .success([]) })
        await store.close()
    }

    @Test(arguments: [
        (
            "REVOKE INSERT, UPDATE ON journal FROM \"ROLE\"", "GRANT INSERT ON journal TO \"ROLE\"",
            "permission denied for table journal (SQLSTATE 42501)"
        ),
        (
            "ALTER TABLE journal RENAME TO logbook", "ALTER TABLE logbook RENAME TO journal",
            #"relation "journal" does not exist (SQLSTATE 42P01)"#
        ),
        (
            "REVOKE SELECT ON store FROM \"ROLE\"", "GRANT SELECT ON store TO \"ROLE\"",
            "permission denied for table store (SQLSTATE 42501)"
        ),
    ])
    func `while the database refuses every commit, nothing is ready, and the reason is said`(
        damage: String, repair: String, reason: String
    ) async throws {
        let database = try await Database()
        _ = try await PostgresStore.migrate(uri: database.uri)
        let role = "server_\(database.name)"
        try await database.query(
            """
            CREATE ROLE \(role) LOGIN;
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(role)
            """)
        let store = try await PostgresStore.open(
            uri: database.uri.replacing("postgres@", with: "\(role)@"), durability: .relaxed,
            report: database.reports.add)
        let stamp = try await store.commit(.make(1), versions: 1)
        try await database.query(damage.replacing("ROLE", with: role))
        let noticed = try await Self.clock { try await eventually { store.condition.failure != nil } }
        let failure = store.condition.failure
        let refused = await store.commit([try .make(.make(1), after: stamp)])
        try await database.query(repair.replacing("ROLE", with: role))
        let back = try await Self.clock { try await eventually { store.condition.failure == nil } }

        #expect(failure == reason)
        #expect(refused != .success([]))
        #expect(noticed < .seconds(4) && back < .seconds(4), "\(noticed), \(back)")
        try await store.commit(.make(1), versions: 1, after: stamp)
        let about = database.reports.all.filter { $0.hasSuffix(reason) && !$0.hasPrefix("a change of session") }
        #expect(about.count == 1 && database.reports.critical == [], "\(database.reports.all)")
        await store.close()
    }

    @Test func `a server that comes back without its promises is refused from then on`() async throws {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let store = try await PostgresStore.open(uri: cluster.uri())
        let stamp = try await store.commit(.make(1), versions: 1)
        try await blocking {
            try cluster.append(["fsync = off"])
            try cluster.restart()
        }

        try await eventually { store.condition.failure == "the database may lose what it acknowledges" }
        guard case .failure(.unavailable) = await store.commit([try .make(.make(1), after: stamp)]) else {
            throw TestFailure("it is not refused")
        }
        await store.close()
    }

    @Test func `a database that is frozen leaves the outcome unknown, and it is found out later`() async throws {
        let cluster = try await blocking { try PostgresCluster() }
        let database = try await Database(on: cluster)
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)
        // Both lanes have a connection. Lane 0 is nobody's.
        var numbers = 2..<10
        repeat {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in numbers { group.addTask { try await store.commit(.make(number), versions: 1) } }
                try await group.waitForAll()
            }
            numbers = numbers.upperBound..<numbers.upperBound + 8
        } while try await database.query("SELECT count(DISTINCT lane) FROM batches WHERE lane > 0")
            != "\(store.laneCount)"
        try await blocking { try cluster.setFrozen(true) }

        let change = try SessionChange.make(.make(1), after: stamp)
        var outcome: CommitOutcome?
        let time = await Self.clock { outcome = await store.commit([change]) }
        guard case .failure(.unknownOutcome) = outcome else { throw TestFailure("the outcome is \(outcome as Any)") }
        #expect((.seconds(4)..<Duration.seconds(9)).contains(time), "\(time)")

        try await blocking { try cluster.setFrozen(false) }
        // The lane decides the change before it sends another one of this session.
        try await eventually { (try? await store.isCurrent(change.stamp, of: .make(1))) == true }
        try await eventually { store.condition.failure == nil }
        let next = try SessionChange.make(.make(1), after: change.stamp)
        #expect(await store.commit([next]) == .success([]))
        #expect(
            try await database.query("SELECT count(*) FROM journal WHERE session = '\(SessionID.make(1).text)'") == "3")
        await store.close()
    }

    @Test func `a server that only reads for a while is waited for`() async throws {
        let cluster = try await blocking { try PostgresCluster() }
        let database = try await Database(on: cluster)
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)
        try await database.query("ALTER SYSTEM SET default_transaction_read_only = on")
        try await blocking { try cluster.reload() }
        let writable = Task {
            try await Task.sleep(for: .milliseconds(600))
            try await database.query("ALTER SYSTEM RESET default_transaction_read_only")
            try await blocking { try cluster.reload() }
        }
        try await Task.sleep(for: .milliseconds(200))

        try await store.commit(.make(1), versions: 1, after: stamp)

        try await writable.value
        #expect(store.counters.retries > 0)
        await store.close()
    }

    @Test func `too many connections are waited for`() async throws {
        let database = try await Database()
        // A superuser is not limited.
        _ = try await PostgresStore.migrate(uri: database.uri)
        try await database.query("GRANT ALL ON ALL TABLES IN SCHEMA public TO secured")
        let limited = try await PostgresStore.open(
            uri: database.uri.replacing("postgres@", with: "secured@"), password: { "secured" }, durability: .relaxed)
        let stamp = try await limited.commit(.make(1), versions: 1)
        try await database.query("ALTER DATABASE \(database.name) CONNECTION LIMIT 0")
        try await database.terminateConnections()
        let raising = Task {
            try await Task.sleep(for: .milliseconds(500))
            try await database.query("ALTER DATABASE \(database.name) CONNECTION LIMIT -1")
        }

        try await limited.commit(.make(1), versions: 1, after: stamp)

        try await raising.value
        #expect(limited.counters.retries > 0)
        await limited.close()
    }

    @Test func `a session that somebody has locked is a conflict at once, and a locked table is waited for`()
        async throws
    {
        let database = try await Database()
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)
        let change = try SessionChange.make(.make(1), after: stamp)

        let row = Task {
            try await database.query("BEGIN; SELECT FROM sessions FOR UPDATE; SELECT pg_sleep(1.5); COMMIT")
        }
        try await database.waitForSleep()
        let time = await Self.clock {
            #expect(await store.commit([change]) == .success([CommitConflict(id: .make(1))]))
        }
        #expect(time < .seconds(1))
        _ = try await row.value

        let table = Task { try await database.query("BEGIN; LOCK TABLE batches; SELECT pg_sleep(0.7); COMMIT") }
        try await database.waitForSleep()
        #expect(await store.commit([change]) == .success([]))
        _ = try await table.value
        await store.close()
    }

    @Test func `deadlocks and time-outs are tried again, and a full disk is reported`() async throws {
        let database = try await Database()
        let store = try await database.open()
        try await store.commit(.make(1), versions: 1)
        try await database.query(
            """
            CREATE SEQUENCE tries;
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF NEW.session LIKE '%2' AND nextval('tries') <= 3 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END IF;
              IF NEW.session LIKE '%3' AND nextval('tries') <= 6 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END IF;
              IF NEW.session LIKE '%4' THEN RAISE EXCEPTION 'x' USING ERRCODE = '53100'; END IF;
              IF NEW.session LIKE '%5' THEN RAISE EXCEPTION 'x' USING ERRCODE = '23514'; END IF;
              RETURN NEW; END $$;
            CREATE TRIGGER fail BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION fail();
            """)

        try await store.commit(.make(2), versions: 1)
        try await store.commit(.make(3), versions: 1)
        #expect(store.counters.retries == 5)

        #expect(await store.commit([try .make(.make(4))]) == .failure(.full))
        #expect(store.condition.remarks.contains { $0.contains("full") })
        #expect(try await store.load(.make(4)) == nil)
        await store.close()
    }

    @Test func `a change that the database refuses costs no other change its batch`() async throws {
        let database = try await Database()
        let store = try await database.open()
        try await store.commit(.make(1), versions: 1)
        try await database.query("ALTER TABLE journal ADD CHECK (session NOT LIKE '%5')")

        let outcomes = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
            for number in 10..<60 {
                let change = try SessionChange.make(.make(number))
                group.addTask { (number, await store.commit([change]) == .success([])) }
            }
            return try await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
        }

        for (number, isCommitted) in outcomes { #expect(isCommitted == (number % 10 != 5), "\(number)") }
        #expect(database.reports.all.count == 5)
        await store.close()
    }

    @Test func `what waits while both lanes are busy is bounded in number and time`() async throws {
        let database = try await Database()
        let store = try await database.open()
        try await store.commit(.make(1), versions: 1)
        // Until what may wait is all that waits.
        let (count, most) = (4400, 2 * CommitQueue.batchSize)
        let lock = Task { try await database.query("BEGIN; LOCK TABLE batches; SELECT pg_sleep(60); COMMIT") }
        try await database.waitForSleep()

        let outcomes = try await withThrowingTaskGroup(of: (CommitOutcome, Duration).self) { group in
            for number in 0..<count {
                let change = try SessionChange.make(.make(10 + number))
                group.addTask {
                    let start = ContinuousClock.now
                    return (await store.commit([change]), .now - start)
                }
            }
            var outcomes: [(CommitOutcome, Duration)] = []
            while let outcome = try await group.next() {
                outcomes.append(outcome)
                guard outcomes.count == count - most else { continue }
                try await database.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()
                    """)
            }
            return outcomes
        }
        _ = try? await lock.value

        let failed = outcomes.filter { $0.0 != .success([]) }
        for (outcome, _) in failed {
            guard case .failure(.unavailable) = outcome else { throw TestFailure("\(outcome)") }
        }
        #expect(outcomes.count - failed.count <= most)
        #expect(outcomes.count - failed.count > 0)
        #expect(failed.contains { $0.1 < .seconds(1) })
        // Nothing of what failed was done.
        #expect(try await database.query("SELECT count(*) FROM sessions") == "\(1 + outcomes.count - failed.count)")
        await store.close()
    }

    @Test func `a closed store refuses, and leaves nothing waiting`() async throws {
        let database = try await Database()
        let store = try await database.open()
        await store.close()

        guard case .failure(.unavailable) = await store.commit([try .make(.make(1))]) else {
            throw TestFailure("a closed store has committed")
        }
        await #expect(throws: StoreError.self) { try await store.load(.make(1)) }
        await #expect(throws: StoreError.self) { try await store.isCurrent(.none, of: .make(1)) }
        await #expect(throws: StoreError.self) { try await store.changes(since: nil) }
        await #expect(throws: StoreError.self) { try await store.sweep(at: Date(), limit: 1) }
    }
}

extension Database {
    /// Waits until a client of the database sleeps, and so has its locks.
    func waitForSleep() async throws {
        try await eventually {
            try await query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE wait_event = 'PgSleep' AND datname = current_database()
                """) == "1"
        }
    }
}

private final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add(_ more: Int) { count.add(more, ordering: .relaxed) }
}
