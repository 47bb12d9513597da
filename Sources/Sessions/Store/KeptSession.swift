internal import FoundationEssentials

/// What the store in memory keeps of a session. Only touched under the store's lock.
final class KeptSession: DueHeapElement {
    let id: SessionID
    private(set) var versions: Ring<SessionRecord>
    /// `nil` as long as no request had a key.
    private(set) var answers: Ring<StoredAnswer>?
    private var versionBytes = 0
    private var answerBytes = 0
    /// How many answers have their bodies: the newest ones.
    private var bodies = 0
    /// When to look whether it can be forgotten. It may be used until then, and be kept for longer.
    var due: Date
    var place = 0

    init(_ change: SessionChange, _ first: SessionRecord, _ retention: Retention) {
        id = change.id
        due = first.keptUntil
        versions = Ring(capacity: retention.versions)
        keep(change, retention)
    }

    var hasEnded: Bool { versions.newest?.isEnd ?? false }

    func keep(_ change: SessionChange, _ retention: Retention) {
        if let record = change.record {
            versionBytes += record.size - (versions.append(record)?.size ?? 0)
            while versionBytes > retention.versionBytes, versions.count > 1, let oldest = versions.removeOldest() {
                versionBytes -= oldest.size
            }
        }
        if let answer = change.answer { keep(answer, retention) }
    }

    private func keep(_ answer: StoredAnswer, _ retention: Retention) {
        var answers = answers ?? Ring(capacity: retention.answers)
        // Not two of them, or the elements would be copied.
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

    /// About how many bytes it takes.
    var footprint: Int {
        MemoryEstimate.session + versions.count * MemoryEstimate.version
            + MemoryEstimate.bytesPerSavedByte * versionBytes
            + (answers?.count ?? 0) * MemoryEstimate.answer + answerBytes
    }

    /// How many bytes more it takes at most; 0 for what ends a session.
    static func growth(by change: SessionChange) -> Int {
        if change.record?.isEnd == true { return 0 }
        var growth = change.expectedVersion == 0 ? MemoryEstimate.session : 0
        if let record = change.record {
            growth += MemoryEstimate.version + MemoryEstimate.bytesPerSavedByte * record.size
        }
        if let answer = change.answer { growth += MemoryEstimate.answer + answer.bodySize }
        return growth
    }
}

extension StoredAnswer {
    fileprivate var bodySize: Int { body?.count ?? 0 }
}
