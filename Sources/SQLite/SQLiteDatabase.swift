internal import CSQLite

/// One connection to a database: open from `init` to `deinit`.
///
/// It has one owner, who also owns its statements; neither is `Sendable`. To share it, put it and its statements into
/// one `Mutex`.
public struct SQLiteDatabase: ~Copyable {
    /// Owned: opened in `init`, closed in `deinit`.
    private let pointer: OpaquePointer
    /// Owned: freed in `deinit`, after the connection that writes to it.
    private let loggedPages: UnsafeMutablePointer<CInt>

    /// Opens the file, and creates it if there is none.
    ///
    /// - Parameters:
    ///   - path: the file's path; `:memory:` for a database that lives as long as the connection.
    ///   - isReadOnly: whether the file is left as it is; then it must exist.
    ///   - isGuarded: whether its pages have checksums, see `PageChecksum`; a new file gets room for them.
    ///   - busyTimeout: how long a statement waits for another connection's lock, to the millisecond.
    public init(
        path: String, isReadOnly: Bool = false, isGuarded: Bool = false, busyTimeout: Duration = .seconds(5)
    ) throws(SQLiteError) {
        SQLiteDatabase.prepared
        guard !isGuarded || GuardedFile.isRegistered else { throw SQLiteError(code: SQLITE_CANTOPEN) }
        var pointer: OpaquePointer?
        // SQLite's own mutex backs up the rule of one owner: the compiler lets a statement escape from `withLock`.
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &pointer, flags, isGuarded ? GuardedFile.name : nil)
        guard code == SQLITE_OK, let pointer else {
            let error = SQLiteError(code: code, of: pointer)
            // There may be a connection to close even if opening it has failed; closing `nil` is allowed.
            sqlite3_close_v2(pointer)
            throw error
        }
        sqlite3_busy_timeout(pointer, CInt(clamping: Int64(busyTimeout / .milliseconds(1))))
        self.pointer = pointer
        loggedPages = .allocate(capacity: 1)
        loggedPages.initialize(to: 0)
        if isGuarded, !isReadOnly {
            // Has an effect only if the file is new.
            var reserved = CInt(PageChecksum.size)
            sqlite3_file_control(pointer, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
        }
        // This hook replaces SQLite's own checkpoints, which are a hook as well.
        if !isReadOnly {
            sqlite3_wal_hook(
                pointer,
                { context, _, _, pages in
                    context?.assumingMemoryBound(to: CInt.self).pointee = pages
                    return SQLITE_OK
                }, loggedPages)
        }
    }

    /// Whether the pages of the file are compared with checksums. Ask a connection that only reads, and has read: any
    /// other reports what a new file would have.
    public var hasChecksums: Bool {
        var reserved: CInt = -1
        sqlite3_file_control(pointer, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved)
        return Int(reserved) == PageChecksum.size
    }

    /// SQLite counts the memory of all connections under one lock, for statistics that nobody reads here, and writes
    /// what a savepoint needs to files. Both can be turned off only before its first use; if other code has used it
    /// before, they stay on.
    private static let prepared: Void = {
        _ = CSQLite_count_no_memory()
        _ = CSQLite_keep_savepoints_in_memory()
    }()

    /// A statement that outlives the database keeps the connection open, unseen, until the statement is freed too.
    deinit {
        // A statement that is left could still commit, and call the hook.
        sqlite3_wal_hook(pointer, nil, nil)
        loggedPages.deallocate()
        sqlite3_close_v2(pointer)
    }

    /// The pages in the log after the last commit that this connection made, in WAL mode.
    public var logPages: Int { Int(loggedPages.pointee) }

    public var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    /// Runs one or more statements and ignores their results. All of the text must be the program's own: there is
    /// nothing to bind, and an error may quote it.
    public func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(pointer, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, of: pointer) }
    }

    /// Copies the log of a database in WAL mode into its file (sqlite3_wal_checkpoint_v2).
    ///
    /// - Parameter isRestarted: whether the next commit must restart the log; if a reader prevents that, the error is
    ///   `isBusy`. If `false`, the log is copied as far as no reader needs it.
    public func checkpoint(isRestarted: Bool = false) throws(SQLiteError) {
        let mode = isRestarted ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(pointer, nil, mode, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, of: pointer) }
    }

    /// - Parameter isKept: whether the log is left as it is when the connection is closed, instead of being copied into
    ///   the file and removed.
    public func setLogKept(_ isKept: Bool) {
        _ = CSQLite_keep_log(pointer, isKept ? 1 : 0)
    }

    /// How long a statement waits for another connection's lock, to the millisecond.
    public func setBusyTimeout(_ time: Duration) {
        sqlite3_busy_timeout(pointer, CInt(clamping: Int64(time / .milliseconds(1))))
    }

    /// Copies the whole database into another one, which is overwritten, in steps.
    ///
    /// - Parameters:
    ///   - pages: the number of pages in a step.
    ///   - progress: called after each step with the number of pages done, and of all pages.
    public func copy(
        to target: borrowing SQLiteDatabase, pages: Int, progress: (Int, Int) -> Void
    ) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target.pointer, "main", pointer, "main") else {
            throw SQLiteError(code: sqlite3_errcode(target.pointer), of: target.pointer)
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = sqlite3_backup_step(backup, CInt(clamping: pages))
            let total = Int(sqlite3_backup_pagecount(backup))
            progress(total - Int(sqlite3_backup_remaining(backup)), total)
        }
        sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE else { throw SQLiteError(code: code) }
    }

    /// Compiles one statement; what follows it in the text is not read.
    public func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(pointer, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code: code, of: pointer) }
        // For a text of nothing but white space and comments, SQLite returns neither an error nor a statement.
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE) }
        return SQLiteStatement(pointer: statement)
    }
}

extension SQLiteError {
    /// An error with SQLite's fixed text for the code.
    init(code: CInt, systemError: CInt = 0) {
        self.init(code: Int(code), message: String(cString: sqlite3_errstr(code)), systemError: Int(systemError))
    }

    /// An error with the text about the last call on the connection; the text is borrowed until the next call.
    fileprivate init(code: CInt, of database: OpaquePointer?) {
        // There is no connection if memory was too short for one; the text then says so.
        self.init(
            code: Int(code), message: String(cString: sqlite3_errmsg(database)),
            systemError: database.map { Int(sqlite3_system_errno($0)) } ?? 0)
    }
}
