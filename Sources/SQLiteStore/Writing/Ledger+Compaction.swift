internal import SQLite
internal import Sessions

/// What is being compacted: everything that was in the tail of the journal when the round began, ordered by session, so
/// that one page of a table is written for many rows.
struct CompactionRound {
    /// Of a session with much to compact there are several.
    let parts: [(id: SessionID, places: ArraySlice<Place>)]
    /// The journal is compacted up to this row when the round is over.
    let lastSeq: Int
    /// How far it has come, in committed transactions.
    var position = 0
    /// How far it comes when the transaction is committed.
    var reached = 0
}

/// What is written for a row: 1 for a small one, and 16 for every page that a large one takes.
enum Work {
    /// - Parameter size: of its text, in bytes.
    static func onRow(of size: Int) -> Int { 1 + size / 512 }
}

extension Collection<Place> {
    var work: Int { reduce(0) { $0 + Work.onRow(of: $1.size) } }
}

extension [Place] {
    /// Cut into pieces of about that much work.
    fileprivate func parts(of limit: Int) -> [ArraySlice<Place>] {
        var parts: [ArraySlice<Place>] = []
        var (start, work) = (0, 0)
        for index in indices {
            work += Work.onRow(of: self[index].size)
            guard work >= limit || index == endIndex - 1 else { continue }
            parts.append(self[start...index])
            (start, work) = (index + 1, 0)
        }
        return parts
    }
}

// A round is done in slices, each in some transaction. A crash between two begins the round anew, which is why every
// step of it can be done twice.

extension Ledger {
    /// When to begin without waiting for a quiet moment: rows, and bytes of their texts.
    static let (compactionRows, compactionBytes) = (65_536, 16 << 20)

    func beginRound(_ tail: SharedTail) {
        guard round == nil else { return }
        let (places, lastSeq) = tail.withLock { tail in
            if tail.recentCount > 0 { tail.beginCompaction() }
            return (tail.compacting, tail.lastSeq)
        }
        let ordered = places.filter { !stuck.contains($0.key) }.sorted { $0.key.text < $1.key.text }
        guard !ordered.isEmpty else { return }
        let parts = ordered.flatMap { id, places in places.parts(of: Ledger.partWork).map { (id, $0) } }
        round = CompactionRound(parts: parts, lastSeq: lastSeq)
    }

    /// Of one session in one go.
    private static let partWork = 256

    /// Whether there is something to compact or to delete.
    var hasChores: Bool { isCompacting && (round != nil || (hasDropped && isDeleting)) }

    /// The same as `compact`, but what goes wrong is undone alone. To be called in a transaction, at its end.
    func compactIfPossible(_ count: Int) throws(SQLiteError) {
        try statements.setSavepoint.run()
        do throws(SQLiteError) {
            try compact(count)
        } catch {
            note(error)
            forgetSlice()
            guard database.isInTransaction else { return }
            try statements.rollbackToSavepoint.run()
        }
        try statements.releaseSavepoint.run()
    }

    /// Goes on with the round, or, behind it, deletes rows that it has dropped: when all sessions have been compacted, these
    /// lie side by side.
    ///
    /// - Parameter limit: about how much to do, see `Work`.
    private func compact(_ limit: Int) throws(SQLiteError) {
        guard round != nil else {
            // Where this fails, it must not keep sessions from being compacted.
            isDeleting = false
            hasDropped = try statements.deleteDropped(upTo: compacted, limit: limit)
            isDeleting = true
            return
        }
        var work = 0
        while work < limit, let round, round.reached < round.parts.count {
            let (id, places) = round.parts[round.reached]
            if !stuck.contains(id) { work += try compact(places, of: id) }
            self.round?.reached += 1
        }
        if let round, round.reached == round.parts.count {
            try statements.set(StoredValue.compacted, lastCompacted(in: round))
        }
    }

    /// What is stuck is read again from the journal when the store is opened, and all that came after it.
    private func lastCompacted(in round: CompactionRound) -> Int {
        guard !stuck.isEmpty else { return round.lastSeq }
        let firstStuck = round.parts.lazy.filter { self.stuck.contains($0.id) }.compactMap(\.places.first?.seq).min()
        return min(firstStuck.map { $0 - 1 } ?? compacted, round.lastSeq)
    }

    /// What a damaged page keeps from being compacted is left in the tail; the rest goes on.
    private func note(_ error: SQLiteError) {
        guard error.isDamage else {
            isDeleting = true
            return report(.chore("compacting the journal failed: \(error)"))
        }
        guard isDeleting, let round, round.reached < round.parts.count else {
            return report(.derived("nothing can be deleted from the journal: \(error)"))
        }
        stuck.insert(round.parts[round.reached].id)
        report(.derived("the tables cannot be written: \(error)"))
    }

    /// - Returns: how much work it was.
    private func compact(_ places: ArraySlice<Place>, of id: SessionID) throws(SQLiteError) -> Int {
        var session: CompactedSession?
        do throws(ReadError) { session = try sessionLookup.session(id) } catch {
            throw .damage(error.reason)
        }
        var work = places.work
        var hasAnswers = false
        for place in places {
            switch place.kind {
            case .answer:
                guard let key = place.key else { continue }
                try statements.addAnswer(key, at: place.seq, size: place.size, of: id)
                hasAnswers = true
            case .end:
                let rows = session?.allSizedRows.filter { $0.seq != place.seq } ?? []
                try drop(rows)
                work += try rows.count + dropAnswers(of: id, keeping: 0).work
                session = made(from: place, of: id, after: session)
                session?.answers = 0
            case .first, .next:
                guard let last = session?.version else {
                    session = made(from: place, of: id, after: nil)
                    continue
                }
                // A round that is done twice finds what it has compacted before.
                if place.version == last + 1 {
                    session?.append(place)
                } else if place.version > last {
                    // Some are lost: what is older is of no use to what follows.
                    try drop(session?.allSizedRows ?? [])
                    session = made(from: place, of: id, after: session)
                }
            }
        }
        guard var session else { return work }
        if hasAnswers {
            let answers = try dropAnswers(of: id, keeping: retention.answers)
            session.answers = answers.kept
            work += answers.work
        }
        let dropped = session.keep(retention.versionsLeanedOn, bytes: retention.versionBytes)
        try drop(dropped)
        try statements.set(session)
        return work + dropped.count
    }

    private func made(from place: Place, of id: SessionID, after earlier: CompactedSession?) -> CompactedSession {
        var session = CompactedSession(
            place, of: id, token: place.label?.token ?? earlier?.token ?? "",
            origin: place.label?.origin ?? earlier?.origin)
        session.answers = earlier?.answers ?? 0
        return session
    }

    private func drop(_ rows: [SizedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        hasDropped = true
        try statements.drop(rows)
    }

    /// Drops all answers but the last ones, and of those that are kept the bodies that are too much.
    private func dropAnswers(
        of id: SessionID, keeping count: Int
    ) throws(SQLiteError) -> (kept: Int, work: Int) {
        var (bytes, kept, work) = (0, 0, 0)
        for (position, answer) in try statements.answers(of: id).enumerated() {
            bytes += answer.size
            if position >= count {
                try drop([answer])
                try statements.deleteAnswer(at: answer.seq, of: id)
                work += 1
                continue
            }
            kept += 1
            if answer.size > 0, position > 0, bytes > retention.answerBytes {
                try empty(answer.seq, of: id)
                work += Work.onRow(of: answer.size)
            }
        }
        return (kept, work)
    }

    /// Keeps of an answer that there was one.
    private func empty(_ seq: Int, of id: SessionID) throws(SQLiteError) {
        // Where it is damaged, whoever asks for it is told.
        guard let row = try? rowLookup.row(seq) else { return }
        try statements.emptyAnswer(at: seq, of: id, keeping: row.withoutBody)
    }

    /// After the transaction's commit.
    func settleCompaction(_ tail: SharedTail) {
        guard let round else { return }
        if round.reached == round.parts.count {
            compacted = lastCompacted(in: round)
            hasDropped = true
            self.round = nil
            tail.withLock { $0.endCompaction(but: stuck) }
        } else {
            self.round?.position = round.reached
        }
    }

    /// After a slice was undone. What it may have deleted is there again.
    func forgetSlice() {
        hasDropped = true
        if let round { self.round?.reached = round.position }
    }

    /// A slice in a transaction of its own.
    func doChores(of count: Int, _ tail: SharedTail) throws(CommitFailure) {
        try transaction(tail, compacting: count) {}
    }

    /// Gives free pages back to the system where there are many, a few at a time.
    ///
    /// - Returns: whether there are more.
    func giveBackPages(_ tail: SharedTail) throws(CommitFailure) -> Bool {
        do throws(SQLiteError) {
            let (free, used) = (try freePages, try usedPages)
            guard free > max(Ledger.sparePages, used / 4) else { return false }
        } catch {
            throw .refused(StoreError(error))
        }
        try transaction(tail) { () throws(SQLiteError) in try statements.giveBackPages() }
        return true
    }

    /// Free pages that are kept for the next commits: 16 MiB.
    private static let sparePages = 2048
}
