internal import Glibc

/// A SQLite file that only its owner can read.
enum PrivateFile {
    /// Creates the file, empty, if it does not exist; removes everybody else's rights to an existing one and to the
    /// files that SQLite has put beside it. Files that SQLite creates later get the permissions of this one.
    static func prepare(_ path: String) throws(AccountStoreError) {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
        // Not by opening it: closing it again would release the locks that this process has on it (fcntl(2)).
        guard chmod(path, 0o600) == 0 else { throw .system(path) }
        for suffix in ["-journal", "-wal", "-shm"] where chmod(path + suffix, 0o600) != 0 && errno != ENOENT {
            throw .system(path + suffix)
        }
    }
}

extension AccountStoreError {
    fileprivate static func system(_ path: String) -> AccountStoreError {
        .unavailable(reason: "\(path): \(String(cString: strerror(errno)))")
    }
}
