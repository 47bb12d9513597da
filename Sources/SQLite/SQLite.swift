// SQLite: the one Swift wrapper of SQLite, as small as the need: open a file, prepare statements, bind, run, read.
// It knows no table, and it leaves to the owner of a database who uses it when, see `SQLiteDatabase`.

/// What SQLite refused. It holds no bound value: a message that SQLite has composed comes only from calls that see none
/// (opening, preparing); for the others it is SQLite's fixed text for the code.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// SQLite's extended result code (sqlite.org/rescode.html).
    public let code: Int
    public let message: String

    public var description: String { "\(message) (SQLite \(code))" }
}
