import Foundation
import SQLite
import Sessions
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

/// What the store in a SQLite file promises beyond the contract.
@Suite struct SQLiteStoreTests {
    let directory = TemporaryDirectory()

    var database: String { directory.path + "/sessions.sqlite" }

    func open(_ retention: Retention = Retention()) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, retention: retention) { Issue.record("\($0)") }
    }

    @Test func `everything is there when the store is opened again, compacted or not`() async throws {
        let retention = Retention(versions: 4, answers: 2)
        var store = try open(retention)
        let id = try SessionID.make(1)
        for round in 0..<8 {
            for version in 3 * round + 1...3 * round + 3 {
                #expect(await store.commit([try .make(id, version, key: "k\(version)")]) == .success([]))
            }
            let last = 3 * round + 3

            await store.close()
            store = try open(retention)

            #expect(store.sessionCount == 1)
            #expect(try await store.load(id)?.record.encoded.text == (try EncodedRecord.make(id, last)).text)
            #expect(try await store.load(id)?.answeredKeys == ["k\(last - 1)", "k\(last)"])
            #expect(try await store.answer(to: "k\(last)", of: id) == (try .make(id, "k\(last)", version: last)))
            #expect(
                try await store.history(of: id, from: nil, limit: 9, bytes: .max).map(\.version)
                    == Array((max(1, last - 3)...last).reversed()))
        }
        await store.close()
        let reader = try SQLiteDatabase(path: database, isReadOnly: true)
        let kept = retention.retainedVersions + retention.answers
        #expect(try reader.integer("SELECT count(*) FROM journal") == kept, "what nobody needs is deleted")
        #expect(try reader.integer("SELECT count(*) FROM dropped") == 0)
        #expect(try reader.text("PRAGMA integrity_check") == "ok")
    }

    @Test func `after a failed flush of other work, what waits is not acknowledged`() async throws {
        let failures = Mutex<[String]>([])
        let store = try SQLiteStore(directory: directory.path) { reason in failures.withLock { $0.append(reason) } }
        _ = await store.commit([try .make(1, 1)])
        let isWaiting = DispatchSemaphore(value: 0)
        let work = Task {
            try await store.writer.run { _ throws(CommitFailure) in
                isWaiting.wait()
                throw .flushFailed("the disk is gone")
            }
        }
        // While this work holds the writer's thread.
        try await eventually { store.writer.interruptions.load(ordering: .relaxed) == 0 }
        let change = try SessionChange.make(2, 1)
        async let outcome = store.commit([change])
        try await eventually { store.writer.waiting.count == 1 }

        isWaiting.signal()

        await #expect(throws: StoreError.unknownOutcome(reason: "the disk is gone")) { try await work.value }
        #expect(await outcome == .failure(.unavailable(reason: "the disk is gone")))
        #expect(failures.withLock(\.self) == ["the disk is gone"])
        await store.close()
    }

    @Test func `a read finds what was acknowledged before, however many read at once`() async throws {
        let store = try open()
        try await withThrowingTaskGroup { group in
            for number in 1...8 {
                group.addTask {
                    let id = try SessionID.make(number)
                    for version in 1...50 {
                        #expect(await store.commit([try .make(id, version, key: "k\(version)")]) == .success([]))
                        #expect(try await store.load(id)?.record.version == version)
                        #expect(
                            try await store.history(of: id, from: nil, limit: 2, bytes: .max).first?.version == version)
                        #expect(try await store.answer(to: "k\(version)", of: id)?.version == version)
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
        await #expect(throws: StoreError.unavailable(reason: "the store is closed")) { try await store.load(.make(1)) }
    }

    @Test func `commits without a pause do not prevent sweeping`() async throws {
        let store = try open()
        let writer = TirelessWriter(store, try .make(1))
        Task { await writer.commitRepeatedly() }
        defer { writer.stop() }
        try await eventually { writer.count > 10 }

        #expect(try await store.sweep(at: Date(timeIntervalSince1970: 0), limit: 10) == [])

        writer.stop()
        await store.close()
    }

    @Test func `the newest change is a commit, not a later sweep`() async throws {
        let store = try open()
        try await store.commit(.make(1), versions: 1...7)
        _ = try await store.sweep(at: Date(timeIntervalSince1970: 1_700_003_600), limit: 10)
        await store.close()

        let snapshot = try StoreSnapshot(directory: directory.path)

        #expect(snapshot.newestChange == Date(timeIntervalSince1970: 1_700_000_000.007))
        #expect(snapshot.latestTime >= Date(timeIntervalSince1970: 1_700_003_540))
    }

    @Test func `an opened store has the latest time of its records`() async throws {
        let store = try open()
        #expect(store.latestTime == Date(timeIntervalSince1970: 0))
        try await store.commit(.make(1), versions: 1...7)
        _ = await store.commit([
            SessionChange(
                id: try .make(1), expected: SessionStamp(version: 7), record: nil, answer: try .make(.make(1), "a"))
        ])
        await store.close()

        let again = try open()

        #expect(again.latestTime == Date(timeIntervalSince1970: 1_700_000_000.007))
        // As an import of earlier builds could have left it.
        let far = try EncodedRecord.make(.make(2), 1).text
        let text = String(decoding: far, as: UTF8.self).replacing("1700000000001", with: "253370764800000")
        let record = try SessionRecord(parsing: Array(text.utf8)).encoded
        let change = SessionChange(id: try .make(2), expected: .none, record: record)
        #expect(await again.commit([change]) == .success([]))
        await again.close()

        let last = try open()

        #expect(last.latestTime < Date() + 1)
        await last.close()
    }

    @Test func `a second opener is refused while the store is open`() async throws {
        let path = directory.path
        let store = try open()
        #expect(throws: SQLiteStoreError.inUse(path: path)) { try open() }
        await store.close()
    }

    @Test func `only the owner has access to the store's files`() async throws {
        let store = try open()
        _ = await store.commit([try .make(try .make(1), 1)])
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.count >= 3)
        for path in [directory.path] + names.map({ directory.path + "/" + $0 }) {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(try #require(mode) & 0o077 == 0, "\(path)")
        }
        await store.close()
    }

    @Test func `a newer schema and another program's file are refused`() async throws {
        await (try open()).close()
        try change { "PRAGMA user_version = 7" }
        #expect(throws: SQLiteStoreError.newer(schema: 7)) { try open() }

        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.removeItem(atPath: directory.path + "/secret")
        try change { "CREATE TABLE theirs (a)" }
        #expect { try open() } throws: { ($0 as? SQLiteStoreError)?.isDamage == true }

        try Data("no database at all, but long enough to be one".utf8).write(to: URL(filePath: database))
        #expect { try open() } throws: { ($0 as? SQLiteStoreError)?.isDamage == true }
    }

    @Test func `a person can read the store with sqlite3`() async throws {
        let store = try open()
        try await store.commit(try .make(1), versions: 1...2)
        let reader = try SQLiteDatabase(path: database, isReadOnly: true)

        #expect(try reader.text("SELECT record ->> '$.event' FROM current") == "e2")
        #expect(try reader.integer("SELECT record ->> '$.state.number' FROM journal WHERE version = 1") == 1)
        await store.close()
    }

    @Test func `the log is copied into the file while commits go on`() async throws {
        let store = try open()
        let id = try SessionID.make(1)
        func size(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        }
        let last = 500
        for version in 1...last { _ = await store.commit([try .make(id, version)]) }

        #expect(try size(database) > 100_000, "nothing was copied")
        #expect(try size(database + "-wal") < 6 << 20)
        #expect(try await store.load(id)?.record.version == last)
        await store.close()
    }

    private func change(_ sql: () -> String) throws {
        try SQLiteDatabase(path: database, isGuarded: true).execute(sql())
    }
}

extension SQLiteStoreError {
    var isDamage: Bool {
        if case .damaged = self { true } else { false }
    }
}

/// Commits one version of a session after the other without a pause, until it is stopped.
final class TirelessWriter: Sendable {
    private let store: SQLiteStore
    private let id: SessionID
    private let version = Atomic(0)
    private let isStopped = Atomic(false)

    init(_ store: SQLiteStore, _ id: SessionID) {
        self.store = store
        self.id = id
    }

    /// How many commits it has begun.
    var count: Int { version.load(ordering: .relaxed) }

    func commitRepeatedly() async {
        while !isStopped.load(ordering: .relaxed) {
            guard let change = try? SessionChange.make(id, version.add(1, ordering: .relaxed).newValue) else { return }
            _ = await store.commit([change])
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }
}
