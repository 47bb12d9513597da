internal import SQLite
internal import Sessions

// Forgets sessions whose `keptUntil` has passed. A damaged session never keeps others from being forgotten.

extension JournalWriter {
    /// Examines up to `limit` sessions that may be due, and forgets those whose `keptUntil` has passed.
    ///
    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: how many sessions it has examined, and those that it has forgotten.
    func sweep(
        at now: Int, limit: Int
    ) throws(CommitFailure) -> (examined: Int, forgotten: [SessionID]) {
        var examined = 0
        var forgotten: [SessionID] = []
        try transaction { () throws(SQLiteError) in
            // A clock that is set back must not revive sessions after a restart.
            if now - clock >= JournalWriter.sweepDelay {
                try statements.set(.clock, now)
                clock = now
            }
            let due: [(due: Int, id: SessionID?, text: String)]
            do throws(SQLiteError) {
                due = try statements.dueSessions(at: now, limit: limit, after: sweepCursor)
            } catch {
                guard error.isDamage else { throw error }
                return report(.derived("sessions that are due cannot be found: \(error)"))
            }
            var rows = 0
            for (dueAt, id, text) in due {
                examined += 1
                sweepCursor = (dueAt, text)
                do throws(ReadError) {
                    guard let id else { throw .damaged("a row of the table sessions has no id") }
                    let count = try sweep(id, at: now)
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

    /// - Parameter time: in milliseconds since 1970.
    func reset(clock time: Int) throws(CommitFailure) {
        try transaction { () throws(SQLiteError) in try statements.set(.clock, time) }
        clock = time
    }

    /// - Returns: how many rows were deleted; 0 if the session is kept.
    private func sweep(_ id: SessionID, at now: Int) throws(ReadError) -> Int {
        // A session in the tail was used not long ago.
        let session = isInTail(id) ? nil : try lookup.session(id)
        var keptUntil = now + JournalWriter.sweepDelay
        if let last = session?.allRows.last {
            guard let row = try lookup.row(last), row.session == id.text else {
                throw .missing(seq: last)
            }
            keptUntil = row.keptUntil
        }
        do throws(SQLiteError) {
            guard keptUntil <= now, let session else {
                try statements.set(due: keptUntil, of: id)
                return 0
            }
            return try isolated { () throws(SQLiteError) in try delete(session) }
        } catch {
            throw error.isDamage ? .damaged("\(id.text) cannot be deleted: \(error)") : .sqlite(error)
        }
    }

    /// Does all of the work or none of it, within a transaction.
    func isolated<Value>(_ work: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
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

    /// Deletes everything of a session. Its rows are deleted at once, so that nothing can bring it back.
    ///
    /// - Parameter isForced: whether rows on damaged pages stay. Nothing points to them any more.
    /// - Returns: how many rows the session had.
    private func delete(_ session: CompactedSession, isForced: Bool = false) throws(SQLiteError) -> Int {
        let answers = try statements.answers(of: session.id)
        let rows = session.allRows + (answers.toClients + answers.toServices).map(\.seq)
        for row in rows {
            guard isForced else {
                try statements.deleteRow(row)
                continue
            }
            do throws(SQLiteError) {
                try isolated { () throws(SQLiteError) in try statements.deleteRow(row) }
            } catch {
                guard error.isDamage else { throw error }
            }
        }
        try statements.deleteSession(session.id)
        return rows.count
    }

    /// Forgets a session, whatever its `keptUntil`. The journal must be compacted.
    ///
    /// - Returns: whether the session existed.
    func forget(_ id: SessionID) throws(CommitFailure) -> Bool {
        let session: CompactedSession?
        do throws(ReadError) { session = try lookup.session(id) } catch {
            throw .refused(.damaged(reason: error.reason))
        }
        guard let session else { return false }
        try transaction { () throws(SQLiteError) in _ = try delete(session, isForced: true) }
        return true
    }

    /// In milliseconds.
    private static let sweepDelay = 60_000
    /// About how many rows are deleted in one transaction.
    private static let sweepRows = 2000
}
