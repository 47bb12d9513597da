internal import FoundationEssentials
internal import SQLite
@testable internal import SQLiteStore

/// A write-ahead log with any damage that it may have on the disk.
enum StoredLog: FuzzTarget {
    /// What SQLite writes for three transactions.
    static var seeds: [[UInt8]] {
        get async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appending(path: "log.sqlite").path
            let database = try SQLiteDatabase(path: path)
            try database.execute("PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
            for _ in 0..<2 { try database.execute("INSERT INTO t VALUES (randomblob(600))") }
            let log = Array(try Data(contentsOf: URL(filePath: path + "-wal")))
            promise("a sound log is taken for one", log.count > 512 && damage(in: log) == nil)
            return [log, log.dropLast(100)]
        }
    }

    static func check(_ input: [UInt8]) {
        guard let offset = damage(in: input) else { return }
        promise("the damage is in the log", (0..<input.count).contains(offset))
        promise("before the damage all is sound", damage(in: Array(input[..<offset])) == nil)
    }

    private static func damage(in log: [UInt8]) -> Int? {
        log.withUnsafeBytes { WriteAheadLog($0)?.firstDamage }
    }
}
