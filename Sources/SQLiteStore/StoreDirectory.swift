internal import Glibc
internal import Synchronization

/// The directory that a store has for itself, locked until it is unlocked, or until the process ends, however it does.
final class StoreDirectory: Sendable {
    let path: String
    /// Owned: opened in `init`, closed by `unlock`, which gives the lock back.
    private let lock: Mutex<CInt?>

    var database: String { "\(path)/sessions.sqlite" }

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
        self.lock = Mutex(lock)
        // SQLite gives its other files the permissions of this one.
        let database = open(self.database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard database >= 0 else {
            let error = SQLiteStoreError.system("cannot make \(self.database)")
            Glibc.close(lock)
            throw error
        }
        Glibc.close(database)
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
        lock.withLock { lock in
            if let lock {
                // Closing it is not enough where a child that is just being made has it, too.
                flock(lock, LOCK_UN)
                Glibc.close(lock)
            }
            lock = nil
        }
    }
}

extension SQLiteStoreError {
    fileprivate static func system(_ what: String) -> SQLiteStoreError {
        .unavailable(reason: "\(what): \(String(cString: strerror(errno)))")
    }
}
