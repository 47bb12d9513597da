import Foundation
import Postgres
import Sessions
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// What the failure table in the design promises, provoked really. One test after the other, because each disturbs a
/// whole server.
@Suite(.serialized) struct DatabaseFaultTests {
    @Test func `connections that are ended under load cost no commit, and none is made twice`() async throws {
        let database = try await Database()
        let store = try await database.open()
        let (isOver, commits, count) = (Counter(), Counter(), 20)

        let versions = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    var stamp = SessionStamp.none
                    while isOver.value == 0, !Task.isCancelled {
                        stamp = try await store.commit(.make(number), versions: 10, after: stamp)
                        commits.add()
                    }
                    return stamp.version
                }
            }
            try await database.terminateConnections()
            // From now on only those that commit: what finds its connection ended twice in a row takes the database for
            // unusable, and then commits are refused.
            let committing = "query LIKE 'WITH c AS (%'"
            for round in 1..<12 {
                if round.isMultiple(of: 2) {
                    try await database.terminateConnections(committing)
                } else {
                    // Certainly between a commit and its answer: a connection that is new would still look at its plan.
                    let before = commits.value
                    try await eventually { commits.value > before + count }
                    try await database.whileLocked("LOCK TABLE batches") {
                        try await database.waitForBlockedCommit()
                        try await database.terminateConnections(committing)
                    }
                }
            }
            isOver.add()
            return try await group.reduce(0, +)
        }

        #expect(store.counters.unknownOutcomes > 0)
        #expect(
            try await database.query("SELECT count(*), sum(stamp), sum(version) FROM sessions")
                == "\(count)|\(versions)|\(versions)")
        #expect(store.generation == 1 && database.reports.critical == [])
        await store.close()
    }

    @Test func `each lost connection is counted once, when it is used again, and each that is not made`() async throws {
        let database = try await Database()
        try await database.open().close()

        let counts = try await blocking { [uri = database.uri] in
            let state = StoreState(isStrict: false, .hours) { _, _ in }
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
        SELECT pg_terminate_backend(pid, 600000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """)

    @Test func `while the database is away, nothing is sent and changes are refused; then it goes on`() async throws {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let database = try await Database(on: cluster)
        var limits = TimeLimits.hours
        limits.waiting = .milliseconds(300)
        let store = try await database.open(limits: limits)
        let first = try SessionChange.make(.make(1))
        try await store.commitRepeatedly(first)
        try await cluster.stop(.immediate)

        let change = try SessionChange.make(.make(1), after: first.stamp)
        let outcome = await store.commit([change])
        guard case .failure(.unavailable) = outcome else { throw TestFailure("the outcome is \(outcome)") }
        await #expect(throws: StoreError.self) { try await store.isCurrent(first.stamp, of: .make(1)) }
        try await eventually { store.condition.failure != nil }

        try await cluster.start()
        try await store.commitRepeatedly(change)
        try await eventually { store.condition.failure == nil }
        try await eventually { (try? await store.isCurrent(change.stamp, of: .make(1))) == true }
        #expect(store.counters.unknownOutcomes == 0)
        await store.close()
    }

    @Test(arguments: [NetworkLink.Condition.partitioned, .deafServer, .deafClients])
    func `without a network, nothing is ready or applied; with it again, everything is decided`(
        condition: NetworkLink.Condition
    ) async throws {
        let database = try await Database()
        let link = try NetworkLink(to: database.port)
        defer { link.close() }
        // The limits of a server, because what is sent is to be given up.
        let store = try await PostgresStore.openRepeatedly(
            uri: database.uri(through: link.port), durability: .relaxed, limits: .standard,
            report: database.reports.add)
        for number in 1...4 { try await store.commitRepeatedly(.make(.make(number))) }
        link.set(condition)

        let outcomes = try await withThrowingTaskGroup(of: (SessionChange, CommitOutcome).self) { group in
            for number in 0..<60 {
                let change = try SessionChange.make(.make(100 + number))
                group.addTask { (change, await store.commit([change])) }
                try await Task.sleep(for: .milliseconds(20))
            }
            try await eventually { store.condition.failure != nil }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        link.set(.whole)
        try await store.commitRepeatedly(.make(.make(900)))
        try await eventually { store.condition.failure == nil }

        let other = try await database.open()
        for (change, outcome) in outcomes {
            switch outcome {
            case .success(let conflicts): #expect(conflicts.isEmpty)
            case .failure(.unavailable): #expect(try await other.load(change.id) == nil)
            case .failure(.unknownOutcome): break
            case .failure(let error): throw error
            }
        }
        #expect(outcomes.contains { $0.1 != .success([]) })
        await other.close()
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
        try await database.migrate()
        let role = "server_\(database.name)"
        try await database.query(
            """
            CREATE ROLE \(role) LOGIN;
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(role)
            """)
        let store = try await PostgresStore.open(
            uri: database.uri.replacing("postgres@", with: "\(role)@"), durability: .relaxed, limits: .hours,
            report: database.reports.add)
        let stamp = try await store.commit(.make(1), versions: 1)
        try await database.query(damage.replacing("ROLE", with: role))
        try await eventually { store.condition.failure != nil }
        let failure = store.condition.failure
        let refused = await store.commit([try .make(.make(1), after: stamp)])
        try await database.query(repair.replacing("ROLE", with: role))
        try await eventually { store.condition.failure == nil }

        #expect(failure == reason)
        #expect(refused != .success([]))
        try await store.commit(.make(1), versions: 1, after: stamp)
        let about = database.reports.all.filter { $0.hasSuffix(reason) && !$0.hasPrefix("a change of session") }
        #expect(about.count == 1 && database.reports.critical == [], "\(database.reports.all)")
        await store.close()
    }

    @Test func `a server that comes back without its promises is refused from then on`() async throws {
        let cluster = try await blocking { try PostgresCluster(isDurable: true) }
        let store = try await PostgresStore.open(uri: cluster.uri(), limits: .hours)
        let stamp = try await store.commit(.make(1), versions: 1)
        try cluster.append(["fsync = off"])
        try await cluster.restart()

        try await eventually { store.condition.failure == "the database may lose what it acknowledges" }
        guard case .failure(.unavailable) = await store.commit([try .make(.make(1), after: stamp)]) else {
            throw TestFailure("it is not refused")
        }
        await store.close()
    }

    @Test func `a database that is frozen leaves the outcome unknown, and it is found out later`() async throws {
        let cluster = try await blocking { try PostgresCluster() }
        let database = try await Database(on: cluster)
        // The limits of a server, because what is sent is to be given up.
        let store = try await PostgresStore.openRepeatedly(
            uri: database.uri, durability: .relaxed, limits: .standard, report: database.reports.add)
        let first = try SessionChange.make(.make(1))
        try await store.commitRepeatedly(first)
        // Both lanes have a connection. Lane 0 is nobody's.
        var numbers = 2..<10
        repeat {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in numbers { group.addTask { try await store.commitRepeatedly(.make(.make(number))) } }
                try await group.waitForAll()
            }
            numbers = numbers.upperBound..<numbers.upperBound + 8
        } while try await database.query("SELECT count(DISTINCT lane) FROM batches WHERE lane > 0")
            != "\(store.laneCount)"

        let change = try SessionChange.make(.make(1), after: first.stamp)
        var outcome = CommitOutcome.success([])
        try await eventually {
            try await cluster.setFrozen(true)
            outcome = await store.commit([change])
            guard case .failure(.unavailable) = outcome else { return true }
            // A slow machine has lost the lane's connection, or has not sent the change in time.
            try await cluster.setFrozen(false)
            try await eventually { store.condition.failure == nil }
            try await store.commitRepeatedly(.make(.make(numbers.upperBound)))
            numbers = numbers.upperBound..<numbers.upperBound + 1
            return false
        }
        guard case .failure(.unknownOutcome) = outcome else { throw TestFailure("the outcome is \(outcome)") }

        try await cluster.setFrozen(false)
        // The lane decides the change before it sends another one of this session.
        try await eventually { (try? await store.isCurrent(change.stamp, of: .make(1))) == true }
        try await eventually { store.condition.failure == nil }
        try await store.commitRepeatedly(.make(.make(1), after: change.stamp))
        #expect(
            try await database.query("SELECT count(*) FROM journal WHERE session = '\(SessionID.make(1).text)'") == "3")
        await store.close()
    }

    /// Commits a change while the database cannot be used, and expects that the change waits until it can be again.
    private func expectWait(
        _ store: PostgresStore, _ change: SessionChange, damage: () async throws -> Void,
        repair: () async throws -> Void
    ) async throws {
        try await eventually {
            let retries = store.counters.retries
            try await damage()
            let isOver = Counter()
            let commit = Task {
                defer { isOver.add() }
                return await store.commit([change])
            }
            try await eventually { store.counters.retries > retries || isOver.value > 0 }
            try await repair()
            let outcome = await commit.value
            try await store.waitUntilUsable()
            // The store has noticed before the commit that the database cannot be used.
            if case .failure(.unavailable) = outcome { return false }
            #expect(outcome == .success([]) && store.counters.retries > retries)
            return true
        }
    }

    @Test func `a server that only reads for a while is waited for`() async throws {
        let cluster = try await blocking { try PostgresCluster() }
        let database = try await Database(on: cluster)
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)

        try await expectWait(store, try .make(.make(1), after: stamp)) {
            try await database.query("ALTER SYSTEM SET default_transaction_read_only = on")
            try await cluster.reload()
            try await eventually { try await database.query("SHOW default_transaction_read_only") == "on" }
        } repair: {
            try await database.query("ALTER SYSTEM RESET default_transaction_read_only")
            try await cluster.reload()
        }

        await store.close()
    }

    @Test func `too many connections are waited for`() async throws {
        let database = try await Database()
        // A superuser is not limited.
        try await database.migrate()
        try await database.query("GRANT ALL ON ALL TABLES IN SCHEMA public TO secured")
        let limited = try await PostgresStore.open(
            uri: database.uri.replacing("postgres@", with: "secured@"), password: { "secured" }, durability: .relaxed,
            limits: .hours)
        let stamp = try await limited.commit(.make(1), versions: 1)

        try await expectWait(limited, try .make(.make(1), after: stamp)) {
            try await database.query("ALTER DATABASE \(database.name) CONNECTION LIMIT 0")
            try await database.terminateConnections()
        } repair: {
            try await database.query("ALTER DATABASE \(database.name) CONNECTION LIMIT -1")
        }

        await limited.close()
    }

    @Test func `a session that somebody has locked is a conflict at once, and a locked table is waited for`()
        async throws
    {
        let database = try await Database()
        let store = try await database.open()
        let stamp = try await store.commit(.make(1), versions: 1)
        let change = try SessionChange.make(.make(1), after: stamp)

        try await database.whileLocked("SELECT FROM sessions FOR UPDATE") {
            #expect(await store.commit([change]) == .success([.make(1)]))
        }
        let commit = try await database.whileLocked("LOCK TABLE batches") {
            let commit = Task { await store.commit([change]) }
            try await database.waitForBlockedCommit()
            return commit
        }
        #expect(await commit.value == .success([]))
        await store.close()
    }

    @Test func `a table that another program has locked makes the store not ready until it is free`() async throws {
        let database = try await Database()
        let store = try await database.open(limits: .standard)

        try await database.whileLocked("LOCK TABLE journal") {
            try await eventually { store.condition.failure?.contains("no answer in time") == true }
        }

        try await eventually { store.condition.failure == nil }
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

    @Test func `what waits while both lanes are busy is bounded in number`() async throws {
        let database = try await Database()
        let store = try await database.open()
        try await store.commit(.make(1), versions: 1)
        // More than may wait.
        let (count, most) = (4400, CommitQueue.limit + 2 * CommitQueue.batchSize)

        let outcomes = try await database.outcomes(of: count, in: store, whileLockedUntil: count - most)

        let committed = outcomes.count { $0 == .success([]) }
        #expect((CommitQueue.limit...count).contains(committed))
        // Nothing of what failed was done.
        #expect(try await database.query("SELECT count(*) FROM sessions") == "\(1 + committed)")
        await store.close()
    }

    @Test func `what waits while both lanes are busy is bounded in time`() async throws {
        let database = try await Database()
        var limits = TimeLimits.hours
        limits.waiting = .milliseconds(300)
        let store = try await database.open(limits: limits)
        // More than the two batches that are under way.
        let (count, most) = (300, 2 * CommitQueue.batchSize)

        let outcomes = try await database.outcomes(of: count, in: store, whileLockedUntil: count - most)

        let committed = outcomes.count { $0 == .success([]) }
        #expect(try await database.query("SELECT count(*) FROM sessions") == "\(committed)")
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
    /// The outcomes of so many commits at once, none of which can be carried out before so many have failed.
    fileprivate func outcomes(
        of count: Int, in store: PostgresStore, whileLockedUntil failures: Int
    ) async throws -> [CommitOutcome] {
        try await withThrowingTaskGroup(of: CommitOutcome.self) { group in
            var outcomes = try await whileLocked("LOCK TABLE batches") {
                for number in 0..<count {
                    let change = try SessionChange.make(.make(10 + number))
                    group.addTask { await store.commit([change]) }
                }
                var early: [CommitOutcome] = []
                while early.count < failures, let outcome = try await group.next() { early.append(outcome) }
                return early
            }
            #expect(!outcomes.contains(.success([])))
            while let outcome = try await group.next() { outcomes.append(outcome) }
            for case .failure(let error) in outcomes {
                guard case .unavailable = error else { throw error }
            }
            return outcomes
        }
    }
}
