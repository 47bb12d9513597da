internal import FoundationEssentials
internal import Sessions
internal import Sodium

/// Where a record is, and what it is to its session.
struct Place: Sendable {
    enum Kind: Sendable {
        /// The session's first record here. `due` is when to look whether it can be forgotten, in milliseconds since
        /// 1970.
        case first(due: Int)
        case next
        /// The session has ended.
        case end(due: Int)
        case answer(key: String)
    }

    let seq: Int
    let kind: Kind
    /// Of the state in the record, or that the answer shows.
    let version: Int

    var isAnswer: Bool { key != nil }

    var key: String? {
        if case .answer(let key) = kind { key } else { nil }
    }

    var isFirst: Bool {
        if case .first = kind { true } else { false }
    }
}

extension Place.Kind {
    /// As the journal has it.
    var name: StaticString {
        switch self {
        case .first: "first"
        case .next: "next"
        case .end: "end"
        case .answer: "answer"
        }
    }

    init?(name: String, key: String?, due: Int?) {
        switch (name, key, due) {
        case ("first", _, let due?): self = .first(due: due)
        case ("next", _, _): self = .next
        case ("end", _, let due?): self = .end(due: due)
        case ("answer", let key?, _): self = .answer(key: key)
        default: return nil
        }
    }
}

/// A change, ready to be written. It is made by who commits, for the one writer has enough to do.
struct EncodedChange: Sendable {
    struct Row: Sendable {
        let kind: Place.Kind
        let version: Int
        let text: [UInt8]
        let checksum: Int

        init(_ kind: Place.Kind, version: Int, text: [UInt8]) {
            self.kind = kind
            self.version = version
            self.text = text
            self.checksum = Row.checksum(of: text)
        }

        static func checksum(of text: [UInt8]) -> Int {
            Int(bitPattern: UInt(Checksum.of(text)))
        }
    }

    let id: SessionID
    let expectedVersion: Int
    let record: Row?
    let answer: Row?

    init(_ change: SessionChange) {
        id = change.id
        expectedVersion = change.expectedVersion
        record = change.record.map { record in
            let due = Int(exactly: (record.keptUntil.timeIntervalSince1970 * 1000).rounded()) ?? .max
            let kind: Place.Kind =
                record.isEnd ? .end(due: due) : change.expectedVersion == 0 ? .first(due: due) : .next
            return Row(kind, version: record.version, text: record.text)
        }
        answer = change.answer.map { Row(.answer(key: $0.key), version: $0.version, text: $0.text) }
    }
}
