internal import CSQLite

/// One connection to a database: open from `init` to the end of its life.
///
/// It has one owner, as have its statements: none of them is `Sendable` or can be copied. Who wants to share it puts
/// it, together with its statements, into one `Mutex`.
public struct SQLiteDatabase: ~Copyable {
    /// Owned: opened in `init`, closed in `deinit`.
    private let pointer: OpaquePointer

    /// Opens the file, and creates it when there is none.
    ///
    /// - Parameters:
    ///   - path: of the file; `:memory:` for a database that lives as long as the connection.
    ///   - busyTimeout: how long a statement waits for another connection's lock, to the millisecond.
    public init(path: String, busyTimeout: Duration = .seconds(5)) throws(SQLiteError) {
        var pointer: OpaquePointer?
        // SQLite's own mutex is the net below the rule of one owner: the compiler lets a statement out of `withLock`.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &pointer, flags, nil)
        guard code == SQLITE_OK, let pointer else {
            let error = SQLiteError(code: code, of: pointer)
            // There is one to close even when opening it has failed; closing nothing is allowed.
            sqlite3_close_v2(pointer)
            throw error
        }
        sqlite3_busy_timeout(pointer, CInt(clamping: Int64(busyTimeout / .milliseconds(1))))
        self.pointer = pointer
    }

    /// A statement that outlives the database keeps it open, unseen, until it goes too.
    deinit {
        sqlite3_close_v2(pointer)
    }

    /// Runs one or more statements whose results nobody wants. All of the text is the program's own: there is nothing
    /// to bind, and an error may quote it.
    public func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, of: pointer) }
    }

    /// Compiles one statement; what follows it in the text is not read.
    public func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(pointer, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, of: pointer) }
        // Nothing but white space and comments is no error to SQLite, but no statement either.
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE) }
        return SQLiteStatement(pointer: statement)
    }
}

extension SQLiteError {
    /// With the fixed text for the code.
    init(code: CInt) {
        self.init(code: Int(code), message: String(cString: sqlite3_errstr(code)))
    }

    /// With the text about the last call on the connection, which is borrowed until the next.
    fileprivate init(code: CInt, of database: OpaquePointer?) {
        // Without a connection, which memory was too short for, SQLite says so.
        self.init(code: Int(code), message: String(cString: sqlite3_errmsg(database)))
    }
}
