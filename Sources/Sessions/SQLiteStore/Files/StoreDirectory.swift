internal import FoundationEssentials
internal import Glibc
internal import SQLite
internal import Sodium
internal import Synchronization

/// The directory that a store has for itself. It stays locked until `unlock`, or until the process ends in any way.
final class StoreDirectory: Sendable {
    let path: String
    /// Owned: opened in `init`, closed by `unlock`. The database's descriptor must stay open while SQLite has the file
    /// open: closing it would drop SQLite's own locks (fcntl(2)).
    private let files: Mutex<(lock: CInt, database: CInt)?>
    /// The identities of the files that must stay in place, by path.
    private let identities = Mutex<[String: Identity]>([:])

    var database: String { "\(path)/sessions.sqlite" }
    var log: String { database + "-wal" }
    /// Exists from when the database was found damaged until it is rebuilt.
    var marker: String { StoreDirectory.marker(in: path) }
    static func marker(in path: String) -> String { "\(path)/sessions.damaged" }
    var hasDamageMarker: Bool { access(marker, F_OK) == 0 }
    /// See `DiskReserve`.
    var reserve: String { "\(path)/reserve" }
    /// Where a database is made, see `StoreDraft`.
    var draft: String { database + ".new" }
    /// Holds a copy of the store's secret, which cannot be derived from the journal.
    private var secretFile: String { "\(path)/secret" }
    private var lockFile: String { "\(path)/lock" }

    private struct Identity: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ path: String) {
            guard let status = StoreDirectory.status(of: path) else { return nil }
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }

    /// Creates the directory, readable by its owner alone, and an empty store in it, if they are missing; an existing
    /// directory keeps its permissions.
    convenience init(_ path: String, newSecret: @autoclosure () -> [UInt8]) throws(SQLiteStoreError) {
        try self.init(locking: path)
        try StoreDirectory.checkDatabase(in: path)
        if sizes.database == 0 {
            defer { removeDraft() }
            try StoreDraft(in: self, secret: newSecret()).place()
        }
        try openDatabase()
        try rollBack()
    }

    /// Like `init(_:newSecret:)`, but leaves open whether there is a database.
    init(locking path: String) throws(SQLiteStoreError) {
        self.path = path
        try StoreDirectory.make(path)
        // Not through a link, which could make root create a file anywhere.
        let lock = open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw .system("\(path) cannot be used") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            let error = SQLiteStoreError.system("\(path) cannot be locked")
            Glibc.close(lock)
            throw isTaken ? .inUse(path: path) : error
        }
        self.files = Mutex((lock, -1))
        removeDraft()
    }

    static func make(_ path: String) throws(SQLiteStoreError) {
        guard mkdir(path, 0o700) != 0 else { return try flush("\(path)/..") }
        guard errno == EEXIST else { throw .system("\(path) cannot be created") }
    }

    /// What else is wrong with the lock's file, opening the store finds.
    static func checkUnused(_ path: String) throws(SQLiteStoreError) {
        let lock = open("\(path)/lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard lock >= 0 else { return }
        defer { Glibc.close(lock) }
        // Closing releases it, unless a child process that is just being created has the descriptor, too.
        defer { flock(lock, LOCK_UN) }
        guard flock(lock, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw .inUse(path: path) }
    }

    /// Removes what is left of a database that was being made.
    func removeDraft() { try? FileManager.default.removeItem(atPath: draft) }

    /// Undoes a write to the database's file that a process did not complete. SQLite has a journal for that only while
    /// the file has no write-ahead log: if a backup was put there by hand.
    private func rollBack() throws(SQLiteStoreError) {
        guard access(database + "-journal", F_OK) == 0 else { return }
        do throws(SQLiteError) {
            // SQLite does it when it reads.
            _ = try SQLiteDatabase(path: database, isGuarded: true).integer("PRAGMA user_version")
        } catch {
            throw SQLiteStoreError(error)
        }
    }

    /// - Throws: `incomplete`, if there is no database, but another file shows that there was one. SQLite would make a
    ///   new one, and discard the log, which holds what the old one lacks.
    static func checkDatabase(in path: String) throws(SQLiteStoreError) {
        let (database, secret) = ("\(path)/sessions.sqlite", "\(path)/secret")
        guard size(of: database) == 0 else { return }
        guard size(of: "\(database)-wal") == 0 else {
            throw .incomplete(
                """
                \(database) is missing, but its log \(database)-wal is there. Put sessions.sqlite back. If you cannot, \
                restore a backup into an empty directory.
                """)
        }
        guard secretCopy(in: secret) == nil else {
            throw .incomplete(
                """
                \(database) is missing, but \(secret) shows that it existed. Put sessions.sqlite back, or remove \
                \(secret) to begin with an empty store.
                """)
        }
    }

    /// Whether the disk has room for so many bytes: tried with a file that is as long as the store's own ones, because what
    /// is free need not be free for this user, and a process may be allowed files of a certain length only.
    func hasDiskRoom(_ size: Int) -> Bool {
        let trial = "\(path)/room"
        let file = open(trial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        defer {
            unlink(trial)
            Glibc.close(file)
        }
        return posix_fallocate(file, off_t(max(sizes.database, sizes.log)), off_t(size)) == 0
    }

    /// Bytes of the database and of its log; 0 of a file that is missing.
    var sizes: (database: Int, log: Int) { (StoreDirectory.size(of: database), StoreDirectory.size(of: log)) }

    /// Bytes of a file; 0 if it is missing.
    static func size(of path: String) -> Int { status(of: path).map { Int($0.st_size) } ?? 0 }

    /// The time of a file; `nil` if it is missing.
    static func time(of path: String) -> Date? {
        status(of: path).map { Date(timeIntervalSince1970: TimeInterval($0.st_mtim.tv_sec)) }
    }

    private static func status(of path: String) -> stat? {
        var info = stat()
        return stat(path, &info) == 0 ? info : nil
    }

    /// `nil` if there is no copy, or it is not what was written.
    var secretCopy: [UInt8]? { StoreDirectory.secretCopy(in: secretFile) }

    private static func secretCopy(in path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { Glibc.close(file) }
        var bytes = [UInt8](repeating: 0, count: KeyedDigest.keySize + 8)
        guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
        let secret = Array(bytes.prefix(KeyedDigest.keySize))
        return bytes == withChecksum(secret) ? secret : nil
    }

    func saveCopy(of secret: [UInt8]) throws(SQLiteStoreError) {
        guard secretCopy != secret else { return }
        let draft = secretFile + ".new"
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system("\(draft) cannot be created") }
        defer { Glibc.close(file) }
        let bytes = StoreDirectory.withChecksum(secret)
        guard write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(draft, secretFile) == 0 else {
            throw .system("\(secretFile) cannot be written")
        }
    }

    /// The secret, followed by its checksum.
    private static func withChecksum(_ secret: [UInt8]) -> [UInt8] {
        secret + withUnsafeBytes(of: Checksum.of(secret).littleEndian) { Array($0) }
    }

    /// The error of a store that was not closed and has no log.
    var missingLogError: SQLiteStoreError {
        .incomplete(
            """
            \(log) is missing or empty, and with it the last acknowledged commits. Put it back. If you cannot, restore a \
            backup into an empty directory.
            """)
    }

    /// Whether SQLite's log is there. After a crash it holds what is not in the database yet, and is never empty.
    var hasLog: Bool { StoreDirectory.size(of: log) > 0 }

    /// Call again after the database has been replaced.
    func openDatabase() throws(SQLiteStoreError) {
        // SQLite keeps its log beside the target of a symbolic link, and would overlook the log that is here.
        let file = open(database, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else {
            guard errno != ELOOP else {
                throw .unavailable(reason: "\(database) is a symbolic link; link the directory instead")
            }
            throw .system("\(database) cannot be opened")
        }
        files.withLock { files in
            if let old = files?.database, old >= 0 { Glibc.close(old) }
            files?.database = file
        }
    }

    /// Remembers the identities of the files that are here, SQLite's own included.
    func rememberFiles() {
        identities.withLock { identities in
            for file in [path, lockFile, database, log, database + "-shm"] { identities[file] = Identity(file) }
        }
    }

    /// The file that was removed or replaced, as an error names it; `nil` if all are in place. Nobody can find what is
    /// written to a file that no longer has a name.
    var missingFile: String? {
        identities.withLock { identities in
            let lost = identities.first { Identity($0.key) != $0.value }
            return lost.map { "\($0.key) was removed or replaced" }
        }
    }

    /// Calls `body` with the descriptor of the database, which it must leave open, if there is one.
    func withDatabaseDescriptor(_ body: (CInt) -> Void) {
        // Not under the lock, because `body` may take long. Closing the store waits for it, then closes the file.
        if let file = files.withLock({ $0?.database }), file >= 0 { body(file) }
    }

    /// Makes the names in the directory survive a power failure. SQLite tries to, but ignores a failure.
    func flush() throws(SQLiteStoreError) { try StoreDirectory.flush(path) }

    private static func flush(_ path: String) throws(SQLiteStoreError) {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw .system("\(path) cannot be opened") }
        defer { Glibc.close(directory) }
        guard fsync(directory) == 0 else { throw .system("\(path) cannot be flushed") }
    }

    deinit { unlock() }

    func unlock() {
        files.withLock { files in
            if let files {
                // Closing the descriptor is not enough while a child process that is just being created has it, too.
                flock(files.lock, LOCK_UN)
                Glibc.close(files.lock)
                if files.database >= 0 { Glibc.close(files.database) }
            }
            files = nil
        }
    }

    /// Creates a file if it is missing, and gives it the present time.
    ///
    /// - Returns: whether it could be written.
    @discardableResult
    static func touch(_ path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        defer { Glibc.close(file) }
        return futimens(file, nil) == 0
    }

    /// Its time is that of the last backup.
    static func backupMarker(in path: String) -> String { "\(path)/sessions.backup" }
}

extension SQLiteStoreError {
    static func system(_ what: String) -> SQLiteStoreError {
        .unavailable(reason: "\(what): \(String(cString: strerror(errno)).lowercased())")
    }
}
