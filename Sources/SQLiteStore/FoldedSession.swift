internal import SQLite

/// A row of the table `sessions`: where the kept versions of a session are.
///
/// The rows of the journal stay the text that they are in the table. It is changed with nearly every version, at its
/// ends, and read as a whole only when somebody asks for the past.
struct FoldedSession {
    /// The last one.
    private(set) var version: Int
    /// When to look whether the session can be forgotten; `nil` where that is in the table already.
    private(set) var due: Int?
    /// A JSON array of rows of the journal, one for each version up to the last one.
    private(set) var rows: [UInt8]
    private var count: Int

    /// - Parameter place: of the session's first record, or of its end.
    init(_ place: Place, due: Int) {
        self.version = place.version
        self.due = due
        self.rows = Array("[\(place.seq)]".utf8)
        self.count = 1
    }

    /// From the columns version, rows.
    ///
    /// - Returns: `nil` where it is not what was written.
    init?(_ row: borrowing SQLiteRow) {
        guard let version = row.integer(0), let rows = row.utf8(1), rows.count > 2, rows.first == UInt8(ascii: "["),
            rows.last == UInt8(ascii: "]")
        else { return nil }
        self.version = version
        self.rows = rows
        self.count = rows.reduce(1) { $1 == FoldedSession.comma ? $0 + 1 : $0 }
        // Versions count from 1, without a gap.
        guard version >= count else { return nil }
    }

    private static let comma = UInt8(ascii: ",")

    mutating func append(_ place: Place) {
        version = place.version
        count += 1
        rows.removeLast()
        rows += ",\(place.seq)]".utf8
    }

    /// Keeps the last rows.
    ///
    /// - Returns: the others.
    mutating func keep(_ limit: Int) -> [Int] {
        guard count > limit else { return [] }
        var dropped: [Int] = []
        var start = 1
        while count > limit, let end = rows[start...].firstIndex(of: FoldedSession.comma) {
            dropped += FoldedSession.numbers(rows[start..<end])
            start = end + 1
            count -= 1
        }
        rows.removeSubrange(1..<start)
        return dropped
    }

    /// All rows, oldest first.
    var allRows: [Int] { FoldedSession.numbers(rows.dropFirst().dropLast()) }

    /// The versions from that one down, newest first.
    func versions(from newest: Int, limit: Int) -> [(version: Int, seq: Int)] {
        let all = allRows
        let last = min(newest, version)
        let first = max(version - all.count + 1, last - limit + 1)
        guard first <= last else { return [] }
        return (first...last).reversed().map { ($0, all[all.count - 1 - (version - $0)]) }
    }

    private static func numbers(_ text: ArraySlice<UInt8>) -> [Int] {
        text.split(separator: comma).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    }
}
