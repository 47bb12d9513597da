import Foundation
import SQLite
import Testing

@Suite struct PageTreeTests {
    private let file = TemporaryFile()
    private var path: String { file.path }

    /// Fills a table with keys of all sizes; each row takes a leaf of its own.
    private func fill(
        rows: Int, _ options: String = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;"
    ) throws {
        let database = try SQLiteDatabase(path: path, isGuarded: true)
        try database.execute(
            """
            \(options)
            CREATE TABLE t (key INTEGER PRIMARY KEY, text TEXT);
            CREATE INDEX i ON t (text);
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(rows))
            INSERT INTO t SELECT n * n * n * n, hex(randomblob(3900)) FROM n;
            DELETE FROM t WHERE key % 5 = 0;
            """)
    }

    private func pages(_ condition: String) throws -> [Int] {
        let database = try SQLiteDatabase(path: path, isReadOnly: true)
        return try database.prepare("SELECT pageno FROM dbstat WHERE \(condition)").all { $0.integer(0) }
            .compactMap(\.self)
    }

    private func overwrite(_ pages: [Int]) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        for page in pages {
            try file.seek(toOffset: UInt64((page - 1) * 8192))
            try file.write(contentsOf: Data((0..<8192).map { _ in .random(in: 0...255) }))
        }
        try file.close()
    }

    private func withTree<Value>(_ body: (PageTree?) throws -> Value) throws -> Value {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        defer { try? file.close() }
        return try body(PageTree(file.fileDescriptor))
    }

    private func check() throws -> String? {
        try SQLiteDatabase(path: path, isReadOnly: true, isGuarded: true).text("PRAGMA integrity_check")
    }

    @Test func `all damaged pages above the leaves of a table are repaired`() throws {
        try fill(rows: 3000)
        let pages = try pages("name = 't' AND pagetype = 'internal'").sorted()
        #expect(pages.count > 2, "two levels")
        let rows = try SQLiteDatabase(path: path, isReadOnly: true).text("SELECT group_concat(key) FROM t NOT INDEXED")
        try overwrite(pages)
        #expect(try check() != "ok")

        try withTree { tree in
            #expect(tree?.damaged == pages)
            tree?.repair()
            #expect(tree?.damaged == [])
        }

        #expect(try check() == "ok")
        let database = try SQLiteDatabase(path: path, isGuarded: true)
        #expect(try database.text("SELECT group_concat(key) FROM t NOT INDEXED") == rows)
        try database.execute("INSERT INTO t SELECT key + 1, text FROM t; DELETE FROM t WHERE key % 2 = 0")
        #expect(try check() == "ok")
    }

    @Test func `pages that cannot be repaired stay as they are`() throws {
        try fill(rows: 300)
        let root = try pages("name = 't' AND path = '/'") + pages("name = 'i' AND path = '/'")
        let leaf = try #require(try pages("name = 't' AND pagetype = 'leaf'").randomElement())
        try overwrite(root + [leaf])
        let before = try Data(contentsOf: URL(filePath: path))

        try withTree { tree in
            #expect(tree?.damaged == root.sorted())
            tree?.repair()
        }

        #expect(try before == Data(contentsOf: URL(filePath: path)))
    }

    @Test func `a sound file stays as it is, and one without a readable pointer map is left alone`() throws {
        try fill(rows: 30)
        let before = try Data(contentsOf: URL(filePath: path))
        try withTree { $0?.repair() }
        #expect(try before == Data(contentsOf: URL(filePath: path)))

        try FileManager.default.removeItem(atPath: path)
        try fill(rows: 30, "PRAGMA page_size = 8192;")
        try withTree { #expect($0 == nil) }

        try FileManager.default.removeItem(atPath: path)
        try fill(rows: 30)
        try overwrite([2])
        try withTree { #expect($0 == nil) }
        try Data("short".utf8).write(to: URL(filePath: path))
        try withTree { #expect($0 == nil) }
    }
}
