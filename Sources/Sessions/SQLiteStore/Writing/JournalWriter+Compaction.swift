internal import Dispatch
internal import SQLite
internal import Sessions

/// What is being compacted: everything that was in the tail of the journal when the round began, ordered by session, so
/// that one page of a table is written for many rows.
struct CompactionRound {
    let number: Int
    /// A session with much to compact has several parts.
    let parts: [(id: SessionID, places: ArraySlice<Place>)]
    /// The journal is compacted up to this row when the round is over.
    let lastSeq: Int
    /// How many parts are done, in committed transactions.
    var position = 0
    /// How many parts are done once the transaction is committed.
    var reached = 0

    /// What is to be compacted: where the rows of the sessions are, and the last row of all.
    typealias Content = (number: Int, places: [SessionID: [Place]], lastSeq: Int)

    init(of content: Content) {
        number = content.number
        parts = content.places.sorted { $0.key.text < $1.key.text }
            .flatMap { id, places in places.parts(of: CompactionRound.partWork).map { (id, $0) } }
        lastSeq = content.lastSeq
    }

    /// About how much work of one session is done at once.
    private static let partWork = 256
}

/// What writing a row costs: 1 for a small row, and 16 for every page that a large one fills.
enum Work {
    /// - Parameter size: of the row's text, in bytes.
    static func onRow(of size: Int) -> Int { 1 + size / 512 }
}

extension Collection<Place> {
    var work: Int { reduce(0) { $0 + Work.onRow(of: $1.size) } }
}

extension [Place] {
    /// Cuts the places into parts of about `limit` work each.
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

// A round is done in slices, each in a transaction. After a crash between two slices the round starts again, so
// every step of it can be done twice.

extension JournalWriter {
    /// The size of the tail at which a round begins without waiting for a quiet moment: rows, and bytes of their texts.
    static let (compactionRows, compactionBytes) = (65_536, 16 << 20)

    /// - Returns: what the next round, which has to follow by `begin`, is to compact; `nil` if one is under way, or about to
    ///   begin, or there is nothing.
    func contentOfRound() -> CompactionRound.Content? {
        guard round == nil, !isPreparing else { return nil }
        lastRound += 1
        let number = lastRound
        var content = tail.withLock { tail in
            if tail.recentCount > 0 { tail.beginCompaction() }
            return (number: number, places: tail.compacting.places, lastSeq: tail.lastSeq)
        }
        if !stuck.isEmpty { content.places = content.places.filter { !stuck.contains($0.key) } }
        isPreparing = !content.places.isEmpty
        return isPreparing ? content : nil
    }

    /// Does nothing if another round was asked for meanwhile: what it compacts includes this.
    func begin(_ round: CompactionRound) {
        guard isPreparing, round.number == lastRound else { return }
        isPreparing = false
        self.round = round
    }

    /// Whether there is something to compact or to delete.
    var hasChores: Bool { canCompact && (round != nil || (hasDropped && canDelete)) }

    /// Like `compact`, but an error undoes this work alone. Call at the end of a transaction.
    func compactIfPossible(_ count: Int) throws(SQLiteError) {
        try statements.setSavepoint.run()
        do throws(SQLiteError) {
            try compact(count)
        } catch {
            recordFailure(error)
            forgetSlice()
            guard database.isInTransaction else { return }
            try statements.rollbackToSavepoint.run()
        }
        try statements.releaseSavepoint.run()
    }

    /// Continues the round, or, after it, deletes the rows that it has dropped: once all sessions are compacted, these
    /// lie side by side.
    ///
    /// - Parameter limit: about how much work to do, see `Work`.
    private func compact(_ limit: Int) throws(SQLiteError) {
        guard round != nil else {
            // If this fails, it must not keep sessions from being compacted.
            canDelete = false
            hasDropped = try statements.deleteDropped(upTo: compacted, limit: limit)
            canDelete = true
            return
        }
        var work = 0
        while work < limit, let round, round.reached < round.parts.count {
            let (id, places) = round.parts[round.reached]
            if !stuck.contains(id) { work += try compact(places, of: id) }
            self.round?.reached += 1
        }
        if let round, round.reached == round.parts.count {
            try statements.set(.compacted, lastCompacted(in: round))
        }
    }

    /// The row up to which the journal is compacted. A stuck session's first row, and all rows after it, are read
    /// again from the journal when the store is opened.
    private func lastCompacted(in round: CompactionRound) -> Int {
        guard !stuck.isEmpty else { return round.lastSeq }
        let firstStuck = round.parts.lazy.filter { self.stuck.contains($0.id) }.compactMap(\.places.first?.seq).min()
        return min(firstStuck.map { $0 - 1 } ?? compacted, round.lastSeq)
    }

    /// Reports why a slice has failed. A session that a damaged page keeps from being compacted stays in the tail, and
    /// the round goes on.
    private func recordFailure(_ error: SQLiteError) {
        guard error.isDamage else {
            canDelete = true
            return report(.chore("compacting the journal failed: \(error)"))
        }
        guard canDelete, let round, round.reached < round.parts.count else {
            return report(.derived("nothing can be deleted from the journal: \(error)"))
        }
        stuck.insert(round.parts[round.reached].id)
        report(.derived("the tables cannot be written: \(error)"))
    }

    /// - Returns: how much work it was.
    private func compact(_ places: ArraySlice<Place>, of id: SessionID) throws(SQLiteError) -> Int {
        var session: CompactedSession?
        do throws(ReadError) { session = try lookup.session(id) } catch {
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
                session = newSession(from: place, of: id, after: session)
                session?.answers = 0
            case .first, .next:
                guard let last = session?.version else {
                    session = newSession(from: place, of: id, after: nil)
                    continue
                }
                // A round that is done again meets what it has compacted before.
                if place.version == last + 1 {
                    session?.append(place)
                } else if place.version > last {
                    // Versions in between are lost: older ones are of no use to those that follow.
                    try drop(session?.allSizedRows ?? [])
                    session = newSession(from: place, of: id, after: session)
                }
            }
        }
        guard var session else { return work }
        if hasAnswers {
            let answers = try dropAnswers(of: id, keeping: retention.answers)
            session.answers = answers.kept
            work += answers.work
        }
        let dropped = session.keep(retention.retainedVersions, bytes: retention.versionBytes)
        try drop(dropped)
        try statements.set(session)
        return work + dropped.count
    }

    private func newSession(from place: Place, of id: SessionID, after earlier: CompactedSession?) -> CompactedSession {
        var session = CompactedSession(
            place, of: id, tokens: place.label?.tokens ?? earlier?.tokens ?? "",
            user: place.label?.tokens == nil ? earlier?.user : place.label?.user,
            origin: place.label?.origin ?? earlier?.origin)
        session.answers = earlier?.answers ?? 0
        return session
    }

    private func drop(_ rows: [SizedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        hasDropped = true
        try statements.drop(rows)
    }

    /// Drops all answers but the last `count` to clients and as many to services, and removes the bodies of kept answers
    /// beyond the limit in bytes.
    private func dropAnswers(
        of id: SessionID, keeping count: Int
    ) throws(SQLiteError) -> (kept: Int, work: Int) {
        let answers = try statements.answers(of: id)
        let toClients = try drop(answers.toClients, of: id, keeping: count)
        guard !answers.toServices.isEmpty else { return toClients }
        let toServices = try drop(answers.toServices, of: id, keeping: count)
        return (toClients.kept + toServices.kept, toClients.work + toServices.work)
    }

    private func drop(
        _ answers: [SizedRow], of id: SessionID, keeping count: Int
    ) throws(SQLiteError) -> (kept: Int, work: Int) {
        var (bytes, kept, work) = (0, 0, 0)
        for (position, answer) in answers.enumerated() {
            bytes += answer.size
            if position >= count {
                try drop([answer])
                try statements.deleteAnswer(at: answer.seq, of: id)
                work += 1
                continue
            }
            kept += 1
            if answer.size > 0, position > 0, bytes > retention.answerBytes {
                try removeBody(answer.seq, of: id)
                work += Work.onRow(of: answer.size)
            }
        }
        return (kept, work)
    }

    /// Removes an answer's body. What stays shows that there was an answer.
    private func removeBody(_ seq: Int, of id: SessionID) throws(SQLiteError) {
        // If the row is damaged, reading the answer reports it.
        guard let row = try? lookup.row(seq) else { return }
        try statements.emptyAnswer(at: seq, of: id, keeping: row.withoutBody)
    }

    /// Call after the transaction was committed.
    func settleCompaction() {
        guard let round else { return }
        if round.reached == round.parts.count {
            compacted = lastCompacted(in: round)
            hasDropped = true
            self.round = nil
            let ended = tail.withLock { $0.endCompaction(but: stuck) }
            // To free so much takes long, too.
            DispatchQueue.global(qos: .utility).async { withExtendedLifetime(ended) {} }
        } else {
            self.round?.position = round.reached
        }
    }

    /// Call after a slice was undone. What it may have deleted is there again.
    func forgetSlice() {
        hasDropped = true
        if let round { self.round?.reached = round.position }
    }

    /// Does a slice in a transaction of its own.
    func doChores(of count: Int) throws(CommitFailure) {
        try transaction(compacting: count) {}
    }

    /// Gives a few free pages back to the system, if there are many.
    ///
    /// - Parameter keepsSpare: whether free pages are kept for the next commits.
    /// - Returns: whether there may be more to give back.
    func giveBackPages(keepsSpare: Bool) throws(CommitFailure) -> Bool {
        do throws(SQLiteError) {
            let (free, used) = (try freePages, try usedPages)
            guard free > (keepsSpare ? max(JournalWriter.sparePages, used / 4) : 0) else { return false }
        } catch {
            throw .refused(StoreError(error))
        }
        try transaction { () throws(SQLiteError) in try statements.vacuum.run() }
        return true
    }

    /// Free pages that are kept for the next commits: 16 MiB.
    private static let sparePages = 2048
}
