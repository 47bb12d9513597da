internal import CSQLite

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
