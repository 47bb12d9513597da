import Foundation
import SQLite
import SQLiteStore
import Sessions
import Testing

/// A copy of a store and the generations of its content.
@Suite struct CopyTests {
    let directory = TemporaryDirectory()
    let other = TemporaryDirectory()

    private func open(_ directory: TemporaryDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path) { Issue.record("\($0)") }
    }

    /// Puts a copy of the store into the other directory.
    private func copy() throws {
        try? FileManager.default.removeItem(atPath: other.path)
        try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: true)
        try StoreSnapshot(directory: directory.path).copy(to: "\(other.path)/sessions.sqlite", as: .backup) { _, _ in }
    }

    @Test func `a copy begins a generation whenever it is opened, and keeps it from its first commit on`() async throws
    {
        let id = try SessionID.make(1)
        let store = try open(directory)
        #expect(store.generation == 1)
        _ = await store.commit([try .make(id, 1)])
        try copy()
        await store.close()

        var generations: Set = [1]
        for _ in 0..<2 {
            let copy = try open(other)
            #expect(generations.insert(copy.generation).inserted && copy.generation > 1)
            #expect(try await copy.load(id)?.stamp == SessionStamp(version: 1, generation: copy.generation))
            await copy.close()
        }
        let changed = try open(other)
        #expect(await changed.commit([try .make(id, 2)]) == .success([]))
        #expect(generations.insert(changed.generation).inserted)
        await changed.close()
        let kept = try open(other)
        #expect(kept.generation == changed.generation)
        #expect(try await kept.load(id)?.stamp.generation == changed.generation)
        await kept.close()
        let original = try open(directory)
        #expect(original.generation == 1)
        await original.close()
    }

    @Test func `a copy does not begin again when something is committed meanwhile`() async throws {
        let store = try open(directory)
        for number in 1...40 {
            let record = try EncodedRecord.make(.make(number), 1, size: 200_000)
            _ = await store.commit([SessionChange(id: try .make(number), expected: .none, record: record)])
        }
        await store.close()
        let other = try SQLiteDatabase(path: "\(directory.path)/sessions.sqlite", isGuarded: true)
        var steps: [Int] = []

        try StoreSnapshot(directory: directory.path).copy(to: "\(directory.path)/copy", as: .backup) { done, total in
            steps.append(done)
            if steps.count < 20 { try? other.execute("UPDATE sessions SET due = due + 1") }
        }

        #expect(steps.count > 2 && steps == Array(Set(steps)).sorted(), "\(steps)")
        #expect(try StoreSnapshot(file: "\(directory.path)/copy").page(after: nil).total == 40)
    }

    @Test func `the same copy has another generation each time that it is used`() async throws {
        let id = try SessionID.make(1)
        let store = try open(directory)
        _ = await store.commit([try .make(id, 1)])
        var generations: Set = [1]
        for _ in 0..<3 {
            try copy()
            let copy = try open(other)
            _ = await copy.commit([try .make(id, 2)])
            #expect(generations.insert(copy.generation).inserted)
            await copy.close()
        }
        await store.close()
    }

    @Test func `a rebuilt store keeps its generation, and a rebuilt copy begins one`() async throws {
        let id = try SessionID.make(1)
        let store = try open(directory)
        _ = await store.commit([try .make(id, 1)])
        try copy()
        await store.close()
        func rebuilt(_ directory: TemporaryDirectory) throws -> SQLiteStore {
            try Data().write(to: URL(filePath: "\(directory.path)/sessions.damaged"))
            return try open(directory)
        }

        let original = try rebuilt(directory)
        #expect(original.generation == 1)
        await original.close()
        let copy = try rebuilt(other)
        #expect(copy.generation > 1)
        _ = await copy.commit([try .make(id, 2)])
        await copy.close()
        let again = try rebuilt(other)
        #expect(again.generation == copy.generation)
        await again.close()
    }
}
