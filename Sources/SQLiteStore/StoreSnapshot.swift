internal import Glibc
internal import SQLite
public import Sessions

/// What a store holds at one moment, whether a server is at work on it or not. It reads, and locks nobody out.
///
/// Used by one thread, and blocks it.
public final class StoreSnapshot {
    private let archive: Archive
    private let unfolded: Unfolded
    private let directory: String

    public init(directory: String) throws(SQLiteStoreError) {
        self.directory = directory
        let path = "\(directory)/sessions.sqlite"
        guard access(path, F_OK) == 0 else { throw .unavailable(reason: "there is no \(path)") }
        let version: Int
        do throws(SQLiteError) {
            archive = try Archive(path: path, retention: Retention(versions: .max, answers: .max))
            // The snapshot is taken by the first statement that reads, and held until the connection is closed.
            try archive.database.execute("BEGIN")
            version = try archive.database.integer("PRAGMA user_version") ?? 0
        } catch {
            throw SQLiteStoreError(error)
        }
        guard version > 0 else { throw .damaged("\(path) has no tables") }
        guard version <= Schema.version else { throw .newer(schema: version) }
        do throws(SQLiteError) {
            let folded = try archive.database.integer("SELECT value FROM store WHERE name = 'folded'") ?? 0
            unfolded = try Ledger.replay(archive.database, after: folded).0
        } catch {
            throw SQLiteStoreError(error)
        }
    }

    /// All sessions, ended and expired ones that are still known among them, in order.
    public func sessions() throws(SQLiteStoreError) -> [SessionID] {
        let folded: [SessionID]
        do throws(SQLiteError) {
            folded = try archive.database.prepare("SELECT id FROM sessions ORDER BY id")
                .all { $0.text(0).flatMap(SessionID.init) }.compactMap(\.self)
        } catch {
            throw SQLiteStoreError(error)
        }
        let recent = unfolded.newSessions
        return recent.isEmpty ? folded : Array(Set(folded + recent)).sorted { $0.text < $1.text }
    }

    public func load(_ id: SessionID) throws(SQLiteStoreError) -> SessionRecord? {
        try reading { () throws(ReadError) in try archive.load(id, unfolded.places(of: id))?.record }
    }

    /// Every version that is kept, oldest first.
    public func versions(of id: SessionID) throws(SQLiteStoreError) -> [SessionRecord] {
        try reading { () throws(ReadError) in
            try archive.history(of: id, from: .max, limit: .max, bytes: .max, unfolded.places(of: id)).reversed()
        }
    }

    /// Every answer that is kept, oldest first.
    public func answers(of id: SessionID) throws(SQLiteStoreError) -> [StoredAnswer] {
        try reading { () throws(ReadError) in try archive.answers(of: id, unfolded.places(of: id)) }
    }

    /// Copies the whole store into a new file, which a store can be opened on as `sessions.sqlite`.
    ///
    /// - Parameter progress: is told how many pages are done, of how many.
    public func copy(to path: String, progress: (Int, Int) -> Void) throws(SQLiteStoreError) {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .unavailable(reason: "cannot make \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        do throws(SQLiteError) {
            let target = try SQLiteDatabase(path: path)
            try target.execute("PRAGMA synchronous = OFF")
            try archive.database.copy(to: target, pages: 256, progress: progress)
        } catch {
            unlink(path)
            throw SQLiteStoreError(error)
        }
        // The name of the file is flushed with the directory that it is in.
        guard fsync(file) == 0 else { throw .unavailable(reason: "cannot flush \(path)") }
    }

    private func reading<Value>(
        _ body: () throws(ReadError) -> Value
    ) throws(SQLiteStoreError) -> Value {
        do throws(ReadError) {
            return try body()
        } catch {
            throw .damaged("\(directory): \(error.reason)")
        }
    }
}
