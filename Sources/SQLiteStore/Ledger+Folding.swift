internal import SQLite
internal import Sessions

/// What is being folded: everything that was in the journal when the round began, ordered by session, so that one page
/// of a table is written for many rows.
struct FoldingRound {
    let places: [(id: SessionID, places: [Place])]
    /// The journal is folded up to this row when the round is over.
    let lastSeq: Int
    /// How far it has come, in committed transactions.
    var position = 0
    /// How far it comes when the transaction is committed.
    var reached = 0
}

// A round is done in slices, each in some transaction. A crash between two begins the round anew, which is why every
// step of it can be done twice.

extension Ledger {
    /// When to begin without waiting for a quiet moment: rows.
    static let foldingThreshold = 65_536

    func beginRound(_ unfolded: SharedUnfolded) {
        guard round == nil else { return }
        let (places, lastSeq) = unfolded.withLock { unfolded in
            if unfolded.recentCount > 0 { unfolded.beginFolding() }
            return (unfolded.folding, unfolded.lastSeq)
        }
        guard !places.isEmpty else { return }
        let ordered = places.sorted { $0.key.text < $1.key.text }
        round = FoldingRound(places: ordered.map { ($0.key, $0.value) }, lastSeq: lastSeq)
    }

    /// Whether there is something to fold or to delete.
    var hasChores: Bool { round != nil || hasDropped }

    /// Goes on with the round by about `count` rows, and deletes about as many. To be called in a transaction.
    func foldSlice(of count: Int) throws(SQLiteError) {
        if hasDropped { hasDropped = try statements.deleteDropped(upTo: folded, limit: count) }
        guard var round = self.round else { return }
        var rows = 0
        while rows < count, round.reached < round.places.count {
            let (id, places) = round.places[round.reached]
            try fold(places, of: id)
            rows += places.count
            round.reached += 1
        }
        if round.reached == round.places.count { try statements.set(folded: round.lastSeq) }
        self.round = round
    }

    private func fold(_ places: [Place], of id: SessionID) throws(SQLiteError) {
        var folded = try statements.session(id)
        var hasAnswers = false
        for place in places {
            switch place.kind {
            case .first(let due):
                folded = FoldedSession(place, due: due)
            case .end(let due):
                try drop(folded?.allRows ?? [])
                try dropAnswers(of: id, keeping: 0)
                folded = FoldedSession(place, due: due)
            case .next:
                // A round that is done twice finds what it has folded before.
                if let last = folded?.version, last < place.version { folded?.append(place) }
            case .answer(let key):
                try statements.addAnswer(key, at: place.seq, of: id)
                hasAnswers = true
            }
        }
        if hasAnswers { try dropAnswers(of: id, keeping: retention.answers) }
        guard var folded else { return }
        try drop(folded.keep(retention.versionsLeanedOn))
        try statements.set(folded, of: id)
    }

    private func drop(_ rows: some Collection<Int>) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        hasDropped = true
        try statements.drop(rows)
    }

    private func dropAnswers(of id: SessionID, keeping count: Int) throws(SQLiteError) {
        hasDropped = true
        try statements.dropAnswers(of: id, keeping: count)
    }

    /// After the transaction's commit.
    func settleFolding(_ unfolded: SharedUnfolded) {
        guard let round else { return }
        if round.reached == round.places.count {
            folded = round.lastSeq
            hasDropped = true
            self.round = nil
            unfolded.withLock { $0.endFolding() }
        } else {
            self.round?.position = round.reached
        }
    }

    /// After the transaction was rolled back. What it may have deleted is there again.
    func forgetSlice() {
        hasDropped = true
        if let round { self.round?.reached = round.position }
    }

    /// A slice in a transaction of its own.
    func doChores(of count: Int, _ unfolded: SharedUnfolded) throws(CommitFailure) {
        try transaction(unfolded) { () throws(SQLiteError) in try foldSlice(of: count) }
    }

    /// Looks at up to `limit` sessions whose time may be over, and forgets those whose is.
    ///
    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: how many it has looked at, and those that it has forgotten.
    func sweep(
        at now: Int, limit: Int, _ unfolded: SharedUnfolded
    ) throws(CommitFailure) -> (examined: Int, forgotten: [SessionID]) {
        var examined = 0
        var forgotten: [SessionID] = []
        try transaction(unfolded) { () throws(SQLiteError) in
            let due = try statements.dueSessions(at: now, limit: limit)
            examined = due.count
            for id in due {
                // What is not folded yet was used not long ago.
                let isRecent = unfolded.withLock { $0.version(of: id) != nil }
                let keptUntil = isRecent ? now + Ledger.sweepDelay : try statements.keptUntil(id)
                guard keptUntil <= now else {
                    try statements.set(due: keptUntil, of: id)
                    continue
                }
                try statements.forget(id)
                hasDropped = true
                forgotten.append(id)
            }
        }
        return (examined, forgotten)
    }

    /// Milliseconds.
    private static let sweepDelay = 60_000
}
