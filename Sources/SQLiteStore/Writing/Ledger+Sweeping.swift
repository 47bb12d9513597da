internal import SQLite
internal import Sessions

// Sessions whose time is over. One that is damaged never keeps the others from being forgotten.

extension Ledger {
    /// Looks at up to `limit` sessions whose time may be over, and forgets those whose is.
    ///
    /// - Parameter now: in milliseconds since 1970.
    /// - Returns: how many it has looked at, and those that it has forgotten.
    func sweep(
        at now: Int, limit: Int, _ tail: SharedTail
    ) throws(CommitFailure) -> (examined: Int, forgotten: [SessionID]) {
        var examined = 0
        var forgotten: [SessionID] = []
        try transaction(tail) { () throws(SQLiteError) in
            // A clock that is put back must not let sessions live again after a restart.
            if now - clock >= Ledger.sweepDelay {
                try statements.set(StoredValue.clock, now)
                clock = now
            }
            let due: [(due: Int, id: SessionID?, text: String)]
            do throws(SQLiteError) {
                due = try statements.dueSessions(at: now, limit: limit, after: sweepCursor)
            } catch {
                guard error.isDamage else { throw error }
                report(.derived("sessions that are due cannot be found: \(error)"))
                // Behind the damage there may be more.
                sweepCursor = (max(sweepCursor.due, now - Ledger.sweepReach) + Ledger.sweepDelay, "")
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
                guard rows < Ledger.sweepRows else { return }
            }
            if due.count < limit { sweepCursor = (.min, "") }
        }
        return (examined, forgotten)
    }

    /// - Returns: how many rows were forgotten; 0 where the session is to be kept.
    private func sweep(_ id: SessionID, at now: Int, _ tail: SharedTail) throws(ReadError) -> Int {
        // What is not compacted yet was used not long ago; of what is damaged nothing may go.
        let isInTail = tail.withLock { $0.version(of: id) != nil || $0.damaged[id] != nil }
        let session = isInTail ? nil : try sessionLookup.session(id)
        var keptUntil = now + Ledger.sweepDelay
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
            throw error.isDamage ? .damaged("\(id.text) cannot be forgotten: \(error)") : .sqlite(error)
        }
    }

    /// Does the work whole or not at all, within a transaction.
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

    /// Forgets a session, whatever its time. The journal must be compacted.
    ///
    /// - Returns: whether it was there.
    func forget(_ id: SessionID, _ tail: SharedTail) throws(CommitFailure) -> Bool {
        // Of a damaged one goes what can be found.
        let session = (try? sessionLookup.session(id)) ?? nil
        let isDamaged = tail.withLock { $0.damaged.removeValue(forKey: id) != nil }
        try transaction(tail) { () throws(SQLiteError) in
            try statements.forget(id, rows: session?.allRows ?? [])
        }
        return session != nil || isDamaged
    }

    /// Milliseconds.
    private static let sweepDelay = 60_000
    /// How far back a damaged index is looked through: milliseconds, about a year.
    private static let sweepReach = 32_000_000_000
    /// Of one transaction.
    private static let sweepRows = 2000
}
