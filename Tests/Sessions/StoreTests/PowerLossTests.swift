import Foundation
import SQLite
import SQLiteStore
import Sessions
import TestSupport
import Testing

/// Stores after a power loss: of the sectors written since the last flush, some are on the disk and some are not. The
/// files are copied before and after a commit, and their sectors are mixed.
@Suite struct PowerLossTests {
    static let sector = 512

    /// The files of a store, as they are on the disk.
    struct Files: Equatable {
        static let names = ["sessions.sqlite", "sessions.sqlite-wal"]
        var contents: [Data]

        init(_ directory: TemporaryDirectory) throws {
            contents = try Files.names.map { name in
                let url = URL(filePath: directory.path + "/" + name)
                return FileManager.default.fileExists(atPath: url.path) ? try Data(contentsOf: url) : Data()
            }
        }

        func write(to directory: TemporaryDirectory) throws {
            try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
            for (name, content) in zip(Files.names, contents) where !content.isEmpty {
                try content.write(to: URL(filePath: directory.path + "/" + name))
            }
        }
    }

    let id: SessionID
    let directory = TemporaryDirectory()

    init() throws {
        id = try .make(1)
    }

    func open(_ directory: TemporaryDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path) { Issue.record("\($0)") }
    }

    /// The last version in a store on these files. Checks that all earlier versions are right as well.
    func recovered(_ files: Files) async throws -> Int {
        let directory = TemporaryDirectory()
        try files.write(to: directory)
        let store = try open(directory)
        let history = try await store.history(of: id, from: nil, limit: 100, bytes: .max)
        #expect(history.map(\.version) == Array((0..<history.count).map { history.count - $0 }))
        for record in history { #expect(record.encoded.text == (try EncodedRecord.make(id, record.version)).text) }
        #expect(try await store.load(id)?.record.version == history.first?.version)
        for version in 1...max(1, history.count) where !history.isEmpty {
            #expect(try await store.answer(to: "k\(version)", of: id)?.version == version)
        }
        // It accepts commits again.
        let next = history.count + 1
        #expect(await store.commit([try .make(id, next, key: "k\(next)")]) == .success([]))
        await store.close()
        return history.count
    }

    /// A file in which what was written after the flush is cut off at a sector, or lacks some sectors; of the cuts, the
    /// short form tries some.
    static func torn(_ before: Data, _ after: Data) -> [Data] {
        let first = zip(before, after).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? before.count
        let sectors = Array(stride(from: first / sector * sector, to: after.count, by: sector))
        let some = Scale.factor == 1 ? sectors.shuffled().prefix(16) : sectors[...]
        let cuts = some.map { after.prefix($0) + before.dropFirst($0) }
        let holes = (0..<8).map { _ in
            var mixed = after
            for start in sectors where Bool.random() {
                let end = min(start + sector, after.count)
                let old = before.dropFirst(start).prefix(end - start)
                mixed.replaceSubrange(start..<end, with: old + Data(count: end - start - old.count))
            }
            return mixed
        }
        return cuts + holes
    }

    @Test func `a commit that was not flushed is there completely or not at all`() async throws {
        let store = try SQLiteStore.uncompacted(directory)
        var pairs: [(before: Files, after: Files, version: Int)] = []
        // With its first commit a store takes back its note that it is closed, which has a flush of its own.
        #expect(await store.commit([try .make(id, 1, key: "k1")]) == .success([]))
        for version in 2...6 {
            let before = try Files(directory)
            #expect(await store.commit([try .make(id, version, key: "k\(version)")]) == .success([]))
            let after = try Files(directory)
            #expect(PowerLossTests.commits(after.contents[1]) == PowerLossTests.commits(before.contents[1]) + 1)
            pairs.append((before, after, version))
        }
        await store.close()

        for (before, after, version) in pairs {
            for log in PowerLossTests.torn(before.contents[1], after.contents[1]) {
                var files = after
                files.contents[1] = log
                let last = try await recovered(files)
                #expect(last == version - 1 || last == version)
            }
        }
    }

    /// The number of transactions in a log: of frames that contain the database's size after a commit.
    static func commits(_ log: Data) -> Int {
        stride(from: 32, to: log.count, by: 24 + 8192).count { start in
            log[start + 4..<start + 8].contains { $0 != 0 }
        }
    }

    @Test func `while the log is copied into the file, it does not matter which part was copied`() async throws {
        let store = try SQLiteStore.uncompacted(directory)
        for version in 1...20 {
            #expect(await store.commit([try .make(id, version, key: "k\(version)")]) == .success([]))
        }
        let before = try Files(directory)
        // Otherwise closing the store compacts, and writes pages that this log does not have.
        try await store.compact()
        let compacted = try Files(directory)
        try #require(compacted.contents[1].starts(with: before.contents[1]), "the log has begun again")
        await store.close()
        let after = try Files(directory)
        #expect(after.contents[0] != before.contents[0])

        for database in PowerLossTests.torn(before.contents[0], after.contents[0]) {
            var files = compacted
            files.contents[0] = database
            #expect(try await recovered(files) == 20)
        }
    }

    @Test func `a log that is damaged before later commits is refused with the place of the damage`() async throws {
        let store = try SQLiteStore.uncompacted(directory)
        for version in 1...6 {
            #expect(await store.commit([try .make(id, version, key: "k\(version)")]) == .success([]))
        }
        let files = try Files(directory)
        let frame = 24 + 8192
        var refused = 0
        for start in stride(from: 32, to: files.contents[1].count, by: frame) {
            var damaged = files
            damaged.contents[1][start + Int.random(in: 0..<frame)] ^= 0x40
            do {
                // Only the last commit may be missing.
                #expect(try await recovered(damaged) >= 5)
            } catch let error as SQLiteStoreError {
                #expect("\(error)".contains("is damaged at byte \(start),"))
                refused += 1
            }
        }
        #expect(refused >= 4)
        await store.close()
    }

    @Test func `a damaged or truncated file never returns what was not written`() async throws {
        let store = try open(directory)
        let ids = try (1...40).map { try SessionID.make($0) }
        for id in ids { try await store.commit(id, versions: 1...4) }
        await store.close()
        let files = try Files(directory)

        for round in 0..<Scale.rounds(25, long: 1000) {
            var damaged = files
            if round % 4 == 0 {
                damaged.contents[0].removeLast(Int.random(in: 1...damaged.contents[0].count / 512) * 512)
            } else {
                damaged.contents[0][Int.random(in: 100..<damaged.contents[0].count)] ^= 1 << UInt8.random(in: 0..<8)
            }
            let directory = TemporaryDirectory()
            try damaged.write(to: directory)
            guard let store = try? open(directory) else { continue }
            for id in ids {
                guard let loaded = try? await store.load(id) else { continue }
                #expect(loaded.record.encoded.text == (try EncodedRecord.make(id, loaded.record.version)).text)
            }
            await store.close()
        }
    }
}
