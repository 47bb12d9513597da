internal import FoundationEssentials
internal import SQLite
internal import Sessions
internal import Sodium

/// A row of the journal, without its number. Created in `SQLiteStore.commit` on the caller's thread, to keep this work
/// off the one writer.
struct JournalRow: Sendable {
    enum Kind: Sendable {
        /// The session's first record in this store.
        case first
        case next
        /// The session has ended.
        case end
        case answer
    }

    /// Values that few rows have.
    struct Label: Sendable {
        /// Of a full record: the SHA-256 of each of the session's tokens, in hexadecimal digits, separated by spaces.
        var tokens: String?
        /// Of a full record: who is signed in. Not of an end.
        var user: String?
        /// Of the first record of a fork: the session that it was forked from.
        var origin: String?
        /// Of an answer: the SHA-256 of the request's `Idempotency-Key`.
        var key: String?
    }

    let session: String
    let kind: Kind
    /// The version of the state that is in the record, or that the answer shows.
    let version: Int
    /// Of a record: when the session can be forgotten, in milliseconds since 1970; 0 for an answer.
    let keptUntil: Int
    /// Of a delta record: its base version.
    let base: Int?
    let label: Label?
    let text: [UInt8]
    /// The checksum of all the above.
    private let sum: Int

    init(
        session: String, kind: Kind, version: Int, keptUntil: Int, base: Int? = nil, label: Label?, text: [UInt8]
    ) {
        self.session = session
        self.kind = kind
        self.version = version
        self.keptUntil = keptUntil
        self.base = base
        self.label = label
        self.text = text
        var sum = RowChecksum()
        sum.add(session)
        sum.add(kind.number)
        sum.add(version)
        sum.add(keptUntil)
        sum.add(base ?? 0)
        if let label {
            sum.add(label.tokens)
            sum.add(label.user)
            sum.add(label.origin)
            sum.add(label.key)
        }
        sum.add(digestOf: text)
        self.sum = sum.value
    }

    /// The checksum of the row with this number. It detects a row in the wrong place.
    func checksum(at seq: Int) -> Int {
        sum &+ seq &* 0x1E37_79B9_7F4A_7C15
    }

    func place(at seq: Int) -> Place {
        Place(
            seq: seq, kind: kind, version: version, size: text.count, keptUntil: keptUntil,
            label: label.map(Place.Label.init))
    }
}

extension JournalRow {
    init(_ record: EncodedRecord, isFirst: Bool) {
        let base = record.baseVersion
        let origin = isFirst ? record.identity.origin?.text : nil
        self.init(
            session: record.id.text, kind: record.isEnd ? .end : isFirst ? .first : .next, version: record.version,
            keptUntil: Int(exactly: (record.keptUntil.timeIntervalSince1970 * 1000).rounded()) ?? .max, base: base,
            label: base == nil
                ? Label(
                    tokens: record.identity.tokens.map(\.digest.hex).joined(separator: " "),
                    user: record.isEnd ? nil : record.identity.user, origin: origin) : nil, text: record.text)
    }

    init(_ answer: StoredAnswer) {
        self.init(
            session: answer.session.text, kind: .answer, version: answer.version, keptUntil: 0,
            label: Label(key: answer.key), text: answer.encoded)
    }

    static let columns = "session, kind, version, kept_until, base, tokens, origin, key, record, checksum, user"

    /// Reads a row that has these columns.
    ///
    /// - Returns: `nil` if the row is not what was written.
    init?(_ row: borrowing SQLiteRow, seq: Int) {
        guard let session = row.text(0), let kind = row.text(1).flatMap(Kind.init), let version = row.integer(2),
            let keptUntil = row.integer(3), let text = row.utf8(8), let checksum = row.integer(9)
        else { return nil }
        let label = Label(tokens: row.text(5), user: row.text(10), origin: row.text(6), key: row.text(7))
        self.init(
            session: session, kind: kind, version: version, keptUntil: keptUntil, base: row.integer(4),
            label: label.isEmpty ? nil : label, text: text)
        guard self.checksum(at: seq) == checksum else { return nil }
    }
}

extension JournalRow {
    /// See `Work`.
    var work: Int { Work.onRow(of: text.count) }

    /// What stays of an answer when its body is removed.
    var withoutBody: JournalRow {
        JournalRow(
            session: session, kind: kind, version: version, keptUntil: keptUntil, label: label,
            text: StoredAnswer.textWithoutBody(text))
    }
}

extension JournalRow.Label {
    var isEmpty: Bool { tokens == nil && user == nil && origin == nil && key == nil }
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

    fileprivate var number: Int {
        switch self {
        case .first: 1
        case .next: 2
        case .end: 3
        case .answer: 4
        }
    }
}

/// A change, ready to be written.
struct EncodedChange: Sendable {
    let id: SessionID
    let expectedVersion: Int
    let record: JournalRow?
    let answer: JournalRow?

    init(_ change: SessionChange) {
        id = change.id
        expectedVersion = change.expected.version
        record = change.record.map { JournalRow($0, isFirst: change.expected.version == 0) }
        answer = change.answer.map(JournalRow.init)
    }

    var work: Int { (record?.work ?? 0) + (answer?.work ?? 0) }

    /// Whether it only ends the session, which makes room and needs none.
    var isEnd: Bool { record?.kind == .end && answer == nil }
}
