internal import SQLite

/// A row of the table `sessions`: where the kept versions of a session are.
struct FoldedSession {
    /// The last one.
    private(set) var version: Int
    /// Rows of the journal, one for each version up to the last one.
    private(set) var rows: [Int]
    var due: Int

    /// - Parameter place: of the session's first record, or of its end.
    init(_ place: Place, due: Int) {
        self.version = place.version
        self.rows = [place.seq]
        self.due = due
    }

    /// From the columns version, rows, due.
    ///
    /// - Returns: `nil` where it is not what was written.
    init?(_ row: borrowing SQLiteRow) {
        guard let version = row.integer(0), let due = row.integer(2), let text = row.text(1)?.utf8,
            text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]")
        else { return nil }
        let numbers = text.dropFirst().dropLast().split(separator: UInt8(ascii: ","))
        let rows = numbers.compactMap { Int(Substring($0)) }
        guard rows.count == numbers.count, !rows.isEmpty else { return nil }
        self.version = version
        self.rows = rows
        self.due = due
    }

    /// A JSON array.
    var rowsText: String {
        "[" + rows.map(String.init).joined(separator: ",") + "]"
    }

    /// The versions from that one down, newest first.
    func versions(from newest: Int, limit: Int) -> [(version: Int, seq: Int)] {
        let last = min(newest, version)
        let first = max(version - rows.count + 1, last - limit + 1)
        guard first <= last else { return [] }
        return (first...last).reversed().map { ($0, rows[rows.count - 1 - (version - $0)]) }
    }

    mutating func append(_ place: Place) {
        version = place.version
        rows.append(place.seq)
    }

    /// Keeps the last rows.
    ///
    /// - Returns: the others.
    mutating func keep(_ count: Int) -> ArraySlice<Int> {
        guard rows.count > count else { return [] }
        defer { rows.removeFirst(rows.count - count) }
        return rows.dropLast(count)
    }
}
