internal import SQLite
internal import Sessions

/// Why something cannot be read.
enum ReadError: Error {
    case sqlite(SQLiteError)
    /// The data is not what was written.
    case damaged(String)
    /// A row that something points to is missing: it was deleted after the pointer was read, or it is lost.
    case missing(seq: Int)
    /// The store is closed.
    case closed

    var reason: String {
        switch self {
        case .sqlite(let error): "\(error)"
        case .damaged(let what): what
        case .missing(let seq): "row \(seq) of the journal is missing"
        case .closed: "the store is closed"
        }
    }
}

/// Looks up single rows by their keys, also in what is left of a damaged page.
///
/// The guarded connection reads nothing from a page whose checksum is wrong. But most rows on such a page are still as
/// they were written, and their own checksums prove it: a second connection, which ignores the checksums of pages,
/// reads those. If it finds no row, it is unknown whether there was one.
final class Lookup {
    private let guarded: SQLiteStatement
    private let sql: String
    private let path: String
    private var unguarded: SQLiteStatement?

    init(_ sql: String, _ database: borrowing SQLiteDatabase, path: String) throws(SQLiteError) {
        self.guarded = try database.prepare(sql)
        self.sql = sql
        self.path = path
    }

    /// - Parameters:
    ///   - bind: binds the key.
    ///   - what: names what is looked up, in errors.
    ///   - read: returns `nil` if the row is not what was written.
    /// - Returns: `nil` if there is no such row.
    func first<Value>(
        _ what: @autoclosure () -> String, bind: (SQLiteStatement) throws(SQLiteError) -> Void,
        _ read: (borrowing SQLiteRow) -> Value?
    ) throws(ReadError) -> Value? {
        do throws(SQLiteError) {
            try bind(guarded)
            guard let found = try guarded.first(read) else { return nil }
            guard let value = found else { throw SQLiteError.damage("") }
            return value
        } catch {
            guard error.isDamage else { throw .sqlite(error) }
        }
        // Whatever the error is, its cause is the damaged page.
        guard let value = try? unguardedFirst(bind, read) else { throw .damaged("\(what()) is damaged") }
        return value
    }

    /// Like `first`, for a key that must have exactly `count` rows.
    func all<Value>(
        _ what: @autoclosure () -> String, count: Int, bind: (SQLiteStatement) throws(SQLiteError) -> Void,
        _ read: (borrowing SQLiteRow) -> Value?
    ) throws(ReadError) -> [Value] {
        func rows(_ statement: SQLiteStatement?) throws(SQLiteError) -> [Value] {
            guard let statement else { return [] }
            try bind(statement)
            let rows = try statement.all(read)
            guard rows.count == count else { throw .damage("there are \(rows.count), not \(count)") }
            let sound = rows.compactMap(\.self)
            guard sound.count == count else { throw .damage("a row is damaged") }
            return sound
        }
        do throws(SQLiteError) { return try rows(guarded) } catch {
            guard error.isDamage else { throw .sqlite(error) }
        }
        guard let found = try? rows(try unguardedStatement()) else { throw .damaged("\(what()) are damaged") }
        return found
    }

    private func unguardedStatement() throws(SQLiteError) -> SQLiteStatement? {
        if unguarded == nil { unguarded = try SQLiteDatabase(path: path, isReadOnly: true).prepare(sql) }
        return unguarded
    }

    private func unguardedFirst<Value>(
        _ bind: (SQLiteStatement) throws(SQLiteError) -> Void, _ read: (borrowing SQLiteRow) -> Value?
    ) throws(SQLiteError) -> Value? {
        guard let unguarded = try unguardedStatement() else { return nil }
        try bind(unguarded)
        return try unguarded.first(read) ?? nil
    }
}

extension Lookup {
    static func session(_ database: borrowing SQLiteDatabase, path: String) throws(SQLiteError) -> Lookup {
        try Lookup("SELECT \(CompactedSession.columns) FROM sessions WHERE id = ?1", database, path: path)
    }

    static func row(_ database: borrowing SQLiteDatabase, path: String) throws(SQLiteError) -> Lookup {
        try Lookup("SELECT \(JournalRow.columns) FROM journal WHERE seq = ?1", database, path: path)
    }

    /// - Returns: `nil` if the session is not in the table.
    func session(_ id: SessionID) throws(ReadError) -> CompactedSession? {
        try first(
            "the row of \(id.text) in the table sessions",
            bind: { statement throws(SQLiteError) in try statement.bind(1, id.text) }
        ) { CompactedSession($0, of: id) }
    }

    /// - Returns: `nil` if there is no such row any more.
    func row(_ seq: Int) throws(ReadError) -> JournalRow? {
        try first(
            "row \(seq) of the journal",
            bind: { statement throws(SQLiteError) in try statement.bind(1, seq) }
        ) { JournalRow($0, seq: seq) }
    }
}
