internal import CSQLite
internal import Glibc

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

// The first value of a statement without parameters.

extension SQLiteDatabase {
    /// - Returns: `nil` if there is no row, or its first column is not an integer.
    public func integer(_ sql: String) throws(SQLiteError) -> Int? {
        let statement = try prepare(sql)
        return try statement.first { $0.integer(0) } ?? nil
    }

    /// - Returns: `nil` if there is no row, or its first column is not text.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.first { $0.text(0) } ?? nil
    }
}

/// A compiled statement: bind its parameters, then run it, as often as wanted. The bindings last for one run.
///
/// A run leaves nothing open: whatever it throws, it holds no row and no lock afterwards.
public final class SQLiteStatement {
    /// Owned: finalized in `deinit`. The connection cannot be freed before it (`sqlite3_close_v2`).
    private let pointer: OpaquePointer

    init(pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        sqlite3_finalize(pointer)
    }

    /// - Parameter parameter: counts from 1, as in the statement's `?1`.
    public func bind(_ parameter: Int, _ value: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(pointer, CInt(clamping: parameter), Int64(value)))
    }

    /// - Parameter parameter: counts from 1, as in the statement's `?1`.
    public func bind(_ parameter: Int, _ value: String) throws(SQLiteError) {
        var value = value
        let code = value.withUTF8 { bind(parameter, $0, CSQLite_transient()) }
        try check(code)
    }

    /// Text that is a constant of the program. It is not copied.
    ///
    /// - Parameter parameter: counts from 1, as in the statement's `?1`.
    public func bind(_ parameter: Int, word: StaticString) throws(SQLiteError) {
        try check(bind(parameter, UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount), nil))
    }

    /// - Parameters:
    ///   - parameter: counts from 1, as in the statement's `?1`.
    ///   - utf8: text. It is not copied.
    ///   - run: what to do while it is bound: run the statement.
    public func withBound(
        _ parameter: Int, utf8: [UInt8], _ run: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        let outcome = utf8.withUnsafeBufferPointer { bytes in
            Result { () throws(SQLiteError) in
                // The memory is the array's, and the binding is removed when `run` ends.
                try check(bind(parameter, bytes, nil))
                defer { sqlite3_bind_null(pointer, CInt(clamping: parameter)) }
                try run()
            }
        }
        try outcome.get()
    }

    /// - Parameter parameter: counts from 1, as in the statement's `?1`.
    public func bind(_ parameter: Int, _ value: [UInt8]) throws(SQLiteError) {
        let index = CInt(clamping: parameter)
        // An empty buffer may have no address, for which SQLite would bind NULL.
        guard !value.isEmpty else { return try check(sqlite3_bind_zeroblob(pointer, index, 0)) }
        try check(sqlite3_bind_blob64(pointer, index, value, UInt64(value.count), CSQLite_transient()))
    }

    /// Runs the statement to its end, ignoring any rows.
    public func run() throws(SQLiteError) {
        defer { reset() }
        while try step() {}
    }

    /// Runs the statement up to its first row, and no further.
    ///
    /// - Returns: what is read from that row; `nil` when there is none.
    public func first<Value>(_ read: (borrowing SQLiteRow) -> Value) throws(SQLiteError) -> Value? {
        defer { reset() }
        guard try step() else { return nil }
        return read(SQLiteRow(statement: pointer))
    }

    /// Runs the statement until `read` returns a value for a row.
    public func firstNonNil<Value>(
        _ read: (borrowing SQLiteRow) -> Value?
    ) throws(SQLiteError) -> Value? {
        defer { reset() }
        while try step() {
            if let value = read(SQLiteRow(statement: pointer)) { return value }
        }
        return nil
    }

    /// Runs the statement to its end.
    ///
    /// - Returns: what is read from each row, in order.
    public func all<Value>(_ read: (borrowing SQLiteRow) -> Value) throws(SQLiteError) -> [Value] {
        defer { reset() }
        var values: [Value] = []
        while try step() { values.append(read(SQLiteRow(statement: pointer))) }
        return values
    }

    /// - Returns: whether there is a row to read.
    private func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(pointer)
        // SQLite does not record the system's error when a commit fails; calls that succeed leave `errno` alone.
        let systemError = errno
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            throw SQLiteError(code: code, systemError: code & 0xFF == SQLITE_IOERR ? systemError : 0)
        }
        return false
    }

    /// Both calls report only what `step` has thrown already.
    private func reset() {
        sqlite3_reset(pointer)
        sqlite3_clear_bindings(pointer)
    }

    /// - Parameter destructor: `nil` for memory that outlives the binding.
    private func bind(
        _ parameter: Int, _ utf8: UnsafeBufferPointer<UInt8>, _ destructor: sqlite3_destructor_type?
    ) -> CInt {
        utf8.withMemoryRebound(to: CChar.self) { text in
            let index = CInt(clamping: parameter)
            // An empty buffer may have no address, for which SQLite would bind NULL.
            guard let start = text.baseAddress else {
                return sqlite3_bind_text64(pointer, index, "", 0, CSQLite_transient(), UInt8(SQLITE_UTF8))
            }
            return sqlite3_bind_text64(pointer, index, start, UInt64(text.count), destructor, UInt8(SQLITE_UTF8))
        }
    }

    private func check(_ code: CInt) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code) }
    }
}

/// The current row of a statement. It is valid only in the closure that reads it.
///
/// Columns count from 0. Nothing is converted: a column of another type reads as `nil`, like NULL and like a column
/// that does not exist.
public struct SQLiteRow: ~Copyable {
    /// Borrowed from the statement, which stays at this row until the closure returns.
    let statement: OpaquePointer

    public func integer(_ column: Int) -> Int? {
        guard let index = index(of: column, type: SQLITE_INTEGER) else { return nil }
        return Int(sqlite3_column_int64(statement, index))
    }

    public func text(_ column: Int) -> String? {
        guard let index = index(of: column, type: SQLITE_TEXT), let text = sqlite3_column_text(statement, index)
        else { return nil }
        let count = Int(sqlite3_column_bytes(statement, index))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// A text's UTF-8 bytes.
    public func utf8(_ column: Int) -> [UInt8]? {
        guard let index = index(of: column, type: SQLITE_TEXT), let text = sqlite3_column_text(statement, index)
        else { return nil }
        return Array(UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement, index))))
    }

    public func bytes(_ column: Int) -> [UInt8]? {
        guard let index = index(of: column, type: SQLITE_BLOB) else { return nil }
        // An empty blob has no address.
        guard let bytes = sqlite3_column_blob(statement, index) else { return [] }
        return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, index))))
    }

    /// Checks the range, because SQLite leaves undefined what it reads outside of the row.
    private func index(of column: Int, type: CInt) -> CInt? {
        guard let index = CInt(exactly: column), index >= 0, index < sqlite3_data_count(statement),
            sqlite3_column_type(statement, index) == type
        else { return nil }
        return index
    }
}
