internal import SQLite
internal import Sessions

// The write-ahead log is copied into the file by the connection that writes it, and by no other: SQLite up to 3.51 can
// lose the log's content when two do (sqlite.org/wal.html, “the WAL-reset bug”).

extension Ledger {
    /// Pages of the log from which on it is copied between two commits. Few, for those who wait for the next commit wait
    /// for that, too: ten milliseconds.
    static let busyLogLimit = 512
    /// The same, where nobody waits.
    static let quietLogLimit = 256

    func checkpoint(from limit: Int) throws(CommitFailure) {
        guard database.logPages > limit else { return }
        do {
            try database.checkpoint()
        } catch {
            // What does not get into the file stays in the log. What could not be flushed is another matter.
            if error.isFailedFlush { throw .flushFailed("\(error)") }
        }
    }
}
