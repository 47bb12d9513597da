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

    /// - Returns: `nil` if there is no row, or its first column is not a blob.
    public func bytes(_ sql: String) throws(SQLiteError) -> [UInt8]? {
        let statement = try prepare(sql)
        return try statement.first { $0.bytes(0) } ?? nil
    }
}
