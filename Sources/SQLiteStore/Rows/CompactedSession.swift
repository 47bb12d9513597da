internal import SQLite
internal import Sessions

/// A row of the journal, and the bytes of its text where these are many.
struct SizedRow {
    let seq: Int
    let size: Int
}

/// A row of the table `sessions`: where the kept versions of a session are.
///
/// The rows of the journal stay the text that they are in the table: numbers, oldest first, and behind that of a full record
/// `=` and its bytes, behind that of a large delta record `:` and its bytes: `17=1043 18 23:2048`. It is changed with nearly
/// every version, at its ends, and read as a whole only when somebody asks for the past.
struct CompactedSession {
    let id: SessionID
    /// The last one.
    private(set) var version: Int
    /// When to look whether the session can be forgotten; `nil` where that is in the table already.
    private(set) var due: Int?
    private(set) var rows: [UInt8]
    /// In hexadecimal digits.
    private(set) var token: String
    let origin: String?
    /// How many it has in the table `answers`.
    var answers = 0
    private var count: Int
    /// Of the last full record and those after it, which complete it.
    private var countFromFull: Int
    /// Of the full and the large records.
    private var bytes: Int

    /// Bytes from which on a delta record counts as large.
    private static let largeSize = 512

    /// - Parameter place: of the session's first record that is kept, or of its end.
    init(_ place: Place, of id: SessionID, token: String, origin: String?) {
        self.id = id
        self.version = place.version
        self.due = place.keptUntil
        self.token = token
        self.origin = origin
        (self.rows, self.count, self.countFromFull, self.bytes) = ([], 0, 0, 0)
        add(place)
    }

    static let columns = "version, rows, token, origin, answers, checksum"

    /// From the columns.
    ///
    /// - Returns: `nil` where it is not what was written.
    init?(_ row: borrowing SQLiteRow, of id: SessionID) {
        guard let version = row.integer(0), let rows = row.utf8(1), let token = row.text(2) else { return nil }
        self.init(version: version, rows: rows, token: token, origin: row.text(3), of: id)
        answers = row.integer(4) ?? -1
        guard checksum == row.integer(5) else { return nil }
    }

    /// - Returns: `nil` where no session can have that.
    init?(version: Int, rows: [UInt8], token: String, origin: String?, of id: SessionID) {
        (self.id, self.version, self.rows, self.token, self.origin) = (id, version, rows, token, origin)
        (self.count, self.countFromFull, self.bytes) = (0, 0, 0)
        var position = 0
        repeat {
            guard let (row, isFull) = CompactedSession.nextRow(in: rows, at: &position) else { return nil }
            count += 1
            countFromFull = isFull ? 1 : countFromFull + 1
            bytes += row.size
        } while position < rows.count
        // Versions count from 1, without a gap.
        guard version >= count else { return nil }
    }

    var checksum: Int {
        var sum = RowChecksum()
        sum.add(id.text)
        sum.add(version)
        sum.add(token)
        sum.add(origin)
        sum.add(answers)
        sum.add(digestOf: rows)
        return sum.value
    }

    /// Takes the next version.
    mutating func append(_ place: Place) {
        version = place.version
        if let token = place.label?.token { self.token = token }
        add(place)
    }

    private mutating func add(_ place: Place) {
        if !rows.isEmpty { rows.append(CompactedSession.space) }
        rows += "\(place.seq)".utf8
        count += 1
        let isFull = place.label?.token != nil
        countFromFull = isFull ? 1 : countFromFull + 1
        guard isFull || place.size >= CompactedSession.largeSize else { return }
        rows += "\(isFull ? "=" : ":")\(place.size)".utf8
        bytes += place.size
    }

    /// Keeps the last rows: so many, and of no more bytes, but those that the last version needs.
    ///
    /// - Returns: the others.
    mutating func keep(_ limit: Int, bytes byteLimit: Int) -> [SizedRow] {
        var dropped: [SizedRow] = []
        var start = 0
        while count > 1, count > limit || (bytes > byteLimit && count > countFromFull),
            let (row, _) = CompactedSession.nextRow(in: rows, at: &start)
        {
            dropped.append(row)
            bytes -= row.size
            count -= 1
        }
        rows.removeSubrange(..<start)
        return dropped
    }

    /// All rows, oldest first.
    var allRows: [Int] { allSizedRows.map(\.seq) }

    var allSizedRows: [SizedRow] {
        var all: [SizedRow] = []
        var position = 0
        while position < rows.count, let (row, _) = CompactedSession.nextRow(in: rows, at: &position) {
            all.append(row)
        }
        return all
    }

    /// The versions from that one down, newest first.
    func versions(from newest: Int, limit: Int) -> [(version: Int, seq: Int)] {
        let all = allRows
        let last = min(newest, version)
        let first = max(version - all.count + 1, last - limit + 1)
        guard first <= last else { return [] }
        return (first...last).reversed().map { ($0, all[all.count - 1 - (version - $0)]) }
    }

    private static let space = UInt8(ascii: " ")
    private static let colon = UInt8(ascii: ":")
    private static let equals = UInt8(ascii: "=")
    /// As many sizes as a row of the table holds do not overflow.
    private static let (largestSeq, largestSize) = (1 << 53, 1 << 32)

    /// - Parameter position: of the row; is moved to the next one.
    /// - Returns: the row, and whether its record is a full one; `nil` where that cannot be one.
    private static func nextRow(in rows: [UInt8], at position: inout Int) -> (row: SizedRow, isFull: Bool)? {
        var (seq, size, isFull): (Int, Int?, Bool) = (0, nil, false)
        while position < rows.count, rows[position] != space {
            let byte = rows[position]
            position += 1
            switch byte {
            case equals, colon:
                guard size == nil else { return nil }
                (size, isFull) = (0, byte == equals)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let number = (size ?? seq) * 10 + Int(byte - UInt8(ascii: "0"))
                guard number <= (size == nil ? largestSeq : largestSize) else { return nil }
                if size == nil { seq = number } else { size = number }
            default: return nil
            }
        }
        if position < rows.count {
            position += 1
            guard position < rows.count else { return nil }
        }
        guard seq > 0, size != 0 else { return nil }
        return (SizedRow(seq: seq, size: size ?? 0), isFull)
    }
}
