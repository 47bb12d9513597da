internal import FoundationEssentials

/// What `MemoryStore` keeps of a session. Accessed only under the store's lock.
final class KeptSession: DueHeapElement {
    let id: SessionID
    private(set) var versions: Ring<EncodedRecord>
    /// `nil` while no request has had an `Idempotency-Key`.
    private(set) var answers: Ring<StoredAnswer>?
    /// See `SessionStamp`.
    private(set) var commits: Int
    private var versionBytes = 0
    private var answerBytes = 0
    /// How many answers, the newest ones, still have their bodies.
    private var bodies = 0
    /// When to check whether the session can be forgotten. If it is used until then, it is kept longer.
    var due: Date
    var place = 0
    /// The user that the store lists it under.
    var user: String?

    init(_ change: SessionChange, _ first: EncodedRecord, _ retention: Retention, commits: Int) {
        self.commits = commits
        id = change.id
        due = first.keptUntil
        versions = Ring(capacity: retention.retainedVersions)
        keep(change, retention)
    }

    var hasEnded: Bool { versions.newest?.isEnd ?? false }

    func keep(_ change: SessionChange, _ retention: Retention) {
        commits += 1
        if let record = change.record {
            versionBytes += record.text.count - (versions.append(record)?.text.count ?? 0)
            let needed = 1 + record.version - (record.baseVersion ?? record.version)
            while versionBytes > retention.versionBytes, versions.count > needed, let oldest = versions.removeOldest() {
                versionBytes -= oldest.text.count
            }
        }
        if let answer = change.answer { keep(answer, retention) }
    }

    private func keep(_ answer: StoredAnswer, _ retention: Retention) {
        var answers = answers ?? Ring(capacity: retention.answers)
        // With a second reference, changes would copy the elements.
        self.answers = nil
        answerBytes += answer.bodySize - (answers.append(answer)?.bodySize ?? 0)
        bodies = min(bodies + 1, answers.count)
        while answerBytes > retention.answerBytes, bodies > 1 {
            bodies -= 1
            answerBytes -= answers[bodies].bodySize
            answers[bodies] = answers[bodies].withoutBody
        }
        self.answers = answers
    }

    /// About how many bytes the session takes in memory.
    var footprint: Int {
        MemoryEstimate.session + versions.count * MemoryEstimate.version + versionBytes
            + (answers?.count ?? 0) * MemoryEstimate.answer + answerBytes
    }

    /// How many bytes a change adds at most; 0 if it ends the session.
    static func growth(by change: SessionChange) -> Int {
        if change.record?.isEnd == true { return 0 }
        var growth = change.expected.version == 0 ? MemoryEstimate.session : 0
        if let record = change.record { growth += MemoryEstimate.version + record.text.count }
        if let answer = change.answer { growth += MemoryEstimate.answer + answer.bodySize }
        return growth
    }
}

extension StoredAnswer {
    fileprivate var bodySize: Int { body?.count ?? 0 }
}

extension Ring<EncodedRecord> {
    /// The record of a version; `nil` if it is not kept.
    func record(_ version: Int) -> EncodedRecord? {
        guard let newest, (0..<count).contains(newest.version - version) else { return nil }
        return self[newest.version - version]
    }
}
