import Foundation
import SQLite
import Sessions
import TestSupport
import Testing

@testable import SQLiteStore

/// What the index of timers and effects in a SQLite file promises beyond the contract.
@Suite struct SQLiteWakeTests {
    let directory = TemporaryDirectory()
    let reports = DamageTests.Reports()

    var database: String { directory.path + "/sessions.sqlite" }

    func open(_ path: String? = nil) throws -> SQLiteStore {
        let reports = reports
        return try SQLiteStore(directory: path ?? directory.path, report: { reports.append($0) }) {
            Issue.record("\($0)")
        }
    }

    /// Sessions with a timer, with effects, and with neither any more.
    static func fill(_ store: SQLiteStore) async throws {
        _ = await store.commit([
            try .make(1, 1, timer: 10), try .make(2, 1, timer: 20, hasEffects: true),
            try .make(3, 1, timer: 30, hasEffects: true), try .make(3, 2),
        ])
    }

    static func expectFilled(_ store: SQLiteStore) async throws {
        #expect(try await store.dueTimers(at: 99) == [.make(1, 10), .make(2, 20)])
        #expect(try await store.sessionsWithEffects(after: nil, limit: 9) == [.make(2)])
    }

    @Test func `timers and effects are there when the store is opened again, after a crash, and when it is rebuilt`()
        async throws
    {
        let crashed = TemporaryDirectory()
        var store = try SQLiteStore.uncompacted(directory)
        // Compacted in part: the first versions of all.
        _ = await store.commit(try (1...3).map { try .make($0, 1, timer: 5, hasEffects: true) })
        try await store.compact()
        _ = await store.commit([
            try .make(1, 2, timer: 10), try .make(2, 2, timer: 20, hasEffects: true), try .make(3, 2),
        ])
        try FileManager.default.copyItem(atPath: directory.path, toPath: crashed.path)
        await store.close()

        store = try open()
        try await SQLiteWakeTests.expectFilled(store)
        await store.close()
        try Data().write(to: URL(filePath: "\(directory.path)/sessions.damaged"))
        store = try open()
        #expect(reports.all.contains { $0.contains("rebuilt") })
        try await SQLiteWakeTests.expectFilled(store)
        await store.close()

        store = try open(crashed.path)
        try await SQLiteWakeTests.expectFilled(store)
        await store.close()
    }

    @Test func `a backup has the timers and effects`() async throws {
        let other = TemporaryDirectory()
        let store = try open()
        try await SQLiteWakeTests.fill(store)
        try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: true)
        try StoreSnapshot(directory: directory.path).copy(to: other.path + "/sessions.sqlite", as: .backup) { _, _ in }
        await store.close()

        let restored = try open(other.path)

        try await SQLiteWakeTests.expectFilled(restored)
        await restored.close()
    }

    @Test func `what is postponed stays so when the store is opened again`() async throws {
        var store = try open()
        try await SQLiteWakeTests.fill(store)
        try await store.settle()
        try await store.delay([.make(1, 10)], to: nil)
        await store.close()

        store = try open()

        #expect(try await store.dueTimers(at: 99) == [.make(2, 20)])
        #expect(try await store.load(.make(1))?.record.version == 1)
        await store.close()
        #expect(try StoreSnapshot(directory: directory.path).loaded([.make(1)], .past).first?.value.get() != nil)
    }

    @Test func `of many timers, those that are due are found in an index`() async throws {
        let store = try open()
        let count = 5000
        for start in stride(from: 1, through: count, by: 1000) {
            let changes = try (start..<start + 1000).map { try SessionChange.make($0, 1, timer: 1_000_000 + $0) }
            #expect(await store.commit(changes) == .success([]))
        }
        try await store.settle()

        #expect(try await store.dueTimers(at: 1_000_000) == [])
        #expect(try await store.dueTimers(at: 1_000_002) == [.make(1, 1_000_001), .make(2, 1_000_002)])
        #expect(try await store.dueTimers(at: 2_000_000, limit: 100).count == 100)
        await store.close()

        let reader = try SQLiteDatabase(path: database, isReadOnly: true)
        func plan(_ sql: String) throws -> [String] {
            try reader.prepare("EXPLAIN QUERY PLAN \(sql)").all { $0.text(3) ?? "" }
        }
        #expect(
            try plan(Statements.dueTimers)
                == ["SEARCH sessions USING COVERING INDEX sessions_by_timer (timer<?)"])
        #expect(
            try plan(Statements.performing)
                == ["SEARCH sessions USING COVERING INDEX sessions_with_effects (id>?)"])
    }

    @Test func `what comes while much is compacted is compacted next, though nothing comes after it`() async throws {
        let store = try open()
        #expect(await store.commit(try (1...5000).map { try .make($0, 1) }) == .success([]))
        // It is being compacted from now on.
        try await store.settle()

        #expect(await store.commit([try .make(5001, 1)]) == .success([]))

        try await store.settle()
        await store.close()
    }

    @Test func `a damaged page keeps no others' timers from being found, and the next start mends it`() async throws {
        let damage = DamageTests(in: directory, [])
        var store = try open()
        let count = 400
        _ = await store.commit(try (1...count).map { try .make($0, 1, timer: $0) })
        await store.close()
        let leaf = try #require(try damage.pages(of: "sessions").randomElement())
        try damage.damage(page: leaf) { content in
            for position in 0..<content.count { content[position] = UInt8.random(in: 0...255) }
        }
        store = try open()

        var found: Set<SessionID> = []
        var rounds = 0
        while case let due = try await store.dueTimers(at: 1000, limit: 10), !due.isEmpty {
            found.formUnion(due.map(\.session))
            try await store.delay(due, to: nil)
            rounds += 1
            try #require(rounds < 2 * count, "the same ones are found again and again")
        }

        #expect(found.count == count)
        #expect(reports.all.contains { $0.contains("cannot be postponed") })
        await store.close()
        store = try open()
        #expect(reports.all.contains { $0.contains("rebuilt") })
        #expect(try await store.dueTimers(at: 1000, limit: 1000).count == count, "a rebuild forgets what was postponed")
        await store.close()
    }

    @Test func `commits without a pause do not keep timers waiting`() async throws {
        let store = try open()
        _ = await store.commit([try .make(99, 1, timer: 10)])
        let writers = try (1...8).map { TirelessWriter(store, try .make($0)) }
        for writer in writers { Task { await writer.commitRepeatedly() } }
        defer { for writer in writers { writer.stop() } }
        func commits() -> Int { writers.reduce(0) { $0 + $1.count } }
        try await eventually { commits() > 100 }

        // A call waits for few commits: much fewer than the writer makes one after the other. On a slow machine, this
        // task itself may stand still meanwhile; then it is tried again.
        let expected = [try DueTimer.make(99, 10)]
        try await eventually {
            let before = commits()
            for _ in 0..<50 {
                let due = try await store.dueTimers(at: 10)
                #expect(due == expected)
            }
            return commits() - before < 50 * 64
        }

        for writer in writers { writer.stop() }
        await store.close()
    }
}
