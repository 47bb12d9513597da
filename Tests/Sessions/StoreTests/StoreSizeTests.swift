import Foundation
import Glibc
import SQLite
import SQLiteStore
import Sessions
import Synchronization
import TestSupport
import Testing

/// How much one client can make a store keep.
@Suite struct StoreSizeTests {
    /// The largest size of a file that a thread has seen.
    private final class Sizes: Sendable {
        let largest = Atomic(0)
        let hasEnded = Atomic(false)
    }

    let directory = TemporaryDirectory()

    var path: String { directory.path + "/sessions.sqlite" }

    func open(sizeLimit: Int = 0) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, sizeLimit: sizeLimit) { Issue.record("\($0)") }
    }

    func size(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }

    /// Commits versions of 62 KiB each, every one with an answer of the same size.
    func flood(_ store: SQLiteStore, _ id: SessionID, _ versions: ClosedRange<Int>) async throws {
        for version in versions {
            let change = SessionChange(
                id: id, expected: SessionStamp(version: version - 1), record: try .make(id, version, bytes: 62 << 10),
                answer: try .make(id, "k\(version)", version: version, bytes: 62 << 10))
            #expect(await store.commit([change]) == .success([]))
        }
    }

    @Test func `a time that is far ahead is kept, until it is reset`() async throws {
        let (far, now) = (Date(timeIntervalSince1970: 250_000_000_000), Date(timeIntervalSince1970: 1_800_000_000))
        var store = try open()
        _ = try await store.sweep(at: far, limit: 1)
        await store.close()
        store = try open()
        #expect(store.latestTime == far)

        #expect(try await store.reset(clock: now))

        await store.close()
        store = try open()
        #expect(store.latestTime == now)
        await store.close()
    }

    /// Another program reads without a pause, so the log cannot be restarted.
    @Test func `a log that grows for another program is reported, and so is its end`() async throws {
        let reports = Mutex<[String]>([])
        let store = try SQLiteStore(
            directory: directory.path, report: { report in reports.withLock { $0.append(report) } }
        ) { Issue.record("\($0)") }
        let id = try SessionID.make(1)
        try await flood(store, id, 1...10)
        var last = 10
        do {
            let other = try SQLiteDatabase(path: path, isReadOnly: true)
            try other.execute("BEGIN; SELECT count(*) FROM journal")
            while !reports.withLock(\.self).contains(where: { $0.hasPrefix("the write-ahead log has ") }) {
                try await flood(store, id, last + 1...last + 50)
                last += 50
            }
            #expect(try size(path + "-wal") >= 256 << 20 && store.condition.failure == nil)
        }
        try await eventually {
            try await flood(store, id, last + 1...last + 1)
            last += 1
            return reports.withLock(\.self).contains("the write-ahead log is short again")
        }
        await store.close()
    }

    @Test func `large states and answers are bounded in bytes, and the file shrinks again`() async throws {
        let store = try open()
        let id = try SessionID.make(1)
        var largest = (file: 0, log: 0)
        for round in 0..<9 {
            try await flood(store, id, round * 100 + 1...round * 100 + 100)
            largest = (max(largest.file, try size(path)), max(largest.log, try size(path + "-wal")))
        }
        // 112 MB were committed.
        #expect(largest.file < 80 << 20, "the file had \(largest.file >> 20) MiB")
        #expect(largest.log < 50 << 20, "the log had \(largest.log >> 20) MiB")

        // The store still knows that an event was applied, even without the body of its answer.
        #expect(try await store.answer(to: "k900", of: id)?.body?.count ?? 0 > 60_000)
        #expect(try await store.answer(to: "k750", of: id)?.version == 750)
        #expect(try await store.load(id)?.answeredKeys.contains("k750") == true)
        #expect(try await store.load(id)?.record.version == 900)
        try await eventually { try size(path) < 40 << 20 }
        await store.close()

        let again = try open()
        #expect(try await again.answer(to: "k750", of: id)?.body == nil)
        let kept = try await again.history(of: id, from: nil, limit: 200)
        #expect(kept.count >= 10 && kept.count < 100)
        #expect(kept.first?.version == 900)
        await again.close()
        #expect(try SQLiteDatabase(path: path, isReadOnly: true).text("PRAGMA integrity_check") == "ok")
        #expect(try StoreSnapshot(directory: directory.path).damagedPages() == [])
    }

    @Test func `the log of a rebuild stays small`() async throws {
        do {
            let store = try SQLiteStore(directory: directory.path, durability: .relaxed) { Issue.record("\($0)") }
            for number in 1...22 { try await flood(store, try .make(number), 1...30) }
            await store.close()
        }
        #expect(try size(path) > 56 << 20)
        // It does not shrink before it is removed.
        let log = path + ".new/sessions.sqlite-wal"
        let seen = Sizes()
        Thread.detachNewThread {
            while !seen.hasEnded.load(ordering: .relaxed) {
                let size = (try? FileManager.default.attributesOfItem(atPath: log))?[.size] as? Int ?? 0
                seen.largest.max(size, ordering: .relaxed)
                usleep(2000)
            }
        }
        defer { seen.hasEnded.store(true, ordering: .relaxed) }

        // Once, unless the thread has seen nothing because it stood still.
        try await eventually {
            #expect(FileManager.default.createFile(atPath: directory.path + "/sessions.damaged", contents: nil))
            let store = try open()
            #expect(try await store.load(.make(22))?.record.version == 30)
            await store.close()
            return seen.largest.load(ordering: .relaxed) > 0
        }

        #expect(seen.largest.load(ordering: .relaxed) < 56 << 20, "bytes")
    }

    @Test func `a store at its size limit refuses commits, and accepts them again after a sweep`()
        async throws
    {
        let store = try open(sizeLimit: 8 << 20)
        var full = 0
        for number in 1...200 {
            let change = SessionChange(
                id: try .make(number), expected: .none,
                record: try .make(try .make(number), 1, keptUntil: 1000, bytes: 62 << 10))
            if await store.commit([change]) == .failure(.full) { full += 1 }
        }
        #expect(full > 50)
        #expect(try size(path) < 24 << 20)

        try await eventually {
            _ = try await store.sweep(at: Date(timeIntervalSince1970: 100), limit: 1000)
            return store.sessionCount == 0
        }

        #expect(await store.commit([try .make(try .make(900), 1)]) == .success([]))
        await store.close()
    }

    @Test func `a full store whose clients try again without a pause has room once sessions have ended`() async throws {
        let store = try open(sizeLimit: 1 << 20)
        func create(_ number: Int) async throws -> CommitOutcome {
            let record = try EncodedRecord.make(.make(number), 1, bytes: 4 << 10)
            return await store.commit([SessionChange(id: try .make(number), expected: .none, record: record)])
        }
        var stored = 0
        while try await create(stored + 1) == .success([]) { stored += 1 }
        try await eventually { store.figures.usedBytes ?? 0 >= 1 << 20 }
        for number in 1...stored / 2 {
            let end = SessionChange(
                id: try .make(number), expected: SessionStamp(version: 1),
                record: try .make(.make(number), 2, isEnd: true))
            #expect(await store.commit([end]) == .success([]))
        }

        try await eventually { try await create(100_000) == .success([]) }
        await store.close()
    }

    @Test func `the log stays small while many read without a pause`() async throws {
        let store = try open()
        let ids = try (1...50).map { try SessionID.make($0) }
        for id in ids { try await store.commit(id, versions: 1...1) }
        let isOver = Flag()
        try await withThrowingTaskGroup { group in
            for reader in 0..<16 {
                group.addTask {
                    while !isOver.isSet {
                        _ = try await store.history(of: ids[reader], from: nil, limit: 100)
                    }
                }
            }
            var largest = 0
            for round in 1...10 {
                try await flood(store, ids[49], round * 50 - 48...round * 50 + 1)
                largest = max(largest, try size(path + "-wal"))
            }
            isOver.set()
            try await group.waitForAll()
            #expect(largest < 50 << 20, "the log had \(largest >> 20) MiB")
        }
        await store.close()
    }

    @Test func `a reader that is idle after a read does not make the log grow`() async throws {
        let store = try open()
        let id = try SessionID.make(1)
        try await store.commit(id, versions: 1...1)
        let snapshot = try StoreSnapshot(directory: directory.path)
        #expect(try snapshot.contents(of: [id]).first?.value.get()?.versions.count == 1)

        // As if the reader were writing what it read to a pipe that nobody empties.
        try await flood(store, id, 2...500)

        #expect(try size(path + "-wal") < 50 << 20)
        #expect(try snapshot.loaded([id], .lastVersion).first?.value.get()?.record.version == 500)
        await store.close()
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}

extension EncodedRecord {
    static func make(_ id: SessionID, _ version: Int, keptUntil: Int = 2_000_000_000_000, bytes: Int) throws
        -> EncodedRecord
    {
        let text = """
            {"session":"\(id.text)","app":"a","token":"\(String(repeating: "ab", count: 32))","createdAt":1800000000000,\
            "version":\(version),"time":\(1_800_000_000_000 + version),"keptUntil":\(keptUntil),\
            "expiresAt":1900000000000,"event":"e","state":{"text":"\(String(repeating: "x", count: bytes))"}}
            """
        return try SessionRecord(parsing: Array(text.utf8)).encoded
    }
}

extension StoredAnswer {
    static func make(_ id: SessionID, _ key: String, version: Int, bytes: Int) throws -> StoredAnswer {
        let text = """
            {"session":"\(id.text)","key":"\(key)","fingerprint":"\(String(repeating: "cd", count: 32))",\
            "version":\(version),"body":"\(String(repeating: "y", count: bytes))"}
            """
        return try StoredAnswer(parsing: Array(text.utf8))
    }
}
