import Foundation
import SQLite
import SQLiteStore
import Sessions
import Testing

/// A store that was written by an earlier build until `kill -9`, with what that build exported from it.
@Suite struct UpgradeTests {
    static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures")
    static let retention = Retention(versions: 30)

    let directory = TemporaryDirectory()

    /// Copies the store of a schema.
    func copy(_ schema: Int) throws {
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        for name in ["sessions.sqlite", "sessions.sqlite-wal"] {
            try FileManager.default.copyItem(
                atPath: UpgradeTests.fixtures.appending(path: "schema\(schema)/\(name)").path,
                toPath: "\(directory.path)/\(name)")
        }
    }

    func open() throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, retention: UpgradeTests.retention) { Issue.record("\($0)") }
    }

    /// Every record and answer of the store, as lines.
    func export() throws -> [String] {
        let snapshot = try StoreSnapshot(directory: directory.path)
        return try snapshot.sessions().flatMap { id in
            try snapshot.versions(of: id).map(\.encoded.text) + snapshot.answers(of: id).map(\.encoded)
        }
        .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [(2, 11), (3, 5)])
    func `a store of an earlier schema is upgraded with every session, answer and version`(
        schema: Int, count: Int
    ) async throws {
        try copy(schema)
        let before = try String(
            contentsOf: UpgradeTests.fixtures.appending(path: "schema\(schema)/export.jsonl"), encoding: .utf8
        )
        .split(separator: "\n").map(String.init)

        let store = try open()

        #expect(store.sessionCount == count)
        for record in before.compactMap({ try? SessionRecord(parsing: Array($0.utf8)) }) {
            let loaded = try await store.load(record.id, token: record.identity.token)
            // An earlier version may have had another token.
            #expect(loaded != nil || record.identity.firstVersion == 1)
        }
        let after = try export()
        #expect(Set(after).isSubset(of: before))
        // Versions older than those that are kept may be gone by now.
        let last = before.compactMap { try? SessionRecord(parsing: Array($0.utf8)) }
            .reduce(into: [SessionID: Int]()) { $0[$1.id] = max($0[$1.id] ?? 0, $1.version) }
        for line in Set(before).subtracting(after) {
            let record = try SessionRecord(parsing: Array(line.utf8))
            #expect(record.version <= (last[record.id] ?? 0) - UpgradeTests.retention.versions)
        }
        #expect(store.condition == StoreCondition())
        await store.close()

        let again = try open()
        #expect(try export() == after, "opened again")
        await again.close()
        let reader = try SQLiteDatabase(path: directory.path + "/sessions.sqlite", isReadOnly: true)
        #expect(try reader.integer("PRAGMA user_version") == 4)
        #expect(try reader.text("PRAGMA integrity_check") == "ok")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                == ["lock", "secret", "sessions.sqlite", "sessions.sqlite-shm", "sessions.sqlite-wal"])
    }

    @Test func `an upgrade that was interrupted starts over`() async throws {
        try copy(2)
        try Data("what the last one has left".utf8).write(
            to: URL(filePath: directory.path + "/sessions.sqlite.rebuilt"))
        try Data("and its log".utf8).write(to: URL(filePath: directory.path + "/sessions.sqlite.rebuilt-wal"))

        let store = try open()

        #expect(store.sessionCount == 11)
        await store.close()
    }

    @Test(arguments: [2, 3])
    func `the session of a damaged row is refused, and the others are upgraded`(schema: Int) async throws {
        try copy(schema)
        let id: SessionID
        do {
            let old = try SQLiteDatabase(path: directory.path + "/sessions.sqlite", isGuarded: schema > 2)
            let text = try old.text("SELECT session FROM journal WHERE seq = 3")
            id = try #require(text.flatMap(SessionID.init))
            try old.execute("UPDATE journal SET record = replace(record, 'version', 'worsion') WHERE seq = 3")
        }

        let store = try open()

        await #expect(throws: StoreError.self) { try await store.load(id) }
        #expect(store.condition.remarks == ["damaged sessions: 1; `check` lists them"])
        let snapshot = try StoreSnapshot(directory: directory.path)
        #expect(try snapshot.damagedSessions().map(\.id) == [id])
        for other in try snapshot.sessions() where other != id { #expect(try await store.load(other) != nil) }
        #expect(FileManager.default.fileExists(atPath: directory.path + "/sessions.sqlite.damaged"))
        await store.close()
    }
}
