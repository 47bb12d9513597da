internal import Glibc

/// A SQLite file that only its owner can read.
enum PrivateFile {
    /// Creates the file, empty, if it does not exist; removes everybody else's rights to an existing one and to the
    /// files that SQLite has put beside it. Files that SQLite creates later get the permissions of this one.
    static func prepare(_ path: String) throws(AccountStoreError) {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
        guard restrict(path) else { throw .system(path) }
        for suffix in ["-journal", "-wal", "-shm"] where !restrict(path + suffix) && errno != ENOENT {
            throw .system(path + suffix)
        }
    }

    /// Changes the permissions by path: opening and closing the file would release the locks that this process has on
    /// it (fcntl(2)). Refuses a link, because it may lead to any file.
    private static func restrict(_ path: String) -> Bool { fchmodat(AT_FDCWD, path, 0o600, AT_SYMLINK_NOFOLLOW) == 0 }
}

/// Identifies the file that has a name, and its content by size and time of change, to notice when the content is replaced:
/// SQLite does not notice that a file was copied over its own if both were changed equally often.
struct FileIdentity: Equatable {
    private let device: UInt
    private let inode: UInt
    private let written: [Int]

    /// - Returns: `nil` if there is no file.
    init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        (device, inode) = (UInt(info.st_dev), UInt(info.st_ino))
        written = [info.st_size, info.st_ctim.tv_sec, info.st_ctim.tv_nsec].map { Int($0) }
    }
}

extension AccountStoreError {
    /// - Parameter path: of the file that a system call has just failed for.
    static func system(_ path: String) -> AccountStoreError {
        .unavailable(reason: "\(path): \(String(cString: strerror(errno)))")
    }
}
