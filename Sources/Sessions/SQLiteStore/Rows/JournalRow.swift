internal import SQLite
internal import Sessions

// A row of the journal in the file, see `Schema`.
extension JournalRow {
    static let columns = """
        session, kind, version, kept_until, base, tokens, origin, key, record, checksum, user, timer, effects
        """
    static let columnCount = 13

    /// Reads a row that has these columns.
    ///
    /// - Returns: `nil` if the row is not what was written.
    init?(_ row: borrowing SQLiteRow, seq: Int) {
        guard let session = row.text(0), let kind = row.text(1).flatMap(Kind.init), let version = row.integer(2),
            let keptUntil = row.integer(3), let text = row.utf8(8), let checksum = row.integer(9)
        else { return nil }
        let (tokens, user, origin, key) = (row.text(5), row.text(10), row.text(6), row.text(7))
        let (timer, hasEffects) = (row.integer(11), row.integer(12) != nil)
        let isPlain = tokens == nil && user == nil && origin == nil && key == nil && timer == nil && !hasEffects
        self.init(
            session: session, kind: kind, version: version, keptUntil: keptUntil, base: row.integer(4),
            label: isPlain
                ? nil
                : Label(tokens: tokens, user: user, origin: origin, key: key, timer: timer, hasEffects: hasEffects),
            text: text)
        guard self.checksum(at: seq) == checksum else { return nil }
    }

    /// The checksum of all columns of the row with this number. It detects a row in the wrong place.
    func checksum(at seq: Int) -> Int {
        var sum = RowChecksum()
        sum.add(checksum)
        sum.add(seq)
        sum.add(kind.rawValue)
        if let label {
            sum.add(label.tokens)
            sum.add(label.user)
            sum.add(label.origin)
            sum.add(label.key)
            sum.add(label.timer ?? -1)
            sum.add(label.hasEffects ? 1 : 0)
        }
        if kind == .answer {
            sum.add(version)
            sum.add(keptUntil)
            sum.add(base ?? 0)
        }
        return sum.value
    }

    func place(at seq: Int) -> Place {
        Place(seq: seq, kind: kind, version: version, size: text.count, keptUntil: keptUntil, label: label)
    }

    /// See `Work`.
    var work: Int { Work.onRow(of: text.count) }

    /// What stays of an answer when its body is removed.
    var withoutBody: JournalRow {
        JournalRow(
            session: session, kind: kind, version: version, keptUntil: keptUntil, label: label,
            text: StoredAnswer.textWithoutBody(text))
    }
}

extension JournalRow.Kind {
    /// The name in the journal.
    var name: StaticString {
        switch self {
        case .first: "first"
        case .next: "next"
        case .end: "end"
        case .answer: "answer"
        }
    }

    init?(name: String) {
        switch name {
        case "first": self = .first
        case "next": self = .next
        case "end": self = .end
        case "answer": self = .answer
        default: return nil
        }
    }
}

extension EncodedChange {
    var work: Int { (record?.work ?? 0) + (answer?.work ?? 0) }
}
