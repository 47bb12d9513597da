internal import SQLite
internal import Sessions

/// A row of the journal, and the bytes of its text; these may be 0 if they are few.
struct SizedRow {
    let seq: Int
    let size: Int
}

/// A row of the table `sessions`: where the kept versions of a session are.
///
/// `rows` keeps the numbers of the journal rows as they are in the table: a text, oldest first. After the number of a
/// full record come `=` and its bytes, after that of a large delta record `:` and its bytes: `17=1043 18 23:2048`.
/// Nearly every version changes the text only at its ends; all of it is read only when the past is requested.
struct CompactedSession {
    let id: SessionID
    /// The last version.
    private(set) var version: Int
    /// When to check whether the session can be forgotten; `nil` if the table already has this time.
    private(set) var due: Int?
    private(set) var rows: [UInt8] = []
    /// The SHA-256 of each of the session's tokens, in hexadecimal digits, separated by spaces.
    private(set) var tokens: String
    /// Who is signed in.
    private(set) var user: String?
    /// Whether the table has another user.
    private(set) var hasNewUser = false
    let origin: String?
    /// When its next timer is due; `nil` if it has none, or that was postponed for ever.
    private(set) var timer: Int?
    private(set) var hasEffects = false
    /// Whether the table has another timer, or says otherwise about effects.
    private(set) var hasNewPending = false
    /// Of the last version, if that is new.
    private(set) var keptUntil = Int.max
    /// How many answers the session has in the table `answers`.
    var answers = 0
    private var count = 0
    /// How many rows there are from the last full record on: it and the delta records based on it.
    private var countFromFull = 0
    /// The bytes of all full records and large delta records.
    private var bytes = 0

    /// The size in bytes from which a delta record counts as large.
    private static let largeSize = 512

    /// - Parameter place: of the session's first record that is kept, or of its end.
    init(_ place: Place, of id: SessionID, tokens: String, user: String?, origin: String?) {
        self.id = id
        self.version = place.version
        self.due = place.keptUntil
        self.tokens = tokens
        self.user = user
        self.origin = origin
        self.timer = place.label?.timer
        self.hasEffects = place.label?.hasEffects ?? false
        add(place)
    }

    static let columns = "version, rows, tokens, origin, answers, checksum, user, timer, effects"

    /// Reads a row that has these columns.
    ///
    /// - Returns: `nil` if the row is not what was written.
    init?(_ row: borrowing SQLiteRow, of id: SessionID) {
        guard let version = row.integer(0), let rows = row.utf8(1), let tokens = row.text(2) else { return nil }
        self.init(version: version, rows: rows, tokens: tokens, user: row.text(6), origin: row.text(3), of: id)
        answers = row.integer(4) ?? -1
        (timer, hasEffects) = (row.integer(7), row.integer(8) != nil)
        guard checksum == row.integer(5) else { return nil }
    }

    /// - Returns: `nil` if no session can have these values.
    init?(version: Int, rows: [UInt8], tokens: String, user: String? = nil, origin: String?, of id: SessionID) {
        (self.id, self.version, self.rows, self.origin) = (id, version, rows, origin)
        (self.tokens, self.user) = (tokens, user)
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
        sum.add(tokens)
        sum.add(origin)
        sum.add(answers)
        sum.add(user)
        sum.add(digestOf: rows)
        return sum.value
    }

    /// Adds the next version.
    mutating func append(_ place: Place) {
        version = place.version
        keptUntil = place.keptUntil
        if let label = place.label, let tokens = label.tokens {
            self.tokens = tokens
            hasNewUser = hasNewUser || user != label.user
            user = label.user
        }
        let (timer, hasEffects) = (place.label?.timer, place.label?.hasEffects ?? false)
        if timer != self.timer || hasEffects != self.hasEffects {
            (self.timer, self.hasEffects, hasNewPending) = (timer, hasEffects, true)
        }
        add(place)
    }

    private mutating func add(_ place: Place) {
        if !rows.isEmpty { rows.append(CompactedSession.space) }
        rows += "\(place.seq)".utf8
        count += 1
        let isFull = place.label?.tokens != nil
        countFromFull = isFull ? 1 : countFromFull + 1
        guard isFull || place.size >= CompactedSession.largeSize else { return }
        rows += "\(isFull ? "=" : ":")\(place.size)".utf8
        bytes += place.size
    }

    /// Keeps the last rows: at most `limit`, and no more than fit in `byteLimit`, except that rows which the last
    /// version needs may exceed `byteLimit`.
    ///
    /// - Returns: the rows that are not kept.
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

    /// The versions from `newest` down, newest first.
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
    /// Small enough that the sum of all sizes in a row of the table does not overflow.
    private static let (largestSeq, largestSize) = (1 << 53, 1 << 32)

    /// - Parameter position: where the row begins; moved to the next row.
    /// - Returns: the row, and whether its record is a full record; `nil` if the text is no valid row.
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
