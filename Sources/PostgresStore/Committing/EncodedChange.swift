internal import FoundationEssentials
internal import Sessions
internal import Sodium

/// A change, ready to be sent: made on the caller's thread, to keep this work off the lanes.
struct EncodedChange: Sendable {
    let id: SessionID
    let expected: SessionStamp
    let version: Int
    let record: EncodedRow?
    let answer: EncodedAnswer?
    /// Of a full record: the digests of the session's tokens as the text of an array; who is signed in, empty for
    /// nobody; what it was forked from.
    private(set) var tokens: String?
    private(set) var account: String?
    private(set) var origin: String?
    /// Whether the session ends; then no earlier version counts.
    let isEnd: Bool

    init(_ change: SessionChange) {
        id = change.id
        expected = change.expected
        version = change.record?.version ?? change.expected.version
        record = change.record.map(EncodedRow.init)
        answer = change.answer.map(EncodedAnswer.init)
        isEnd = change.record?.isEnd ?? false
        guard let record = change.record, record.baseVersion == nil else { return }
        let digests = record.identity.tokens.map { "\"\\\\x\($0.digest.hex)\"" }
        tokens = "{\(digests.joined(separator: ","))}"
        account = record.isEnd ? "" : record.identity.user ?? ""
        origin = record.identity.origin?.text
    }

    var isCreation: Bool { expected.commits == 0 }

    /// Nothing can be created without a record.
    var isPossible: Bool { !isCreation || record != nil }

    /// About how many bytes are sent for it.
    var size: Int { 200 + (record?.text.count ?? 0) + (answer?.text.count ?? 0) }

    /// The stamp that it leads to.
    var commits: Int { expected.commits + 1 }
}

/// A record as it is in the table `journal`.
struct EncodedRow: Sendable {
    let base: Int?
    /// Milliseconds since 1970.
    let keptUntil: Int
    let text: [UInt8]
    let checksum: Int

    init(_ record: EncodedRecord) {
        base = record.baseVersion
        keptUntil = Int(exactly: (record.keptUntil.timeIntervalSince1970 * 1000).rounded()) ?? .max
        text = record.text
        checksum = EncodedRow.checksum(
            record.id.text, version: record.version, base: base, keptUntil: keptUntil, text)
    }

    /// Over all that gives the row its meaning.
    static func checksum(_ id: String, version: Int, base: Int?, keptUntil: Int, _ text: [UInt8]) -> Int {
        var sum = RowChecksum()
        sum.add(id)
        sum.add(version)
        sum.add(base ?? 0)
        sum.add(keptUntil)
        sum.add(digestOf: text)
        return sum.value
    }
}

/// An answer as it is in the table `answers`.
struct EncodedAnswer: Sendable {
    let key: String
    let text: [UInt8]
    /// Bytes of its body.
    let size: Int
    let checksum: Int

    init(_ answer: StoredAnswer) {
        key = answer.key
        text = answer.encoded
        size = answer.body?.count ?? 0
        checksum = EncodedAnswer.checksum(answer.session.text, key, text)
    }

    static func checksum(_ id: String, _ key: String, _ text: [UInt8]) -> Int {
        var sum = RowChecksum()
        sum.add(id)
        sum.add(key)
        sum.add(digestOf: text)
        return sum.value
    }
}
