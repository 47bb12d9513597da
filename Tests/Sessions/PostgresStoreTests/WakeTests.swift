import Foundation
import Sessions
import TestSupport
import Testing

@testable import Postgres
@testable import PostgresStore

/// Timers and effects on a database that several servers share.
@Suite struct WakeTests {
    let now = Date(timeIntervalSince1970: 100)

    /// A version with a timer that is due at 10 seconds since 1970, or effects.
    static func change(
        _ number: Int, after stamp: SessionStamp = .none, hasTimer: Bool = false, hasEffects: Bool = false
    ) throws -> SessionChange {
        let pending =
            (hasTimer ? [#"{"due":10000}"#] : []) + (hasEffects ? [#"{"effect":"hold"}"#] : [])
        let text = """
            {"session":"\(SessionID.make(number).text)","app":"a","token":"\(String(repeating: "ab", count: 32))",\
            "createdAt":1800000000000,"version":\(stamp.version + 1),"time":1800000000000,"keptUntil":2000000000000,\
            "expiresAt":1900000000000,"state":{"pending":[\(pending.joined(separator: ","))]}}
            """
        let record = try SessionRecord(parsing: Array(text.utf8)).encoded
        return SessionChange(id: .make(number), expected: stamp, record: record)
    }

    /// As if all sessions with effects were those of another server.
    static func moveEffects(_ database: Database) async throws {
        try await database.query(
            """
            INSERT INTO replicas (id, lanes) VALUES (77, '{}');
            UPDATE sessions SET replica = 77 WHERE replica IS NOT NULL
            """)
    }

    @Test func `every server finds the timers that any of them has committed`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        let change = try WakeTests.change(1, hasTimer: true)
        _ = await one.commit([change])

        let due = DueTimer(.make(1), due: Date(timeIntervalSince1970: 10))
        #expect(try await other.dueTimers(at: now, limit: 9) == [due])
        #expect(try await one.dueTimers(at: now, limit: 9) == [due])
        _ = await other.commit([try WakeTests.change(1, after: change.stamp)])
        #expect(try await one.dueTimers(at: now, limit: 9) == [])
        await one.close()
        await other.close()
    }

    @Test func `effects are performed by the server that has committed last, as long as it lives`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        try await database.rejuvenate()
        let first = try WakeTests.change(1, hasEffects: true)
        _ = await one.commit([first, try WakeTests.change(2, hasEffects: true)])

        #expect(try await one.sessionsWithEffects(after: nil, limit: 9) == [.make(1), .make(2)])
        #expect(try await other.sessionsWithEffects(after: nil, limit: 9) == [])

        _ = await other.commit([try WakeTests.change(1, after: first.stamp, hasEffects: true)])

        #expect(try await one.sessionsWithEffects(after: nil, limit: 9) == [.make(2)])
        #expect(try await other.sessionsWithEffects(after: nil, limit: 9) == [.make(1)])
        #expect(try await one.sessionsWithEffects(after: .make(2), limit: 9) == [])
        await one.close()
        await other.close()
    }

    @Test func `effects that a server cannot perform are performed by another one`() async throws {
        let database = try await Database()
        let (older, newer) = (try await database.open(), try await database.open())
        try await database.rejuvenate()
        _ = await newer.commit([try WakeTests.change(1, hasEffects: true), try WakeTests.change(2, hasEffects: true)])
        try await WakeTests.moveEffects(database)
        try await database.query("DELETE FROM replicas WHERE id = 77")
        #expect(try await older.sessionsWithEffects(after: nil, limit: 9) == [.make(1), .make(2)])

        try await older.leaveEffects(of: [.make(2)])

        #expect(try await newer.sessionsWithEffects(after: nil, limit: 9) == [.make(2)])
        #expect(try await older.sessionsWithEffects(after: nil, limit: 9) == [.make(1)])
        await older.close()
        await newer.close()
    }

    @Test func `the effects of a server that is gone are taken over by one other, page by page`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        try await database.rejuvenate()
        let count = 50
        for number in 1...count { _ = await one.commit([try WakeTests.change(number, hasEffects: true)]) }
        try await WakeTests.moveEffects(database)
        _ = await one.commit([try WakeTests.change(100, hasEffects: true)])
        #expect(try await one.sessionsWithEffects(after: nil, limit: 9) == [.make(100)])
        #expect(try await other.sessionsWithEffects(after: nil, limit: 9) == [])
        try await database.query(
            "UPDATE replicas SET seen = clock_timestamp() - interval '1 hour 21 seconds' WHERE id = 77")

        func all(_ store: PostgresStore) async throws -> [SessionID] {
            var all: [SessionID] = []
            while case let page = try await store.sessionsWithEffects(after: all.last, limit: 7), !page.isEmpty {
                all += page
            }
            return all
        }
        async let found = all(one)
        async let others = all(other)
        let (mine, theirs) = try await (Set(found), Set(others))

        #expect(mine.isDisjoint(with: theirs), "each is taken over once")
        // What one of them was just looking at, the other has skipped.
        let taken = try await Set(all(one) + all(other))
        #expect(taken == Set((1...count).map(SessionID.make) + [.make(100)]))
        #expect(try await all(one).contains(.make(100)) && !theirs.contains(.make(100)))
        // The stamp is as before: the server may go on after all, and a commit decides.
        #expect(try await one.isCurrent(SessionStamp(version: 1), of: .make(1)))
        await one.close()
        await other.close()
    }

    @Test func `a server that stops leaves its effects to the others at once, and one that goes on keeps them`()
        async throws
    {
        let database = try await Database()
        let (stopped, one) = (try await database.open(), try await database.open())
        try await database.rejuvenate()
        _ = await stopped.commit([try WakeTests.change(1, hasEffects: true)])
        _ = await one.commit([try WakeTests.change(2, hasEffects: true)])
        await stopped.close()

        #expect(try await one.sessionsWithEffects(after: nil, limit: 9) == [.make(1), .make(2)])
        #expect(try await database.query("SELECT count(DISTINCT replica) FROM sessions") == "1")
        await one.close()
    }

    @Test func `timers and effects are found in indexes, and cost no row of another session`() async throws {
        let database = try await Database()
        let store = try await database.open()
        _ = await store.commit([try WakeTests.change(1, hasTimer: true, hasEffects: true)])
        try await store.commit(.make(2), versions: 2)
        #expect(
            try await database.query("SELECT id FROM sessions WHERE timer IS NULL AND replica IS NULL")
                == SessionID.make(2).text)
        for (sql, index) in [
            (WakeQueries.due.sql, "sessions_by_timer"), (WakeQueries.performing.sql, "sessions_by_replica"),
        ] {
            // As the store's connections plan it.
            let types = sql.contains("$3") ? "(bigint, text, bigint)" : "(bigint, bigint)"
            let values = sql.contains("$3") ? "(1, '', 1)" : "(1, 1)"
            let plan = try await database.query(
                """
                SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;
                SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan;
                PREPARE wanted \(types) AS \(sql); EXPLAIN EXECUTE wanted \(values)
                """)
            #expect(plan.contains("using \(index)") && !plan.contains("Seq Scan on sessions"), "\(plan)")
        }
        await store.close()
    }
}
