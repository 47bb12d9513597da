// One value of a statement that has nothing to bind.

extension SQLiteDatabase {
    /// - Returns: `nil` where there is no row, or its first column is no integer.
    public func integer(_ sql: String) throws(SQLiteError) -> Int? {
        let statement = try prepare(sql)
        return try statement.first { $0.integer(0) } ?? nil
    }

    /// - Returns: `nil` where there is no row, or its first column is no text.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.first { $0.text(0) } ?? nil
    }

    /// - Returns: `nil` where there is no row, or its first column is no blob.
    public func bytes(_ sql: String) throws(SQLiteError) -> [UInt8]? {
        let statement = try prepare(sql)
        return try statement.first { $0.bytes(0) } ?? nil
    }
}
