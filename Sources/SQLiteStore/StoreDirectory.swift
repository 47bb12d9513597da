internal import Glibc

/// The directory that a store has for itself, locked until the end of this value's life.
///
/// Safe to share: the descriptor is set in `init` and closed in `deinit`, and nobody uses it in between.
final class StoreDirectory: Sendable {
    let path: String
    /// Owned: opened in `init`, closed in `deinit`, which gives the lock back. So does the end of the process, however
    /// it comes.
    private let lock: CInt

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
        self.lock = lock
        // SQLite gives its other files the permissions of this one.
        let database = open(self.database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard database >= 0 else {
            let error = SQLiteStoreError.system("cannot make \(self.database)")
            Glibc.close(lock)
            throw error
        }
        Glibc.close(database)
    }

    deinit { Glibc.close(lock) }
}

extension SQLiteStoreError {
    fileprivate static func system(_ what: String) -> SQLiteStoreError {
        .unavailable(reason: "\(what): \(String(cString: strerror(errno)))")
    }
}
