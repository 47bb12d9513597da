// SQLite: the only Swift wrapper of SQLite, no larger than needed: open a file, prepare statements, bind, run, read.
// It knows no tables, and the owner of a database decides who uses it when, see `SQLiteDatabase`.

internal import CSQLite
internal import Glibc

/// An error from SQLite. It contains no bound value: a message that SQLite has composed comes only from calls that see
/// none (opening, preparing); for the others it is SQLite's fixed text for the code.
public struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// SQLite's extended result code (sqlite.org/rescode.html).
    public let code: Int
    public let message: String
    /// The system's `errno` behind it; 0 if there is none.
    public let systemError: Int

    public init(code: Int, message: String, systemError: Int = 0) {
        self.code = code
        self.message = message
        self.systemError = systemError
    }

    public var description: String {
        // No system call has failed, so SQLite's own text and `systemError` would mislead.
        if isShortFile { return "a file is shorter than it must be (SQLite \(code))" }
        let message = code & 0xFF == SQLITE_BUSY ? "\(message) by another program" : message
        guard systemError != 0 else { return "\(message) (SQLite \(code))" }
        return "\(message) (SQLite \(code): \(String(cString: strerror(CInt(systemError))).lowercased()))"
    }
}

extension SQLiteError {
    /// The disk is full, or the quota or the file size limit is reached.
    public var isNoSpace: Bool {
        let errors = [ENOSPC, EDQUOT, EFBIG].map(Int.init)
        return code & 0xFF == SQLITE_FULL || (code == CSQLite_IOERR_WRITE && errors.contains(systemError))
    }

    /// What was written may not be on the disk.
    public var isFailedFlush: Bool { code == CSQLite_IOERR_FSYNC || code == CSQLite_IOERR_DIR_FSYNC }

    /// The file is not a database, or not as SQLite has written it.
    public var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB }

    /// A file is shorter than it must be, for example a log that was truncated.
    public var isShortFile: Bool { code == CSQLite_IOERR_SHORT_READ }

    /// A process has ended while it wrote to the file, and a connection that only reads cannot undo what it did.
    public var isInterrupted: Bool { code == CSQLite_READONLY_ROLLBACK }

    /// Another connection has a lock.
    public var isBusy: Bool { code & 0xFF == SQLITE_BUSY }

    /// An error for the owner of a database who finds it damaged.
    public static func damage(_ message: String) -> SQLiteError {
        SQLiteError(code: Int(SQLITE_CORRUPT), message: message)
    }

    /// A write failed; its transaction can be rolled back.
    public var isFailedWrite: Bool { code & 0xFF == SQLITE_FULL || code == CSQLite_IOERR_WRITE }
}
