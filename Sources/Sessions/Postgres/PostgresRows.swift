internal import CPostgres

/// The rows that a statement has returned. Rows and columns count from 0.
///
/// Nothing is converted: a column of another type reads as `nil`, like NULL and like a column that does not exist.
public final class PostgresRows {
    /// Owned: cleared in `deinit`. `nil` if there was no result.
    private let result: OpaquePointer?
    public let count: Int
    private let columns: Int
    /// How many warnings came with the result: for example, that a commit is not on the synchronous standby.
    public internal(set) var warnings = 0

    /// - Parameter result: becomes owned.
    init(_ result: OpaquePointer?) {
        self.result = result
        count = Int(PQntuples(result))
        columns = Int(PQnfields(result))
    }

    deinit { PQclear(result) }

    public var indices: Range<Int> { 0..<count }

    public func integer(_ row: Int, _ column: Int) -> Int? {
        withValue(row, column, TypeID.int8) { value in
            value.count == 8 ? Int(Int64(bigEndian: value.loadUnaligned(as: Int64.self))) : nil
        }
    }

    public func text(_ row: Int, _ column: Int) -> String? {
        withValue(row, column, TypeID.text) { String(decoding: $0, as: UTF8.self) }
    }

    /// A text's UTF-8 bytes.
    public func utf8(_ row: Int, _ column: Int) -> [UInt8]? {
        withValue(row, column, TypeID.text) { Array($0) }
    }

    public func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        withValue(row, column, TypeID.bytea) { Array($0) }
    }

    /// An array of one dimension, without its NULLs.
    public func texts(_ row: Int, _ column: Int) -> [String]? {
        withValue(row, column, TypeID.textArray) { value in
            PostgresRows.elements(value).map { $0.map { String(decoding: $0, as: UTF8.self) } }
        }
    }

    /// - Parameter read: receives bytes that are valid until it returns.
    private func withValue<Value>(
        _ row: Int, _ column: Int, _ type: UInt32, _ read: (UnsafeRawBufferPointer) -> Value?
    ) -> Value? {
        guard (0..<count).contains(row), (0..<columns).contains(column) else { return nil }
        let (row, column) = (CInt(truncatingIfNeeded: row), CInt(truncatingIfNeeded: column))
        guard PQftype(result, column) == type, PQfformat(result, column) == 1, PQgetisnull(result, row, column) == 0,
            let start = PQgetvalue(result, row, column)
        else { return nil }
        return read(UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column))))
    }

    /// As array_send() writes them, see `EncodedValues`.
    ///
    /// - Returns: `nil` if the bytes are no such array.
    private static func elements(_ value: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
        var position = 0
        func word() -> Int? {
            guard position + 4 <= value.count else { return nil }
            defer { position += 4 }
            return Int(Int32(bigEndian: value.loadUnaligned(fromByteOffset: position, as: Int32.self)))
        }
        guard let dimensions = word(), word() != nil, word() != nil else { return nil }
        if dimensions == 0 { return [] }
        guard dimensions == 1, let count = word(), count >= 0, word() != nil else { return nil }
        var elements: [UnsafeRawBufferPointer] = []
        for _ in 0..<count {
            guard let length = word() else { return nil }
            guard length >= 0 else { continue }
            guard position + length <= value.count else { return nil }
            elements.append(UnsafeRawBufferPointer(rebasing: value[position..<position + length]))
            position += length
        }
        return elements
    }
}
