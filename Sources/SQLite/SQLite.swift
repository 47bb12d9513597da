// SQLite: the one Swift wrapper of SQLite, as small as the need: open a file, prepare statements, bind, run, read.
// It knows no table, and it leaves to the owner of a database who uses it when, see `SQLiteDatabase`.

internal import CSQLite
internal import Glibc

/// What SQLite refused. It holds no bound value: a message that SQLite has composed comes only from calls that see none
/// (opening, preparing); for the others it is SQLite's fixed text for the code.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// SQLite's extended result code (sqlite.org/rescode.html).
    public let code: Int
    public let message: String
    /// The system's `errno` below it; 0 where there is none.
    public let systemError: Int

    public init(code: Int, message: String, systemError: Int = 0) {
        self.code = code
        self.message = message
        self.systemError = systemError
    }

    public var description: String {
        systemError == 0 ? "\(message) (SQLite \(code))" : "\(message) (SQLite \(code), errno \(systemError))"
    }
}

extension SQLiteError {
    /// The disk, the quota or the file's limit is reached.
    public var isNoSpace: Bool {
        let errors = [ENOSPC, EDQUOT, EFBIG].map(Int.init)
        return code & 0xFF == SQLITE_FULL || (code == CSQLite_IOERR_WRITE && errors.contains(systemError))
    }

    /// What was written may not be on the disk.
    public var isFailedFlush: Bool { code == CSQLite_IOERR_FSYNC || code == CSQLite_IOERR_DIR_FSYNC }

    /// What is in the file is no database, or none that SQLite has written.
    public var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB }

    /// Another connection has a lock.
    public var isBusy: Bool { code & 0xFF == SQLITE_BUSY }

    /// For an owner of a database who finds it damaged.
    public static func damage(_ message: String) -> SQLiteError {
        SQLiteError(code: Int(SQLITE_CORRUPT), message: message)
    }

    /// A write failed; the transaction that it was for can be rolled back.
    public var isFailedWrite: Bool { code & 0xFF == SQLITE_FULL || code == CSQLite_IOERR_WRITE }
}
