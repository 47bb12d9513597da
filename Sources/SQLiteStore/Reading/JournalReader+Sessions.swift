internal import SQLite
internal import Sessions

// Listing the sessions.
extension JournalReader {
    /// The compacted sessions, from the first of these lists that is not damaged: the table, its index, the journal. If
    /// all are damaged, those of the table and the journal that can still be read.
    ///
    /// - Returns: the sessions, and whether the list is certainly complete.
    func sessions() throws(ReadError) -> (ids: Set<SessionID>, isWhole: Bool) {
        do throws(SQLiteError) {
            for list in [
                "id FROM sessions NOT INDEXED", "id FROM sessions INDEXED BY sessions_by_due", "session FROM journal",
            ] {
                do throws(SQLiteError) {
                    let ids = try database.prepare("SELECT DISTINCT \(list)").all { $0.text(0).flatMap(SessionID.init) }
                    return (Set(ids.compactMap(\.self)), true)
                } catch {
                    guard error.isDamage else { throw error }
                }
            }
            return (try sessionsAtBothEnds().union(sessionsInReadableRows()), false)
        } catch {
            throw .sqlite(error)
        }
    }

    /// The sessions of the table, read from its start and from its end, each up to a damaged page.
    private func sessionsAtBothEnds() throws(SQLiteError) -> Set<SessionID> {
        var ids: Set<SessionID> = []
        for (start, next) in [("", "id > ?1 ORDER BY id"), ("~", "id < ?1 ORDER BY id DESC")] {
            let statement = try database.prepare("SELECT id FROM sessions NOT INDEXED WHERE \(next) LIMIT 1")
            func text(after last: String) throws(SQLiteError) -> String? {
                try statement.bind(1, last)
                return try statement.first { $0.text(0) } ?? nil
            }
            var last = start
            while let text = try? text(after: last) {
                if let id = SessionID(text) { ids.insert(id) }
                last = text
            }
        }
        return ids
    }

    /// The sessions of the journal, past the rows that cannot be read.
    private func sessionsInReadableRows() throws(SQLiteError) -> Set<SessionID> {
        let unguarded = try SQLiteDatabase(path: path, isReadOnly: true)
        // If the last row cannot be read, a store that was closed still knows its number.
        let end =
            (try? unguarded.integer("SELECT max(seq) FROM journal"))
            ?? (try? JournalWriter.stored(StoredValue.closed, in: unguarded))
        let statement = try unguarded.prepare("SELECT seq, session FROM journal WHERE seq >= ?1 ORDER BY seq LIMIT 1")
        func row(from seq: Int) throws(SQLiteError) -> (seq: Int?, session: String?)? {
            try statement.bind(1, seq)
            return try statement.first { ($0.integer(0), $0.text(1)) }
        }
        var ids: Set<SessionID> = []
        var seq = 0
        while seq < end ?? 0 {
            seq += 1
            guard let found = (try? row(from: seq)) ?? nil else { continue }
            if let id = found.session.flatMap(SessionID.init) { ids.insert(id) }
            seq = max(seq, found.seq ?? 0)
        }
        return ids
    }
}
