import Foundation
import Postgres
import Sessions
import TestSupport
import Testing

@testable import PostgresStore

/// Two stores on one database, as two servers have them.
@Suite struct SharingTests {
    @Test func `of two stores that change a session at once, one has a conflict, and both see the same`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        let id = SessionID.make(1)
        var stamp = try await one.commit(id, versions: 1)

        for round in 0..<30 {
            let changes = try ["a", "b"].map { try SessionChange.make(id, after: stamp, $0) }
            async let first = one.commit([changes[0]])
            async let second = other.commit([changes[1]])
            let conflicts = try await (first.get().count, second.get().count)

            // Both may find the row locked by the other.
            #expect(conflicts.0 + conflicts.1 >= 1, "round \(round)")
            let loaded = try #require(try await one.load(id))
            #expect(try await other.load(id)?.stamp == loaded.stamp)
            if conflicts.0 + conflicts.1 == 1 { #expect(loaded.stamp == changes[0].stamp) }
            #expect(try await one.isCurrent(loaded.stamp, of: id))
            #expect(try await !other.isCurrent(stamp, of: id) || conflicts.0 + conflicts.1 == 2)
            stamp = loaded.stamp
        }

        #expect(stamp.version > 1)
        await one.close()
        await other.close()
    }

    @Test func `a stamp counts commits without a version, too`() async throws {
        let database = try await Database()
        let store = try await database.open()
        let id = SessionID.make(1)
        let first = try await store.commit(id, versions: 1)
        let answer = try SessionChange.make(id, after: first, key: "a").answer

        let kept = SessionChange(id: id, expected: first, record: nil, answer: answer)
        #expect(await store.commit([kept]) == .success([]))

        #expect(try await !store.isCurrent(first, of: id))
        #expect(try await store.isCurrent(kept.stamp, of: id))
        #expect(try await store.load(id)?.stamp == SessionStamp(version: 1, commits: 2))
        #expect(await store.commit([kept]) == .success([id]))
        #expect(try await !store.isCurrent(.none, of: .make(2)))
        await store.close()
    }

    @Test func `the feed tells of every commit of all stores, those opened later included`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        try await database.rejuvenate()
        try await other.commit(.make(9), versions: 1)
        let start = try await one.changes(since: nil)
        #expect(!start.isComplete && start.versions.isEmpty)

        try await one.commit(.make(1), versions: 3)
        try await other.commit(.make(2), versions: 2)
        let third = try await database.open()
        try await third.commit(.make(3), versions: 1)

        let next = try await one.changes(since: start.position.lasting)
        #expect(next.isComplete)
        #expect(next.versions == [.make(1): 3, .make(2): 2, .make(3): 1])
        let last = try await one.changes(since: next.position.lasting)
        #expect(last.isComplete && last.versions.isEmpty)
        for store in [one, other, third] { await store.close() }
    }

    @Test func `a feed that was not read for long, or has lost batches, is not complete`() async throws {
        let database = try await Database()
        let store = try await database.open()
        try await database.rejuvenate()
        try await store.commit(.make(1), versions: 1)
        var old = try await store.changes(since: nil).position
        let start = old.lasting

        old.time -= .seconds(31)
        #expect(try await !store.changes(since: old).isComplete)
        #expect(try await store.changes(since: start).isComplete)

        try await store.commit(.make(1), versions: 3, after: SessionStamp(version: 1))
        try await database.query("DELETE FROM batches b WHERE n < (SELECT max(n) FROM batches l WHERE l.lane = b.lane)")
        let all = try await store.changes(since: start)
        // With the lanes' last batches alone, at least one batch is missing.
        #expect(!all.isComplete)
        await store.close()
    }

    @Test func `everything is read that several readers ask for at once`() async throws {
        let database = try await Database()
        let store = try await database.open()
        for number in 0..<40 { try await store.commit(.make(number), versions: 1 + number % 3) }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 0..<400 {
                group.addTask {
                    let id = SessionID.make(turn % 50)
                    let expected = turn % 50 < 40 ? 1 + turn % 50 % 3 : nil
                    #expect(try await store.load(id)?.record.version == expected)
                    let isCurrent = try await store.isCurrent(SessionStamp(version: 2), of: id)
                    #expect(isCurrent == (expected == 2))
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    @Test func `one of two stores that sweep at once forgets a session`() async throws {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        for number in 0..<250 {
            let change = try SessionChange.make(.make(number), keptUntil: number < 200 ? 1000 : 2_000_000_000_000)
            _ = await one.commit([change])
        }

        async let first = one.sweep(at: Date(timeIntervalSince1970: 5), limit: 1000)
        async let second = other.sweep(at: Date(timeIntervalSince1970: 5), limit: 1000)
        var swept = try await first + second
        // What one had locked, the other has skipped.
        swept += try await one.sweep(at: Date(timeIntervalSince1970: 5), limit: 1000)

        #expect(swept.count == 200 && Set(swept).count == 200)
        #expect(try await database.query("SELECT count(*) FROM sessions") == "50")
        #expect(try await database.query("SELECT count(*) FROM journal") == "50")
        await one.close()
        await other.close()
    }

    @Test func `an ended session is listed under no user any more, and one that is kept for good is found`()
        async throws
    {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        let first = try SessionChange.make(.make(1), user: "ann")
        let second = try SessionChange.make(.make(2), user: "ann")
        _ = await one.commit([first, second])
        #expect(Set(try await other.sessions(ofUser: "ann")) == [.make(1), .make(2)])

        _ = await one.commit([try .make(.make(1), after: first.stamp, isEnd: true, user: "ann")])

        #expect(try await other.sessions(ofUser: "ann") == [.make(2)])
        #expect(try await other.history(of: .make(1), from: nil, limit: 9, bytes: .max).map(\.version) == [2])
        await one.close()
        await other.close()
    }

    @Test func `old versions, answers and batches are deleted, and what is kept can be read`() async throws {
        let database = try await Database()
        let store = try await database.open(retention: Retention(versions: 10, answers: 8))
        let id = SessionID.make(1)
        var stamp = SessionStamp.none
        for number in 1...96 {
            let change = try SessionChange.make(id, after: stamp, key: "k\(number)")
            #expect(await store.commit([change]) == .success([]))
            stamp = change.stamp
        }

        try await eventually { try await database.query("SELECT count(*) FROM journal") == "25" }
        try await eventually { try await database.query("SELECT count(*) FROM answers") == "8" }
        #expect(
            try await store.history(of: id, from: nil, limit: 99, bytes: .max).map(\.version)
                == Array((87...96).reversed()))
        #expect(try await store.load(id)?.answeredKeys.count == 8)

        try await database.query("UPDATE batches SET at = at - interval '61 seconds'")
        try await blocking { [uri = database.uri] in
            let link = try DatabaseLink(PostgresSettings(uri: uri), StoreState(isStrict: false, .hours) { _, _ in })
            try ReplicaQueries.prune(link)
        }
        // The last one of each lane that has any.
        #expect(
            try await database.query("SELECT count(*) FROM batches")
                == (try await database.query("SELECT count(DISTINCT lane) FROM batches")))
        #expect(try await database.query("SELECT max(n) > 10 FROM batches") == "t")
        await store.close()
    }

    @Test func `damaged records and answers are refused, and reported once`() async throws {
        let database = try await Database()
        let store = try await database.open()
        let (id, whole) = (SessionID.make(1), SessionID.make(2))
        _ = await store.commit([try .make(id, key: "a")])
        try await store.commit(whole, versions: 1)
        try await database.query(
            "UPDATE journal SET record = replace(record, '1900000000000', '1900000000001') WHERE session = '\(id.text)'"
        )
        try await database.query("UPDATE answers SET answer = replace(answer, '\\\"a', '\\\"b')")

        for _ in 0..<2 {
            await #expect(throws: StoreError.self) { try await store.load(id) }
            await #expect(throws: StoreError.self) { try await store.history(of: id, from: nil, limit: 1, bytes: .max) }
        }
        await #expect(throws: StoreError.self) {
            try await store.answer(to: SessionChange.make(id, key: "a").answer?.key ?? "", of: id)
        }

        #expect(database.reports.all.count == 1)
        #expect(store.condition.remarks.contains("damaged sessions: 1"))
        #expect(try await store.load(whole) != nil)
        #expect(try await store.forget(id))
        #expect(try await store.load(id) == nil)
        await store.close()
    }
}

extension FeedPosition {
    /// The same as if it had been read in an hour: however slow the machine is, it is not too old.
    fileprivate var lasting: FeedPosition {
        var position = self
        position.time += .seconds(3600)
        return position
    }
}
