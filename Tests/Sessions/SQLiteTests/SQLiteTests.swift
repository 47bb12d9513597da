import Foundation
import SQLite
import Testing

@Suite struct SQLiteTests {
    @Test(arguments: ["", "ann", "로그인 🔑", String(repeating: "x", count: 100_000)])
    func `a text comes back as it was bound`(text: String) throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")

        try statement.bind(1, text)
        let read = try statement.first { $0.text(0) }

        #expect(read == .some(text))
    }

    @Test func `a text may hold a NUL`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")

        try statement.bind(1, "a\u{0}b")
        let read = try statement.first { $0.text(0) }

        #expect(read == "a\u{0}b")
    }

    @Test(arguments: [Int.min, -1, 0, .max])
    func `an integer comes back as it was bound`(integer: Int) throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")

        try statement.bind(1, integer)
        let read = try statement.first { $0.integer(0) }

        #expect(read == .some(integer))
    }

    @Test(arguments: [[], [0], Array(0...255)] as [[UInt8]])
    func `bytes come back as they were bound`(bytes: [UInt8]) throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")

        try statement.bind(1, bytes)
        let read = try statement.first { $0.bytes(0) }

        #expect(read == .some(bytes))
    }

    @Test(arguments: [-1, 0, 1, 2, Int.max])
    func `a column that has another type, is NULL or does not exist reads as nil`(column: Int) throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT NULL, 1.5")

        let read = try statement.first { [$0.integer(column) == nil, $0.text(column) == nil, $0.bytes(column) == nil] }

        #expect(read == [true, true, true])
    }

    @Test func `the bindings last for one run`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")
        try statement.bind(1, "ann")

        let first = try statement.first { $0.text(0) }
        let second = try statement.first { $0.text(0) }

        #expect(first == "ann")
        #expect(second == .some(nil))
    }

    @Test func `all returns the rows in order, first only the first one, or nil if there is none`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.execute("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (3), (1), (2)")
        let sorted = try database.prepare("SELECT number FROM numbers ORDER BY number")
        let none = try database.prepare("SELECT number FROM numbers WHERE number > 3")

        let all = try sorted.all { $0.integer(0) }
        let first = try sorted.first { $0.integer(0) }
        let nothing = try none.first { $0.integer(0) }

        #expect(all == [1, 2, 3])
        #expect(first == 1)
        #expect(nothing == nil)
    }

    @Test func `reading a row leaves no lock, and what is written stays in the file`() throws {
        let file = TemporaryFile()
        let reader = try SQLiteDatabase(path: file.path, busyTimeout: .zero)
        try reader.execute("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (1), (2)")
        let first = try reader.prepare("SELECT number FROM numbers")
        _ = try first.first { $0.integer(0) }

        let writer = try SQLiteDatabase(path: file.path, busyTimeout: .zero)
        let insert = try writer.prepare("INSERT INTO numbers VALUES (?1)")
        try insert.bind(1, 3)
        try insert.run()

        let numbers = try first.all { $0.integer(0) }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `a statement waits for another connection's lock no longer than the timeout`() throws {
        let file = TemporaryFile()
        let holder = try SQLiteDatabase(path: file.path)
        try holder.execute("BEGIN EXCLUSIVE")
        let other = try SQLiteDatabase(path: file.path, busyTimeout: .milliseconds(50))

        let error = code { () throws(SQLiteError) in try other.execute("CREATE TABLE numbers (number INTEGER)") }

        #expect(error == 5)
    }

    @Test func `an error reveals no bound value, and the statement can run again`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.execute("CREATE TABLE names (name TEXT PRIMARY KEY CHECK (name <> 'secret')) STRICT")
        let insert = try database.prepare("INSERT INTO names VALUES (?1)")
        try insert.bind(1, "secret")

        var refusal: SQLiteError?
        do throws(SQLiteError) { try insert.run() } catch { refusal = error }
        try insert.bind(1, "ann")
        try insert.run()

        #expect(refusal?.code == 275)
        #expect(refusal?.description == "constraint failed (SQLite 275)")
    }

    @Test func `an invalid statement, parameter or path is refused`() throws {
        let database = try SQLiteDatabase(path: ":memory:")
        let statement = try database.prepare("SELECT ?1")

        #expect(code { () throws(SQLiteError) in _ = try database.prepare("SELEC") } == 1)
        #expect(code { () throws(SQLiteError) in _ = try database.prepare(" -- nothing") } == 21)
        #expect(code { () throws(SQLiteError) in try database.execute("SELEC") } == 1)
        #expect(code { () throws(SQLiteError) in _ = try SQLiteDatabase(path: "/nowhere/at/all") } == 14)
        for parameter in [Int.min, 0, 2, .max] {
            let refused = code { () throws(SQLiteError) in try statement.bind(parameter, 1) }
            #expect(refused == 25)
        }
    }

    @Test func `a statement may outlive its database`() throws {
        func prepared() throws -> SQLiteStatement { try SQLiteDatabase(path: ":memory:").prepare("SELECT 7") }
        let statement = try prepared()

        let seven = try statement.first { $0.integer(0) }

        #expect(seven == 7)
    }

    /// The code of the error that is thrown.
    func code(_ body: () throws(SQLiteError) -> Void) -> Int? {
        do { try body() } catch { return error.code }
        return nil
    }
}

/// A path without a file. What a test puts there is removed in the end.
final class TemporaryFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "sqlite-test-\(UUID().uuidString)").path

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
