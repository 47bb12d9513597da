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

/// Looks up rows by a key. Its errors name a row that is damaged, or is on a damaged page.
final class Lookup {
    private let statement: SQLiteStatement

    init(_ sql: String, _ database: borrowing SQLiteDatabase) throws(SQLiteError) {
        statement = try database.prepare(sql)
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
            try bind(statement)
            guard let found = try statement.first(read) else { return nil }
            if let found { return found }
        } catch {
            guard error.isDamage else { throw .sqlite(error) }
        }
        throw .damaged("\(what()) is damaged")
    }

    /// Like `first`, for a key that must have exactly `count` rows.
    func all<Value>(
        _ what: @autoclosure () -> String, count: Int, bind: (SQLiteStatement) throws(SQLiteError) -> Void,
        _ read: (borrowing SQLiteRow) -> Value?
    ) throws(ReadError) -> [Value] {
        do throws(SQLiteError) {
            try bind(statement)
            let found = try statement.all(read)
            let sound = found.compactMap(\.self)
            if found.count == count, sound.count == count { return sound }
        } catch {
            guard error.isDamage else { throw .sqlite(error) }
        }
        throw .damaged("\(what()) are damaged")
    }
}

/// The lookups that both connections need.
struct StoreLookup {
    private let sessions: Lookup
    private let rows: Lookup

    init(_ database: borrowing SQLiteDatabase) throws(SQLiteError) {
        sessions = try Lookup("SELECT \(CompactedSession.columns) FROM sessions WHERE id = ?1", database)
        rows = try Lookup("SELECT \(JournalRow.columns) FROM journal WHERE seq = ?1", database)
    }

    /// - Returns: `nil` if the session is not in the table.
    func session(_ id: SessionID) throws(ReadError) -> CompactedSession? {
        try sessions.first(
            "the row of \(id.text) in the table sessions",
            bind: { statement throws(SQLiteError) in try statement.bind(1, id.text) }
        ) { CompactedSession($0, of: id) }
    }

    /// - Returns: `nil` if there is no such row any more.
    func row(_ seq: Int) throws(ReadError) -> JournalRow? {
        try rows.first(
            "row \(seq) of the journal",
            bind: { statement throws(SQLiteError) in try statement.bind(1, seq) }
        ) { JournalRow($0, seq: seq) }
    }
}
