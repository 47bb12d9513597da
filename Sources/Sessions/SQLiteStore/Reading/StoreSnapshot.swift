public import FoundationEssentials
internal import Glibc
internal import SQLite
public import Sessions

/// Reads a store, whether or not a server is using it. It locks nobody out, and each call sees the state at that
/// moment: no snapshot is held from one call to the next, because a log that is still being read cannot be restarted.
///
/// Used by one thread at a time, which it blocks.
public final class StoreSnapshot: StoreReader {
    private let reader: JournalReader
    private var tail = Tail()
    private let path: String

    public convenience init(directory: String) throws(SQLiteStoreError) {
        try StoreSnapshot.checkExistence(in: directory)
        try self.init(file: "\(directory)/sessions.sqlite")
    }

    /// - Throws: `missing` or `incomplete`, if the directory has no store.
    public static func checkExistence(in directory: String) throws(SQLiteStoreError) {
        try StoreDirectory.checkDatabase(in: directory)
        let path = "\(directory)/sessions.sqlite"
        guard access(path, F_OK) == 0 else { throw errno == ENOENT ? .missing : .system("\(path) cannot be used") }
    }

    /// - Parameter path: a database; its log, if there is one, is beside it.
    public init(file path: String) throws(SQLiteStoreError) {
        self.path = path
        let version: Int
        do throws(SQLiteError) {
            let database = try SQLiteDatabase(path: path, isReadOnly: true, isGuarded: true)
            version = try database.integer("PRAGMA user_version") ?? 0
            guard version > 0 else { throw .damage("\(path) has no tables") }
        } catch  where error.isInterrupted {
            throw .incomplete(
                """
                a process has ended while it changed \(path), and \(path)-journal says how to undo that: start the \
                server, which does so
                """)
        } catch {
            throw SQLiteStoreError(error)
        }
        guard version == Schema.version else { throw .newer(schema: version) }
        reader = try JournalReader(path: path, retention: Retention(versions: .max, answers: .max))
    }

    /// Whether a file has the form of a backup: it needs no log, and has none beside it.
    public static func isBackup(_ path: String) throws(SQLiteStoreError) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system("\(path) cannot be opened") }
        defer { close(file) }
        // The two bytes say how the file is written and read: 1 without a log (sqlite.org/fileformat2.html, 1.3.3).
        var bytes = [UInt8](repeating: 0, count: 20)
        guard read(file, &bytes, bytes.count) == bytes.count else { return false }
        return bytes[18...] == [1, 1] && access("\(path)-wal", F_OK) != 0
    }

    /// All of them are on the first page, because they are in memory anyway.
    public func page(after last: SessionID?) throws(SQLiteStoreError) -> SessionPage {
        guard last == nil else { return ([], 0) }
        return try reading { () throws(ReadError) in
            let ids = try reader.sessions().union(tail.recordedSessions).sorted { $0.text < $1.text }
            return (ids, ids.count)
        }
    }

    public func sessions(ofUser user: String) throws(SQLiteStoreError) -> [SessionID] {
        try reading { () throws(ReadError) in
            let ids = tail.sessions(ofUser: user).union(try reader.sessions(ofUser: user))
            return ids.sorted { $0.text < $1.text }
        }
    }

    public func secret() throws(SQLiteStoreError) -> StoreSecret {
        do throws(SQLiteError) {
            if let secret = StoreSecret(try StoredValue.secret(in: reader.database)) { return secret }
        } catch {
            throw SQLiteStoreError(error)
        }
        throw .damaged("its secret")
    }

    public var latestTime: Date { JournalWriter.latestTime(in: reader.database) }

    /// The time of the last commit; `nil` if there is none.
    public var newestChange: Date? {
        JournalWriter.newestChange(in: reader.database).map { Date(timeIntervalSince1970: TimeInterval($0) / 1000) }
    }

    /// All of one moment.
    public func loaded(
        _ ids: ArraySlice<SessionID>, _ depth: ReadingDepth
    ) throws(SQLiteStoreError) -> [Found<LoadedSession>] {
        try found(ids) { id, recent throws(ReadError) in
            guard let found = try reader.load(id, token: nil, recent), let last = try found.record.read().first
            else { return nil }
            if depth >= .answers { _ = try answers(of: id, recent) }
            if depth >= .past { _ = try versions(of: id, recent) }
            return LoadedSession(
                record: last, stamp: SessionStamp(version: last.version), answeredKeys: found.answeredKeys)
        }
    }

    /// Each session's are of one moment, so that no snapshot lasts longer than one session.
    public func contents(of ids: ArraySlice<SessionID>) throws(SQLiteStoreError) -> [Found<StoredSession>] {
        var contents: [Found<StoredSession>] = []
        for index in ids.indices {
            contents += try found(ids[index...index]) { id, recent throws(ReadError) in
                // A session whose last version cannot be read is damaged, not forgotten.
                let isThere = try reader.load(id, token: nil, recent) != nil
                let versions = isThere ? try versions(of: id, recent) : []
                let answers = try answers(of: id, recent)
                if versions.isEmpty, answers.isEmpty { return nil }
                let stamp = SessionStamp(version: versions.last?.version ?? 0)
                return StoredSession(id: id, stamp: stamp, versions: versions, answers: answers)
            }
        }
        return contents
    }

    /// Every version that is kept, oldest first.
    private func versions(of id: SessionID, _ recent: [Place]) throws(ReadError) -> [SessionRecord] {
        try reader.history(of: id, from: .max, limit: .max, bytes: .max, recent).read().reversed()
    }

    /// Every answer that is kept, oldest first.
    private func answers(of id: SessionID, _ recent: [Place]) throws(ReadError) -> [StoredAnswer] {
        var answers: [StoredAnswer] = []
        for row in try reader.answers(of: id, recent) {
            guard let answer = try? StoredAnswer(parsing: row.text), answer.session == id else {
                throw .damaged("an answer of \(id.text) is damaged")
            }
            answers.append(answer)
        }
        return answers
    }

    /// Reads sessions from one snapshot.
    ///
    /// - Parameter read: receives a session's places in the tail.
    private func found<Value>(
        _ ids: ArraySlice<SessionID>, _ read: (SessionID, [Place]) throws(ReadError) -> Value?
    ) throws(SQLiteStoreError) -> [Found<Value>] {
        var found: [Found<Value>] = []
        do throws(SQLiteStoreError) {
            try reading { () throws(ReadError) in
                for id in ids {
                    do throws(ReadError) {
                        found.append((id, .success(try read(id, tail.places(of: id)))))
                    } catch {
                        guard case .damaged(let what) = storeError(error) else { throw error }
                        found.append((id, .failure(SessionDamage(of: id, what))))
                    }
                }
            }
        } catch .damaged(let what) {
            return ids.map { ($0, .failure(SessionDamage(of: $0, what))) }
        }
        return found
    }

    /// Compares the checksum of every page.
    public func damagedPages(_ progress: (Int, Int) -> Void = { _, _ in }) -> [Int] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        // Left open, because closing it would drop the locks that SQLite has in this process.
        var pages: [Int] = []
        var info = stat()
        fstat(file, &info)
        var done = 0
        func count() -> Bool {
            done += PageChecksum.scanStep
            progress(done, Int(info.st_size))
            return true
        }
        PageChecksum.scan(file, pause: count) { pages.append($0) }
        return pages
    }

    /// What is wrong with the log: nothing after the damage is read.
    public var damage: String? {
        var found: String?
        // A server may be writing to the log: what it is just writing looks damaged, but not for long at one place.
        for _ in 0..<3 {
            if found != nil { usleep(50_000) }
            do throws(SQLiteStoreError) {
                try WriteAheadLog.check("\(path)-wal")
                return nil
            } catch {
                guard case .damaged(let what) = error, found == nil || found == what else { return nil }
                found = what
            }
        }
        return found
    }

    /// 16 MiB.
    private static let flushedPages = (16 << 20) / PageChecksum.pageSize

    /// The form of a copy. A directory with a file of either form as `sessions.sqlite` can be opened as a store.
    public enum CopyForm: String, Sendable {
        /// It can be read where nothing can be written.
        case backup = "DELETE"
        /// SQLite does not have to change the file before it can be used with a log.
        case store = "WAL"
    }

    /// Copies the whole store into a new file, which is complete without a log.
    ///
    /// - Parameter progress: receives how many pages are done, and how many there are.
    public func copy(
        to path: String, as form: CopyForm, progress: (Int, Int) -> Void
    ) throws(SQLiteStoreError) {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system("\(path) cannot be created") }
        defer { close(file) }
        var (flushed, isFlushed) = (0, true)
        do throws(SQLiteError) {
            let target = try SQLiteDatabase(path: path, isGuarded: true)
            // Gives the file a header first, so that it is known to be guarded before pages are copied.
            try target.execute(
                """
                PRAGMA synchronous = OFF; PRAGMA page_size = \(PageChecksum.pageSize); CREATE TABLE t (x); DROP TABLE t
                """)
            try reader.database.execute("BEGIN")
            // The first read takes the snapshot. Without one, each step would take its own, and begin again from the
            // start whenever something was committed meanwhile.
            _ = try reader.database.integer("PRAGMA user_version")
            defer { try? reader.database.execute("COMMIT") }
            try reader.database.copy(to: target, pages: 256) { done, total in
                // Bit by bit: others' flushes would wait for one of the whole file.
                if done - flushed >= StoreSnapshot.flushedPages {
                    flushed = done
                    isFlushed = fdatasync(file) == 0 && isFlushed
                }
                progress(done, total)
            }
            // The copy is complete without a log.
            let last = try target.integer("SELECT max(seq) FROM journal") ?? 0
            let generation = Generation.ofCopy(try Generation.stored(in: target))
            let statements = try Statements(target)
            try statements.set(.closed, last)
            try statements.set(.generation, generation)
            try target.execute("PRAGMA journal_mode = \(form.rawValue)")
        } catch {
            unlink(path)
            throw SQLiteStoreError(error)
        }
        // The caller flushes the file's name, with the directory that contains it.
        guard fsync(file) == 0, isFlushed else { throw .unavailable(reason: "\(path) cannot be flushed") }
    }

    /// Reads from one snapshot, which ends with this call.
    private func reading<Value>(_ body: () throws(ReadError) -> Value) throws(SQLiteStoreError) -> Value {
        do throws(ReadError) {
            return try reader.withSnapshot { () throws(ReadError) in
                do throws(SQLiteError) { try refreshTail() } catch { throw .sqlite(error) }
                return try body()
            }
        } catch {
            throw storeError(error)
        }
    }

    /// Reads what a server may have added to the journal since the last call.
    private func refreshTail() throws(SQLiteError) {
        let compacted = try StoredValue.compacted.number(in: reader.database)
        tail.forget(upTo: compacted)
        _ = try JournalWriter.replay(reader.database, after: max(compacted, tail.lastSeq), into: &tail)
    }

    private func storeError(_ error: ReadError) -> SQLiteStoreError {
        switch error {
        case .sqlite(let error): SQLiteStoreError(error)
        case .damaged, .missing, .closed: .damaged(error.reason)
        }
    }
}
