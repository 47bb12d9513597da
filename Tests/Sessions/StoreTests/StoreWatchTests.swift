import Foundation
import SQLite
import SQLiteStore
import Sessions
import Synchronization
import TestSupport
import Testing

/// What happens to the files of a store while it is open.
@Suite struct StoreWatchTests {
    let directory = TemporaryDirectory()
    let failures = Failures()

    var path: String { directory.path + "/sessions.sqlite" }

    func open() throws -> SQLiteStore {
        let failures = failures
        return try SQLiteStore(directory: directory.path) { failures.append($0) }
    }

    @Test(arguments: ["sessions.sqlite", "sessions.sqlite-wal", "lock", ""], [true, false])
    func `a store with a lost or replaced file acknowledges nothing`(name: String, isReplaced: Bool) async throws {
        let store = try open()
        let id = try SessionID.make(1)
        #expect(await store.commit([try .make(id, 1)]) == .success([]))

        let lost = name.isEmpty ? directory.path : "\(directory.path)/\(name)"
        try FileManager.default.moveItem(atPath: lost, toPath: directory.path + "-gone")
        defer { try? FileManager.default.removeItem(atPath: directory.path + "-gone") }
        if isReplaced { try Data("another one".utf8).write(to: URL(filePath: lost)) }
        try await eventually { !failures.all.isEmpty }

        #expect(failures.all.first?.hasSuffix("was removed or replaced") == true)
        guard case .failure(.unavailable) = await store.commit([try .make(id, 2)]) else {
            Issue.record("an event was acknowledged")
            return
        }
        await store.close()
    }

    @Test(arguments: ["sessions.sqlite", "sessions.sqlite-wal"], [true, false])
    func `a store that lacks one of its files is refused`(name: String, isEmpty: Bool) async throws {
        let store = try SQLiteStore.uncompacted(directory)
        try await store.commit(try .make(1), versions: 1...3)
        // As after a kill, when somebody has removed or emptied a file since.
        let copy = TemporaryDirectory()
        try FileManager.default.copyItem(atPath: directory.path, toPath: copy.path)
        await store.close()
        try FileManager.default.removeItem(atPath: "\(copy.path)/\(name)")
        if isEmpty { try Data().write(to: URL(filePath: "\(copy.path)/\(name)")) }

        #expect { try SQLiteStore(directory: copy.path) { _ in } } throws: {
            if case .incomplete = $0 as? SQLiteStoreError { true } else { false }
        }
    }

    @Test func `a closed store without its database is refused, until its secret is removed, too`() async throws {
        await (try open()).close()
        try FileManager.default.removeItem(atPath: path)

        #expect {
            try open()
        } throws: {
            if case .incomplete = $0 as? SQLiteStoreError { true } else { false }
        }
        try FileManager.default.removeItem(atPath: "\(directory.path)/secret")
        let fresh = try open()
        #expect(fresh.sessionCount == 0)
        await fresh.close()
    }

    @Test func `a log that is truncated while the store is open is reported as too short`() async throws {
        let store = try SQLiteStore(directory: directory.path, compactsWhenQuiet: false) { _ in }
        try await store.commit(try .make(1), versions: 1...3)
        truncate("\(path)-wal", 0)

        #expect {
            try StoreSnapshot(directory: directory.path).page(after: nil)
        } throws: {
            $0 as? SQLiteStoreError == .damaged("a file is shorter than it must be (SQLite 522)")
        }
        await store.close()
    }

    @Test func `another program's lock is reported soon, and commits go on when it is gone`() async throws {
        let store = try open()
        let id = try SessionID.make(1)
        let other = try SQLiteDatabase(path: path, isGuarded: true, busyTimeout: .seconds(600))
        try other.execute("BEGIN EXCLUSIVE")

        guard case .failure(.unavailable) = await store.commit([try .make(id, 1)]) else {
            Issue.record("it was committed")
            return
        }
        #expect(store.condition.failure?.contains("locked") == true)

        try other.execute("ROLLBACK")
        try await eventually { store.condition == StoreCondition() }
        #expect(await store.commit([try .make(id, 1)]) == .success([]))
        #expect(failures.all == [])
        await store.close()
    }

    @Test func `a database behind a symbolic link is refused, because its log is elsewhere`() async throws {
        await (try open()).close()
        try FileManager.default.moveItem(atPath: path, toPath: directory.path + "/moved.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: directory.path + "/moved.sqlite")

        #expect { try open() } throws: { "\($0)".contains("is a symbolic link") }
    }

    @Test func `a damaged uncompacted tail is refused, because its content is unknown`() async throws {
        let store = try SQLiteStore.uncompacted(directory)
        try await store.commit(try .make(1), versions: 1...5)
        // As after a kill.
        let copy = TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        for name in ["sessions.sqlite", "sessions.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(directory.path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        await store.close()
        do {
            let database = try SQLiteDatabase(path: copy.path + "/sessions.sqlite", isGuarded: true)
            #expect(try database.integer("SELECT value FROM store WHERE name = 'compacted'") == 0)
            try database.execute("UPDATE journal SET version = 9 WHERE seq = 3")
        }

        #expect {
            try SQLiteStore(directory: copy.path) { Issue.record("\($0)") }
        } throws: {
            "\($0)".contains("row 3 of the journal is damaged")
        }
    }

    final class Failures: Sendable {
        private let reasons = Mutex<[String]>([])
        var all: [String] { reasons.withLock { $0 } }
        func append(_ reason: String) { reasons.withLock { $0.append(reason) } }
    }
}
