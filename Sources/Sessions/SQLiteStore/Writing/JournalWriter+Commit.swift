internal import SQLite
internal import Sessions

/// Why a batch was not committed.
enum CommitFailure: Error {
    /// Nothing is changed.
    case refused(StoreError)
    /// Nothing is changed, because data of these sessions is damaged; the reasons.
    case damaged([SessionID: String])
    /// Nothing is changed, and nothing can be: data that every commit needs is damaged.
    case unwritable(String)
    /// It is unknown what is on the disk.
    case flushFailed(String)
}

extension JournalWriter {
    /// Commits, in one transaction, all changes that were made from the current version of their session.
    ///
    /// - Returns: the conflicts, by the positions of the changes.
    func commit(_ changes: [EncodedChange]) throws(CommitFailure) -> [Int: SessionID] {
        let current = try versions(of: changes)
        guard try hasRoom || changes.allSatisfy(\.takesAway) else { throw .refused(.full) }
        if isMarkedClosed { try mark(isClosed: false) }
        var conflicts: [Int: SessionID] = [:]
        var places: [(SessionID, Place)] = []
        places.reserveCapacity(changes.count)
        try transaction(compacting: sliceWork(beside: changes), isAppending: true) { () throws(SQLiteError) in
            (conflicts, places) = ([:], [])
            var seq = lastSeq
            // The versions of sessions that this transaction has changed.
            var versions = [SessionID: Int](minimumCapacity: changes.count > 1 ? changes.count : 0)
            for (index, change) in changes.enumerated() {
                let id = change.id
                let current = versions[id] ?? current[index]
                guard current == change.expected.version, current > 0 || change.record != nil else {
                    conflicts[index] = id
                    continue
                }
                for row in [change.record, change.answer] {
                    guard let row else { continue }
                    seq += 1
                    try statements.append(row, at: seq)
                    places.append((id, row.place(at: seq)))
                }
                if changes.count > 1 { versions[id] = change.record?.version ?? current }
            }
        }
        lastSeq += places.count
        tail.withLock { tail in for (id, place) in places { tail.append(place, of: id) } }
        return conflicts
    }

    /// How much compaction to do in the transaction of these changes: three times the work of the changes, but rarely
    /// and much at once, because a page that a slice changes several times is written only once.
    private func sliceWork(beside changes: [EncodedChange]) -> Int {
        let work = changes.reduce(0) { $0 + $1.work }
        owedWork += max(3 * work, 64)
        guard owedWork >= JournalWriter.leastSliceWork else { return 0 }
        defer { owedWork = 0 }
        return owedWork
    }

    private static let leastSliceWork = 512

    /// The last committed version of each change's session; 0 if there is none.
    private func versions(of changes: [EncodedChange]) throws(CommitFailure) -> [Int] {
        let known = tail.withLock { tail in changes.map { tail.version(of: $0.id) } }
        var versions: [Int] = []
        versions.reserveCapacity(changes.count)
        var damaged: [SessionID: String] = [:]
        for (index, change) in changes.enumerated() {
            do throws(ReadError) {
                let version = if let known = known[index] { known } else { try storedVersion(of: change.id) }
                versions.append(version)
            } catch {
                if case .sqlite = error { throw .refused(.unavailable(reason: error.reason)) }
                // A new session's id is random, or was looked up before, so the damage is not this session's.
                if change.expected.version > 0 { damaged[change.id] = error.reason }
                versions.append(0)
            }
        }
        guard damaged.isEmpty else { throw .damaged(damaged) }
        return versions
    }

    /// The version in the table; 0 if the session is not there.
    private func storedVersion(of id: SessionID) throws(ReadError) -> Int {
        try lookup.session(id)?.version ?? 0
    }

    /// Whether the file may grow. Free pages in it count as room.
    var hasRoom: Bool {
        get throws(CommitFailure) {
            guard sizeLimit > 0 else { return true }
            do throws(SQLiteError) { return try usedPages < sizeLimit } catch { throw .refused(StoreError(error)) }
        }
    }

    /// `nil` if it cannot be read.
    var usedBytes: Int? { (try? usedPages).map { $0 * PageChecksum.pageSize } }

    var usedPages: Int {
        get throws(SQLiteError) {
            try (statements.pageCount.first { $0.integer(0) ?? 0 } ?? 0) - freePages
        }
    }

    var freePages: Int {
        get throws(SQLiteError) {
            try statements.freePageCount.first { $0.integer(0) ?? 0 } ?? 0
        }
    }

    /// Does the work in a transaction of its own, followed by a slice of the compaction if there is something to
    /// compact. If the slice fails, it is left out.
    func transaction(
        compacting slice: Int = 0, isAppending: Bool = false,
        _ work: () throws(SQLiteError) -> Void
    ) throws(CommitFailure) {
        do throws(SQLiteError) {
            try statements.begin.run()
            try work()
            if slice > 0, hasChores {
                try compactIfPossible(slice)
                // Some errors undo the whole transaction.
                if !database.isInTransaction {
                    try statements.begin.run()
                    try work()
                }
            }
        } catch {
            try rollBack()
            throw isAppending && error.isDamage ? .unwritable("\(error)") : .refused(StoreError(error))
        }
        do throws(SQLiteError) {
            try statements.commit.run()
        } catch {
            if error.isDamage {
                // SQLite has found a malformed page although its checksum is right, and refuses the whole transaction.
                // Without the compaction it may accept it.
                try rollBack()
                guard slice > 0, canCompact else { throw .unwritable("\(error)") }
                canCompact = false
                report(.derived("the journal cannot be compacted: \(error)"))
                return try transaction(isAppending: isAppending, work)
            }
            // A write that failed leaves no whole transaction behind. Anything else may have failed in the flush.
            guard error.isFailedWrite else { throw .flushFailed("\(error)") }
            try rollBack()
            throw .refused(StoreError(error))
        }
        settleCompaction()
    }

    private func rollBack() throws(CommitFailure) {
        forgetSlice()
        // Some errors have rolled back the transaction already.
        guard database.isInTransaction else { return }
        do { try statements.rollback.run() } catch { throw .flushFailed("\(error)") }
    }
}

extension StoreError {
    init(_ error: SQLiteError) {
        self = error.isNoSpace ? .full : .unavailable(reason: "\(error)")
    }
}

extension SQLiteStoreError {
    init(_ error: SQLiteError) {
        self = error.isDamage || error.isShortFile ? .damaged("\(error)") : .unavailable(reason: "\(error)")
    }
}
