internal import SQLite
internal import Sessions

// Forgets sessions whose `keptUntil` has passed. A damaged session never keeps others from being forgotten.

extension JournalWriter {
    /// Examines up to `limit` sessions that may be due, and forgets those whose `keptUntil` has passed.
    ///
    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: how many sessions it has examined, and those that it has forgotten.
    func sweep(
        at now: Int, limit: Int, _ tail: SharedTail
    ) throws(CommitFailure) -> (examined: Int, forgotten: [SessionID]) {
        var examined = 0
        var forgotten: [SessionID] = []
        try transaction(tail) { () throws(SQLiteError) in
            // A clock that is set back must not revive sessions after a restart.
            if now - clock >= JournalWriter.sweepDelay {
                try statements.set(StoredValue.clock, now)
                clock = now
            }
            let due: [(due: Int, id: SessionID?, text: String)]
            do throws(SQLiteError) {
                due = try statements.dueSessions(at: now, limit: limit, after: sweepCursor)
            } catch {
                guard error.isDamage else { throw error }
                report(.derived("sessions that are due cannot be found: \(error)"))
                // There may be more due sessions after the damage.
                sweepCursor = (max(sweepCursor.due, now - JournalWriter.sweepReach) + JournalWriter.sweepDelay, "")
                examined = sweepCursor.due < now ? limit : 0
                if examined == 0 { sweepCursor = (.min, "") }
                return
            }
            var rows = 0
            for (dueAt, id, text) in due {
                examined += 1
                sweepCursor = (dueAt, text)
                do throws(ReadError) {
                    guard let id else { throw .damaged("a row of the table sessions has no id") }
                    let count = try sweep(id, at: now, tail)
                    if count > 0 { forgotten.append(id) }
                    rows += count
                } catch {
                    if case .sqlite = error { continue }
                    report(.session(id, error.reason))
                }
                guard rows < JournalWriter.sweepRows else { return }
            }
            if due.count < limit { sweepCursor = (.min, "") }
        }
        return (examined, forgotten)
    }

    /// - Returns: how many rows were deleted; 0 if the session is kept.
    private func sweep(_ id: SessionID, at now: Int, _ tail: SharedTail) throws(ReadError) -> Int {
        // A session in the tail was used not long ago; of a damaged session nothing may be deleted.
        let isInTail = tail.withLock { $0.version(of: id) != nil || $0.damaged[id] != nil }
        let session = isInTail ? nil : try sessionLookup.session(id)
        var keptUntil = now + JournalWriter.sweepDelay
        if let last = session?.allRows.last {
            guard let row = try rowLookup.row(last), row.session == id.text else {
                throw .missing(seq: last)
            }
            keptUntil = row.keptUntil
        }
        do throws(SQLiteError) {
            guard keptUntil <= now, let session else {
                try statements.set(due: keptUntil, of: id)
                return 0
            }
            return try isolated { () throws(SQLiteError) in try statements.forget(id, rows: session.allRows) }
        } catch {
            throw error.isDamage ? .damaged("\(id.text) cannot be deleted: \(error)") : .sqlite(error)
        }
    }

    /// Does all of the work or none of it, within a transaction.
    private func isolated<Value>(_ work: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try statements.setSavepoint.run()
        do throws(SQLiteError) {
            let value = try work()
            try statements.releaseSavepoint.run()
            return value
        } catch {
            if database.isInTransaction {
                try statements.rollbackToSavepoint.run()
                try statements.releaseSavepoint.run()
            }
            throw error
        }
    }

    /// Forgets a session, whatever its `keptUntil`. The journal must be compacted.
    ///
    /// - Returns: whether the session existed.
    func forget(_ id: SessionID, _ tail: SharedTail) throws(CommitFailure) -> Bool {
        // Of a damaged session, what can be found is deleted.
        let session = (try? sessionLookup.session(id)) ?? nil
        let isDamaged = tail.withLock { $0.damaged.removeValue(forKey: id) != nil }
        try transaction(tail) { () throws(SQLiteError) in
            try statements.forget(id, rows: session?.allRows ?? [])
        }
        return session != nil || isDamaged
    }

    /// In milliseconds.
    private static let sweepDelay = 60_000
    /// How far back a damaged index is searched: milliseconds, about a year.
    private static let sweepReach = 32_000_000_000
    /// About how many rows are deleted in one transaction.
    private static let sweepRows = 2000
}
