import Foundation
import SQLite
import SQLiteStore
import Sessions
import Synchronization
import TestSupport
import Testing

/// Bits that flipped on the disk. Wherever they are, no read returns what was not written, no session becomes unknown,
/// no event is applied twice, and no other session is affected.
@Suite struct DamageTests {
    static let count = 400
    let directory: TemporaryDirectory
    let ids: [SessionID]
    let reports = Reports()

    init() throws {
        directory = TemporaryDirectory()
        ids = try (1...DamageTests.count).map { try SessionID.make($0 * 7_919) }
    }

    /// On an existing store.
    init(in directory: TemporaryDirectory, _ ids: [SessionID]) {
        self.directory = directory
        self.ids = ids
    }

    var path: String { directory.path + "/sessions.sqlite" }

    func open() throws -> SQLiteStore {
        let reports = reports
        return try SQLiteStore(directory: directory.path, report: { reports.append($0) }) { Issue.record("\($0)") }
    }

    /// A store of sessions with three versions and an answer each.
    func fill() async throws {
        let store = try open()
        for version in 1...3 {
            let changes = try ids.map {
                try SessionChange.make($0, version, key: version == 2 ? "k\($0.text)" : nil)
            }
            #expect(await store.commit(changes) == .success([]))
        }
        await store.close()
    }

    /// The pages of a table or an index.
    func pages(of name: String, leaves: Bool = true) throws -> [Int] {
        let reader = try SQLiteDatabase(path: path, isReadOnly: true)
        let type = leaves ? "leaf" : "internal"
        return try reader.prepare("SELECT pageno FROM dbstat WHERE name = '\(name)' AND pagetype = '\(type)'")
            .all { $0.integer(0) }.compactMap(\.self)
    }

    func damage(page: Int, _ change: (inout Data) -> Void) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64((page - 1) * 8192))
        var content = try #require(try file.read(upToCount: 8192))
        change(&content)
        try file.seek(toOffset: UInt64((page - 1) * 8192))
        try file.write(contentsOf: content)
    }

    static func flip(_ content: inout Data) {
        content[Int.random(in: 0..<content.count)] ^= 1 << UInt8.random(in: 0..<8)
    }

    /// Reads everything that was acknowledged.
    ///
    /// - Returns: the sessions whose reads were refused
    func refused(_ store: SQLiteStore, versions: ClosedRange<Int> = 3...3) async -> Set<SessionID> {
        var refused: Set<SessionID> = []
        for id in ids {
            do {
                let record = try await store.load(id)?.record
                let version = try #require(record?.version, "no session is unknown")
                #expect(versions.contains(version), "what was acknowledged is not forgotten")
                #expect(
                    record?.encoded.text == (try EncodedRecord.make(id, version)).text, "what is read was written")
                let answer = try await store.answer(to: "k\(id.text)", of: id)
                #expect(
                    answer == (try StoredAnswer.make(id, "k\(id.text)", version: 2)), "an answer is never forgotten")
                let history = try await store.history(of: id, from: nil, limit: 9)
                for record in history {
                    #expect(record.encoded.text == (try EncodedRecord.make(id, record.version)).text)
                }
            } catch {
                refused.insert(id)
            }
        }
        return refused
    }

    /// The sessions that commands find damaged.
    func damaged(_ snapshot: StoreSnapshot) throws -> [SessionID] {
        try snapshot.loaded(try snapshot.page(after: nil).sessions[...], .lastVersion).compactMap {
            if case .failure(let damage) = $0.value { damage.id } else { nil }
        }
    }

    /// Commits new sessions, and the next versions of some existing ones, all at the same time.
    func expectCommits(_ store: SQLiteStore, after refused: Set<SessionID>, from first: Int) async throws {
        let new = try (first..<first + 100).map { try SessionID.make($0 * 104_729) }
        let next = ids.prefix(60)
        let changes = try new.map { try SessionChange.make($0, 1) } + next.map { try SessionChange.make($0, 4) }
        let outcomes = await withTaskGroup { group in
            for change in changes { group.addTask { (change.id, await store.commit([change])) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }

        for id in new { #expect(outcomes[id] == .success([]), "a new session") }
        for id in next {
            if case .failure? = outcomes[id] { #expect(refused.contains(id), "\(id.text)") }
            #expect(outcomes[id] != .success([id]), "it is not unknown")
        }
    }

    @Test(arguments: ["sessions", "answers", "sessions_by_due", "dropped"])
    func `a damaged table is rebuilt, and commits succeed until then`(table: String) async throws {
        try await fill()
        let leaf = try #require(try pages(of: table).randomElement())
        try damage(page: leaf) { content in
            // The whole leaf.
            for position in 0..<content.count { content[position] = UInt8.random(in: 0...255) }
        }

        let snapshot = try StoreSnapshot(directory: directory.path)
        #expect(
            try snapshot.page(after: nil).sessions == ids.sorted { $0.text < $1.text }, "all are listed")
        #expect(snapshot.damagedPages() == [leaf])

        // If opening needs the page, the store is rebuilt at once; otherwise when it is opened the next time.
        var store = try open()
        let refused = await refused(store)
        #expect(refused.count < ids.count / 2)
        try await expectCommits(store, after: refused, from: 1_000_000)
        await store.close()
        store = try open()

        #expect(reports.all.contains { $0.contains("rebuilt") })
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        for id in ids.prefix(60) where !refused.contains(id) {
            #expect(try await store.load(id)?.record.version == 4)
        }
        for id in ids.dropFirst(60) { #expect(try await store.load(id)?.record.version == 3) }
        for number in 1_000_000..<1_000_100 { #expect(try await store.load(.make(number * 104_729)) != nil) }
        try await eventually { store.condition == StoreCondition() }
        await store.close()
    }

    @Test func `a damaged page of the journal costs only the sessions on it, however often the store is opened`()
        async throws
    {
        try await fill()
        // Without the last one, every start is refused.
        let leaf = try #require(try pages(of: "journal").sorted().dropLast().randomElement())
        try damage(page: leaf) { content in
            for position in 0..<content.count { content[position] = UInt8.random(in: 0...255) }
        }

        var store = try open()
        let refused = await refused(store)
        #expect(!refused.isEmpty && refused.count < 60)
        try await expectCommits(store, after: refused, from: 1_000_000)
        await store.close()
        store = try open()

        #expect(await self.refused(store, versions: 3...4).isSubset(of: refused))
        for id in refused { #expect(reports.all.contains { $0.contains(id.text) }) }
        #expect(reports.all.contains { $0.contains("cannot be rebuilt") && $0.contains("coordinatord restore") })
        #expect(store.condition.remarks.contains { $0.contains("cannot be rebuilt") })
        await store.close()
        #expect(try StoreSnapshot(directory: directory.path).damagedPages() == [leaf])
    }

    @Test func `a session with a damaged record can be forgotten, and does not come back`() async throws {
        try await fill()
        let leaf = try pages(of: "journal")[20]
        try damage(page: leaf, DamageTests.flip)
        var store = try open()
        let refused = await refused(store)
        #expect(!refused.isEmpty)

        for id in refused { #expect(try await store.forget(id)) }

        for id in refused { #expect(try await store.load(id) == nil) }
        await store.close()
        store = try open()
        for id in refused { #expect(try await store.load(id) == nil) }
        for id in ids where !refused.contains(id) { #expect(try await store.load(id)?.record.version == 3) }
        await store.close()
        #expect(
            Set(try StoreSnapshot(directory: directory.path).page(after: nil).sessions)
                == Set(ids).subtracting(refused),
            "none is listed")
    }

    @Test func `one flipped bit anywhere is noticed, and costs no other session anything`() async throws {
        try await fill()
        let sound = try Data(contentsOf: URL(filePath: path))
        let inner = Set(try ["journal", "sessions", "answers"].flatMap { try pages(of: $0, leaves: false) })
        let answers = try pages(of: "answers")
        let needed = try pages(of: "journal", leaves: false) + [pages(of: "journal").max() ?? 0]
        for round in 0..<Scale.rounds(4, long: 120) {
            // The first page is SQLite's own, and the whole file depends on it.
            let page = Int.random(in: 2...sound.count / 8192)
            try sound.write(to: URL(filePath: path))
            try damage(page: page, DamageTests.flip)
            #expect(try StoreSnapshot(directory: directory.path).damagedPages() == [page])

            var store: SQLiteStore
            do { store = try open() } catch {
                #expect((error as? SQLiteStoreError)?.isDamage == true && needed.contains(page), "page \(page)")
                continue
            }
            let refused = await refused(store)
            // A page of answers has those of many sessions, and none may be missing.
            let most = ids.count / (answers.contains(page) ? 2 : 4)
            #expect(refused.count <= most || inner.contains(page), "page \(page)")
            try await expectCommits(store, after: refused, from: 1_000_000 + 1000 * round)
            await store.close()
            store = try open()

            for id in ids.dropFirst(60) where !refused.contains(id) {
                #expect(try await store.load(id)?.record.version == 3)
            }
            await store.close()
        }
    }

    @Test(arguments: ["session", "version", "key", "kept_until", "tokens", "user"])
    func `each column of the journal is covered by a checksum`(column: String) async throws {
        try await fill()
        let id = ids[9]
        let isAnswer = column == "key"
        do {
            // As if the value had been written like this: the page's checksum is right.
            let database = try SQLiteDatabase(path: path, isGuarded: true)
            let value = [
                "session": "'s_0000000000001'", "key": "'other'", "tokens": "'\(String(repeating: "cd", count: 32))'",
                "user": "'ann'",
            ]
            try database.execute(
                """
                UPDATE journal SET \(column) = \(value[column] ?? "\(column) + 1")
                WHERE session = '\(id.text)' AND kind \(isAnswer ? "=" : "<>") 'answer'
                """)
        }

        let store = try open()

        await #expect(throws: StoreError.self) {
            if isAnswer { _ = try await store.answer(to: "k\(id.text)", of: id) } else { _ = try await store.load(id) }
        }
        #expect(try await store.load(ids[10])?.record.version == 3)
        #expect(store.condition.remarks == ["damaged sessions: 1; `check` lists them"])
        await store.close()
    }

    @Test func `a store whose journal is damaged is not rebuilt, and stays as it is`() async throws {
        try await fill()
        do {
            let database = try SQLiteDatabase(path: path, isGuarded: true)
            try database.execute("UPDATE sessions SET version = version + 1 WHERE id = '\(ids[9].text)'")
            try database.execute("UPDATE journal SET version = version + 1 WHERE session = '\(ids[10].text)'")
        }
        #expect(FileManager.default.createFile(atPath: directory.path + "/sessions.damaged", contents: nil))

        let store = try open()

        #expect(await refused(store) == [ids[9], ids[10]])
        await store.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!files.contains { $0.contains("new") }, "\(files)")
    }

    @Test func `a damaged record does not prevent the sweeping of other sessions`() async throws {
        let store = try open()
        for (number, id) in ids.prefix(50).enumerated() {
            #expect(await store.commit([try .make(id, 1, keptUntil: 1000 + number)]) == .success([]))
        }
        await store.close()
        do {
            let database = try SQLiteDatabase(path: path, isGuarded: true)
            try database.execute("UPDATE journal SET record = '{no JSON' WHERE session = '\(ids[3].text)'")
        }

        let again = try open()
        let swept = try await again.sweep(at: Date(timeIntervalSince1970: 100), limit: 1000)

        #expect(Set(swept) == Set(ids.prefix(50)).subtracting([ids[3]]))
        #expect(reports.all.contains { $0.contains(ids[3].text) })
        await again.close()
    }

    @Test func `the value that says what is compacted has a checksum`() async throws {
        try await fill()
        do {
            let database = try SQLiteDatabase(path: path, isGuarded: true)
            try database.execute("UPDATE store SET value = value - 3 WHERE name = 'compacted'")
        }

        let store = try open()

        #expect(reports.all.contains { $0.contains("“compacted”") })
        #expect(await refused(store) == [])
        await store.close()
    }

    @Test func `the secret is stored twice, and either copy is enough`() async throws {
        try await fill()
        let secret: [UInt8]
        do {
            let store = try open()
            secret = store.secret
            await store.close()
        }
        try damage(page: try #require(try pages(of: "store").first)) { content in
            for position in 0..<content.count { content[position] = UInt8.random(in: 0...255) }
        }

        let store = try open()
        #expect(store.secret == secret)
        #expect(await refused(store) == [])
        await store.close()

        try FileManager.default.removeItem(atPath: directory.path + "/secret")
        await (try open()).close()
        try FileManager.default.removeItem(atPath: directory.path + "/secret")
        try damage(page: try #require(try pages(of: "store").first)) { content in
            for position in 0..<content.count { content[position] = UInt8.random(in: 0...255) }
        }
        #expect { try open() } throws: { ($0 as? SQLiteStoreError)?.isDamage == true }
    }

    @Test(arguments: ["sessions", "answers", "sessions_by_due", "dropped"], [true, false])
    func `a page of zeros, or with another page's content, is damaged`(table: String, isZero: Bool) async throws {
        try await fill()
        let leaf = try #require(try pages(of: table).randomElement())
        let other = try #require(try pages(of: "journal").randomElement())
        let content = try Data(contentsOf: URL(filePath: path))
        try damage(page: leaf) { page in
            page = isZero ? Data(count: 8192) : content[(other - 1) * 8192..<other * 8192]
        }

        var store = try open()
        let refused = await refused(store)
        #expect(refused.count < ids.count / 2)
        try await expectCommits(store, after: refused, from: 1_000_000)
        await store.close()
        // What was not noticed until then is found by the rebuild that this file asks for.
        #expect(FileManager.default.createFile(atPath: directory.path + "/sessions.damaged", contents: nil))
        store = try open()

        #expect(await self.refused(store, versions: 3...4) == [])
        await store.close()
    }

    @Test(arguments: ["sessions", "answers"], [true, false])
    func `a damaged page that leads to others hides nothing after the next start`(table: String, isZero: Bool)
        async throws
    {
        try await fill()
        let page = try #require(try pages(of: table, leaves: false).randomElement())
        try damage(page: page) { content in
            for position in 0..<content.count { content[position] = isZero ? 0 : UInt8.random(in: 0...255) }
        }

        var store = try open()
        #expect(await refused(store).count == ids.count)
        try await expectCommits(store, after: Set(ids), from: 1_000_000)
        await store.close()
        store = try open()

        #expect(await refused(store, versions: 3...4) == [])
        #expect(reports.all.contains { $0.contains("rebuilt") })
        await store.close()
        #expect(try StoreSnapshot(directory: directory.path).damagedPages() == [])
    }

    /// A store as a crash leaves it: with a log, which has a fourth version of the first session.
    private func crashed() async throws -> DamageTests {
        try await fill()
        let running = try SQLiteStore.uncompacted(directory)
        #expect(await running.commit([try .make(ids[0], 4)]) == .success([]))
        let copy = TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        for name in ["sessions.sqlite", "sessions.sqlite-wal", "secret"] {
            try FileManager.default.copyItem(atPath: "\(directory.path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        await running.close()
        return DamageTests(in: copy, ids)
    }

    /// The pages that the log has: what is in the file of them does not matter.
    private func loggedPages() throws -> Set<Int> {
        let log = try Data(contentsOf: URL(filePath: path + "-wal"))
        return Set(
            stride(from: 32, to: log.count, by: 24 + 8192).map { start in
                log[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            })
    }

    private func expectFourthVersion() async throws {
        let store = try open()
        #expect(await refused(store, versions: 3...4) == [])
        #expect(try await store.load(ids[0])?.record.version == 4)
        await store.close()
    }

    /// Until the store is closed, the log shows that nothing is missing.
    @Test func `a start that is refused leaves the log for the next one`() async throws {
        let crashed = try await crashed()
        // The one is noticed when the store is opened, and the other prevents the rebuild.
        let logged = try crashed.loggedPages()
        let pages = try ["sessions_by_due", "journal"].map { name in
            try #require(try crashed.pages(of: name).first { !logged.contains($0) })
        }
        var contents: [Data] = []
        for page in pages {
            try crashed.damage(page: page) { content in
                contents.append(content)
                content = Data(count: content.count)
            }
        }

        #expect { try crashed.open() } throws: { ($0 as? SQLiteStoreError)?.isDamage == true }

        for (page, content) in zip(pages, contents) { try crashed.damage(page: page) { $0 = content } }
        try await crashed.expectFourthVersion()
    }

    @Test(arguments: [true, false], [true, false])
    func `a store whose journal cannot be continued is refused until the page is put back`(isLeaf: Bool, isZero: Bool)
        async throws
    {
        try await fill()
        let page = try #require(try pages(of: "journal", leaves: isLeaf).max())
        var sound = Data()
        try damage(page: page) { content in
            sound = content
            content = isZero ? Data(count: content.count) : Data((0..<content.count).map { _ in .random(in: 0...255) })
        }

        for _ in 1...2 { #expect { try open() } throws: { ($0 as? SQLiteStoreError)?.isDamage == true } }

        try damage(page: page) { $0 = sound }
        let store = try open()
        #expect(await refused(store) == [])
        await store.close()
    }

    @Test func `a store that was not closed is not rebuilt without its log`() async throws {
        let crashed = try await crashed()
        try FileManager.default.removeItem(atPath: crashed.path + "-wal")
        #expect(FileManager.default.createFile(atPath: crashed.directory.path + "/sessions.damaged", contents: nil))

        #expect {
            try crashed.open()
        } throws: {
            if case .incomplete = $0 as? SQLiteStoreError { true } else { false }
        }
    }

    @Test(arguments: [1, 100, 4096, 8191])
    func `a file that ends within a page is not copied`(missing: Int) async throws {
        try await fill()
        let file = try FileHandle(forUpdating: URL(filePath: path))
        let size = try file.seekToEnd()
        try file.truncate(atOffset: size - UInt64(missing))
        try file.close()

        let copy = directory.path + "/copy.sqlite"
        #expect(throws: SQLiteStoreError.self) {
            try StoreSnapshot(directory: directory.path).copy(to: copy, as: .backup) { _, _ in }
        }
    }

    /// What was reported to the operator.
    final class Reports: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }
}
