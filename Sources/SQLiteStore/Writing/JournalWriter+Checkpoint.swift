internal import SQLite
internal import Sessions

// Only the connection that writes the write-ahead log copies it into the file: SQLite up to 3.51 can lose the log's
// content when two connections do (sqlite.org/wal.html, “the WAL-reset bug”).

extension JournalWriter {
    /// How many pages the log grows by before it is copied. Few, because the next commit waits for the copying: about
    /// three milliseconds.
    static let copiedLogLimit = 160
    /// How many pages the log may have before it is restarted: 32 MiB. Otherwise, readers that follow each other
    /// without a gap would let it grow for ever.
    static let restartedLogLimit = 4096

    /// - Parameter reader: paused while the log is restarted.
    func checkpoint(from limit: Int, _ reader: ReadQueue?) throws(CommitFailure) {
        let pages = database.logPages
        // The log has been restarted.
        if pages < copiedPages { copiedPages = 0 }
        guard pages - copiedPages > limit else { return }
        copiedPages = pages
        do throws(SQLiteError) {
            guard pages > JournalWriter.restartedLogLimit, let reader else { return try database.checkpoint() }
            try reader.whilePaused { () throws(SQLiteError) in
                database.setBusyTimeout(.zero)
                defer { database.setBusyTimeout(JournalWriter.busyTimeout) }
                try database.checkpoint(isRestarted: true)
            }
        } catch {
            // What cannot be copied stays in the log, and nothing is lost. A failed flush is a different matter.
            if error.isFailedFlush { throw .flushFailed("\(error)") }
            if error.isDamage { report(.chore("the log cannot be copied into the file: \(error)")) }
        }
    }
}
