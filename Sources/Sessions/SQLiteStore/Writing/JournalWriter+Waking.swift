internal import FoundationEssentials
internal import SQLite
internal import Sessions

// Finds sessions that must wake: those whose timer is due, and those with effects under way. The indexes of the table
// `sessions` have what is compacted, and the tail has the rest: a session with a record in the tail counts as the tail
// says. Both are only changed by the thread that the writer runs on, so no session is missed between them.

extension JournalWriter {
    /// See `SessionStore.dueTimers`.
    ///
    /// - Parameter now: in milliseconds since 1970.
    func dueTimers(at now: Int, limit: Int) throws(CommitFailure) -> [DueTimer] {
        var found = tail.withLock { $0.timers(dueAt: now) }
        var count = 0
        try reading("timers that are due") { () throws(SQLiteError) in
            try statements.dueTimers(at: now) { id, due in
                if !isInTail(id), !immovable.contains(id) {
                    found.append((due, id))
                    count += 1
                }
                return count < limit
            }
        }
        found.sort { ($0.due, $0.id.text) < ($1.due, $1.id.text) }
        return found.prefix(limit).map { DueTimer($0.id, due: Date(milliseconds: $0.due)) }
    }

    /// See `SessionStore.sessionsWithEffects`.
    func sessionsWithEffects(after last: SessionID?, limit: Int) throws(CommitFailure) -> [SessionID] {
        var found = tail.withLock { $0.performing.filter { $0.text > last?.text ?? "" } }
        var count = 0
        try reading("sessions with effects") { () throws(SQLiteError) in
            try statements.sessionsWithEffects(after: last) { id in
                if !isInTail(id) {
                    found.insert(id)
                    count += 1
                }
                return count < limit
            }
        }
        return Array(found.sorted { $0.text < $1.text }.prefix(limit))
    }

    /// See `SessionStore.postpone`. A timer in the tail is postponed there, and so in what is compacted later.
    ///
    /// - Parameter time: in milliseconds since 1970.
    func postpone(_ timers: [DueTimer], until time: Int?) throws(CommitFailure) {
        let compacted = tail.withLock { tail in
            timers.filter { timer in
                tail.postpone(due: timer.due.milliseconds, until: time, of: timer.session)
                return tail.version(of: timer.session) == nil
            }
        }
        guard !compacted.isEmpty else { return }
        try transaction { () throws(SQLiteError) in
            for timer in compacted {
                do throws(SQLiteError) {
                    try isolated { () throws(SQLiteError) in
                        try statements.postpone(due: timer.due.milliseconds, until: time, of: timer.session)
                    }
                } catch {
                    guard error.isDamage else { throw error }
                    immovable.insert(timer.session)
                    report(.derived("timers cannot be postponed: \(error)"))
                }
            }
        }
    }

    func isInTail(_ id: SessionID) -> Bool {
        tail.withLock { $0.version(of: id) != nil }
    }

    private func reading(_ what: String, _ read: () throws(SQLiteError) -> Void) throws(CommitFailure) {
        do throws(SQLiteError) { try read() } catch {
            if error.isDamage { report(.derived("\(what) cannot be found: \(error)")) }
            throw .refused(.unavailable(reason: "\(error)"))
        }
    }
}
