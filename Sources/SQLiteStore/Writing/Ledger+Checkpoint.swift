internal import SQLite
internal import Sessions

// The write-ahead log is copied into the file by the connection that writes it, and by no other: SQLite up to 3.51 can
// lose the log's content when two do (sqlite.org/wal.html, “the WAL-reset bug”).

extension Ledger {
    /// Pages of the log from which on it is copied. Few, for those who wait for the next commit wait for that, too: some
    /// three milliseconds.
    static let copiedLogLimit = 160
    /// Pages from which on the log has to begin anew: 32 MiB. Readers that follow each other without a gap would let it
    /// grow for ever.
    static let restartedLogLimit = 4096

    /// - Parameter reader: is kept waiting while the log begins anew.
    func checkpoint(from limit: Int, _ reader: ReadQueue?) throws(CommitFailure) {
        let pages = database.logPages
        // It has begun anew.
        if pages < copiedPages { copiedPages = 0 }
        guard pages - copiedPages > limit else { return }
        copiedPages = pages
        do throws(SQLiteError) {
            guard pages > Ledger.restartedLogLimit, let reader else { return try database.checkpoint() }
            try reader.whilePaused { () throws(SQLiteError) in
                database.setBusyTimeout(.zero)
                defer { database.setBusyTimeout(Ledger.busyTimeout) }
                try database.checkpoint(isRestarted: true)
            }
        } catch {
            // What does not get into the file stays in the log. What could not be flushed is another matter.
            if error.isFailedFlush { throw .flushFailed("\(error)") }
            if error.isDamage { report(.chore("the log cannot be copied into the file: \(error)")) }
        }
    }
}
