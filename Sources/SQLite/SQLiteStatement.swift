internal import CSQLite
internal import Glibc

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
    public func bindNull(_ parameter: Int) throws(SQLiteError) {
        try check(sqlite3_bind_null(pointer, CInt(clamping: parameter)))
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
