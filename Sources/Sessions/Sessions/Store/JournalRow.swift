// What a database keeps of a change: a row for its record, and a row for its answer.
//
//     session  s_4fGk0Zb81qXy2   kind  next   version  8   base  7   kept until  1764590400000
//     text     {"session":"s_4fGk0Zb81qXy2","version":8,"base":7,"time":1764504000000,…}
//     checksum -8103345920417264021
//
// The text is that of an `EncodedRecord` or of a `StoredAnswer`. The other columns repeat what is needed without
// parsing it. SQLite has both kinds of rows in the table `journal`, with the label; PostgreSQL has a table for each,
// and the label in the session's row.

internal import FoundationEssentials
internal import Sodium

/// A row of the journal: a record or an answer.
public struct JournalRow: Sendable {
    public enum Kind: Int, Sendable {
        /// The session's first record in this store.
        case first = 1
        case next
        /// The session has ended.
        case end
        case answer
    }

    /// Values that few rows have; in an object of its own, so that the other rows are small.
    public final class Label: Sendable {
        /// Of a full record: the SHA-256 of each of the session's tokens, in hexadecimal digits, separated by spaces.
        public let tokens: String?
        /// Of a full record: who is signed in. Not of an end.
        public let user: String?
        /// Of the first record of a fork: the session that it was forked from.
        public let origin: String?
        /// Of an answer: the SHA-256 of the request's `Idempotency-Key`.
        public let key: String?
        /// Of a record: when the next timer is due, in milliseconds since 1970; see `WakeEntry`.
        public let timer: Int?
        /// Of a record: whether effects are under way.
        public let hasEffects: Bool

        public init(
            tokens: String? = nil, user: String? = nil, origin: String? = nil, key: String? = nil, timer: Int? = nil,
            hasEffects: Bool = false
        ) {
            self.tokens = tokens
            self.user = user
            self.origin = origin
            self.key = key
            self.timer = timer
            self.hasEffects = hasEffects
        }
    }

    public let session: String
    public let kind: Kind
    /// The version of the state that is in the record, or that the answer shows.
    public let version: Int
    /// Of a record: when the session can be forgotten, in milliseconds since 1970; 0 for an answer.
    public let keptUntil: Int
    /// Of a delta record: its base version.
    public let base: Int?
    public let label: Label?
    public let text: [UInt8]
    /// Over what every database has of the row: of a record the session, the version, `keptUntil`, the base and the
    /// text; of an answer the session, the key and the text.
    public let checksum: Int

    public init(
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
        if let key = label?.key {
            sum.add(key)
        } else {
            sum.add(version)
            sum.add(keptUntil)
            sum.add(base ?? 0)
        }
        sum.add(digestOf: text)
        checksum = sum.value
    }

    /// - Parameter isFirst: whether the store has nothing of the session yet.
    public init(_ record: EncodedRecord, isFirst: Bool) {
        var label: Label?
        let (isFull, pending) = (record.baseVersion == nil, record.pending)
        if isFull || !pending.isEmpty {
            label = Label(
                tokens: isFull ? record.identity.tokens.map(\.digest.hex).joined(separator: " ") : nil,
                user: isFull && !record.isEnd ? record.identity.user : nil,
                origin: isFull && isFirst ? record.identity.origin?.text : nil,
                timer: pending.nextTimer.map { $0.milliseconds }, hasEffects: pending.hasEffects)
        }
        self.init(
            session: record.id.text, kind: record.isEnd ? .end : isFirst ? .first : .next, version: record.version,
            keptUntil: Int(exactly: (record.keptUntil.timeIntervalSince1970 * 1000).rounded()) ?? .max,
            base: record.baseVersion, label: label, text: record.text)
    }

    public init(_ answer: StoredAnswer) {
        self.init(session: answer.session.text, key: answer.key, version: answer.version, text: answer.encoded)
    }

    /// An answer.
    public init(session: String, key: String, version: Int = 0, text: [UInt8]) {
        self.init(
            session: session, kind: .answer, version: version, keptUntil: 0, label: Label(key: key), text: text)
    }
}

/// A change, ready to be written. Made on the caller's thread, to keep this work off the writers.
public struct EncodedChange: Sendable {
    public let id: SessionID
    public let expected: SessionStamp
    public let record: JournalRow?
    public let answer: JournalRow?
    public let takesAway: Bool

    public init(_ change: SessionChange) {
        id = change.id
        expected = change.expected
        record = change.record.map { JournalRow($0, isFirst: change.expected.version == 0) }
        answer = change.answer.map(JournalRow.init)
        takesAway = change.takesAway
    }

    /// Whether the session ends; then no earlier version counts.
    public var isEnd: Bool { record?.kind == .end }
}

/// A row's checksum, over every column that gives the row meaning. The length of each text is included, so that no two
/// rows are the same sequence of numbers. It detects damage, not tampering.
public struct RowChecksum: Sendable {
    private var sum: UInt64 = 0x243F_6A88_85A3_08D3

    public init() {}

    public mutating func add(_ number: Int) {
        sum = RowChecksum.mixed(sum, UInt64(bitPattern: Int64(number)))
    }

    public mutating func add(_ text: String?) {
        guard let text else { return add(-1) }
        let bytes = text.utf8Span.span
        add(bytes.count)
        var (word, shift): (UInt64, UInt64) = (0, 0)
        for index in bytes.indices {
            word |= UInt64(bytes[index]) << shift
            shift += 8
            guard shift == 64 else { continue }
            sum = RowChecksum.mixed(sum, word)
            (word, shift) = (0, 0)
        }
        if shift > 0 { sum = RowChecksum.mixed(sum, word) }
    }

    /// Adds a long text as its SipHash.
    public mutating func add(digestOf text: [UInt8]) {
        add(Int(bitPattern: UInt(Checksum.of(text))))
    }

    public var value: Int { Int(bitPattern: UInt(sum)) }

    /// Adds a word to a sum. A bijection for each word: data that differs in one word has another sum.
    private static func mixed(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let both = sum ^ word
        return (both << 29 | both >> 35) &* 0x9E37_79B9_7F4A_7C15
    }
}
