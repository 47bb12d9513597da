internal import Glibc
internal import SQLite
internal import Sodium
internal import Synchronization

/// The directory that a store has for itself, locked until it is unlocked, or until the process ends, however it does.
final class StoreDirectory: Sendable {
    let path: String
    /// Owned: opened in `init`, closed by `unlock`. The database's must stay open as long as SQLite has it open: closing it
    /// would drop SQLite's own locks (fcntl(2)).
    private let files: Mutex<(lock: CInt, database: CInt)?>
    /// The files that must stay where they are.
    private let kept = Mutex<[String: Identity]>([:])

    var database: String { "\(path)/sessions.sqlite" }
    var log: String { database + "-wal" }
    /// Is there where the database has to be rebuilt.
    var marker: String { "\(path)/sessions.damaged" }
    /// Has the store's secret a second time: it is all that cannot be made anew from the journal.
    private var secretFile: String { "\(path)/secret" }
    private var lockFile: String { "\(path)/lock" }

    private struct Identity: Equatable {
        let device: UInt
        let inode: UInt

        init?(_ path: String) {
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            (device, inode) = (UInt(info.st_dev), UInt(info.st_ino))
        }
    }

    /// Makes the directory, readable by its owner alone, where it is missing; one that is there keeps its permissions.
    init(_ path: String) throws(SQLiteStoreError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .system("cannot make \(path)") }
        let lock = open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .system("cannot use \(path)") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            let error = SQLiteStoreError.system("cannot lock \(path)")
            Glibc.close(lock)
            throw isTaken ? .inUse(path: path) : error
        }
        self.files = Mutex((lock, -1))
        // SQLite would make a new database, and throw the log away that has what the old one lacks.
        guard size(of: database) > 0 || size(of: log) == 0 else {
            throw .damaged("\(log) is there without its database; put that back, or remove the log, and what is in it")
        }
        guard size(of: database) > 0 || size(of: log) > 0 || secretCopy == nil else {
            throw .damaged(
                """
                \(database) is missing, and \(secretFile) tells that it was there; put it back, or remove that file to \
                begin anew
                """)
        }
        try openDatabase()
    }

    /// 0 where there is none.
    private func size(of path: String) -> Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    /// `nil` where there is none, or it is not what was written.
    var secretCopy: [UInt8]? {
        let file = open(secretFile, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { Glibc.close(file) }
        var bytes = [UInt8](repeating: 0, count: KeyedDigest.keySize + 8)
        guard read(file, &bytes, bytes.count) == bytes.count else { return nil }
        let secret = Array(bytes.prefix(KeyedDigest.keySize))
        return bytes == StoreDirectory.guarded(secret) ? secret : nil
    }

    func keepCopy(of secret: [UInt8]) throws(SQLiteStoreError) {
        guard secretCopy != secret else { return }
        let draft = secretFile + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system("cannot make \(draft)") }
        defer { Glibc.close(file) }
        let bytes = StoreDirectory.guarded(secret)
        guard write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(draft, secretFile) == 0 else {
            throw .system("cannot write \(secretFile)")
        }
    }

    /// With its checksum behind it.
    private static func guarded(_ secret: [UInt8]) -> [UInt8] {
        secret + withUnsafeBytes(of: Checksum.of(secret).littleEndian) { Array($0) }
    }

    /// Whether SQLite's log is there, in which a crash leaves what is not in the database yet. It is never empty then.
    var hasLog: Bool { size(of: log) > 0 }

    /// Makes an empty file that has the permissions of the database.
    func makeFile(_ path: String) throws(SQLiteStoreError) {
        var info = stat()
        guard stat(database, &info) == 0 else { throw .system("cannot use \(database)") }
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0o777)
        guard file >= 0 else { throw .system("cannot make \(path)") }
        fchmod(file, info.st_mode & 0o777)
        Glibc.close(file)
    }

    /// To be called again when the database has been replaced.
    func openDatabase() throws(SQLiteStoreError) {
        // SQLite keeps its log beside the file that a link leads to, and would overlook the one that is here.
        let file = open(database, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else {
            guard errno != ELOOP else {
                throw .unavailable(reason: "\(database) is a symbolic link; link the directory instead")
            }
            throw .system("cannot make \(database)")
        }
        files.withLock { files in
            if let old = files?.database, old >= 0 { Glibc.close(old) }
            files?.database = file
        }
    }

    /// Remembers which files are here, SQLite's own among them.
    func keepFiles() {
        kept.withLock { kept in
            for file in [path, lockFile, database, log, database + "-shm"] { kept[file] = Identity(file) }
        }
    }

    /// What is not where it was, as an error names it; `nil` where all is. What is written to a file that has no name any
    /// more, nobody will find.
    var loss: String? {
        kept.withLock { kept in
            let lost = kept.first { Identity($0.key) != $0.value }
            return lost.map { "\($0.key) was removed or replaced" }
        }
    }

    /// The descriptor of the database, to be left open.
    ///
    /// - Returns: `nil` where there is none.
    @discardableResult
    func withDatabase<Value>(_ body: (CInt) -> Value) -> Value? {
        // Not under the lock: it takes its time. It is closed when the store is, which waits for this.
        guard let file = files.withLock({ $0?.database }), file >= 0 else { return nil }
        return body(file)
    }

    /// Makes the names in it outlive a loss of power. SQLite tries to, and takes no notice when it fails.
    func flush() throws(SQLiteStoreError) {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw .system("cannot open \(path)") }
        defer { Glibc.close(directory) }
        guard fsync(directory) == 0 else { throw .system("cannot flush \(path)") }
    }

    deinit { unlock() }

    func unlock() {
        files.withLock { files in
            if let files {
                // Closing it is not enough where a child that is just being made has it, too.
                flock(files.lock, LOCK_UN)
                Glibc.close(files.lock)
                if files.database >= 0 { Glibc.close(files.database) }
            }
            files = nil
        }
    }

    static func touch(_ path: String) {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { Glibc.close(file) }
    }
}

extension SQLiteStoreError {
    static func system(_ what: String) -> SQLiteStoreError {
        .unavailable(reason: "\(what): \(String(cString: strerror(errno)))")
    }
}
