internal import Glibc

/// A directory that has no store, or one without sessions, and into which a backup can be put. It is locked until
/// `close`, so that no server begins a store in it meanwhile.
public final class StoreVacancy {
    /// Where the backup belongs.
    public let file: String
    /// The name of a directory to make it in. What is left of an earlier attempt has been removed.
    public let draft: String
    /// Whether there is a store, which the backup replaces.
    public let hasEmptyStore: Bool
    private let directory: StoreDirectory
    private let isNew: Bool

    public enum Failure: Error {
        /// The directory has a store with sessions, or one that was not closed, or that cannot be read.
        case occupied
        case unusable(SQLiteStoreError)
    }

    /// Creates the directory if it is missing. If root does so, it belongs to the owner of the directory that contains
    /// it.
    public init(_ path: String) throws(Failure) {
        isNew = access(path, F_OK) != 0
        do throws(SQLiteStoreError) {
            directory = try StoreDirectory(locking: path)
            if isNew { try StoreVacancy.giveToOwner(of: "\(path)/..", path) }
            try StoreVacancy.giveToOwner(of: path, "\(path)/lock")
            try StoreDirectory.checkDatabase(in: path)
        } catch {
            throw .unusable(error)
        }
        (file, draft) = (directory.database, directory.draft)
        hasEmptyStore = directory.sizes.database > 0
        guard hasEmptyStore else { return }
        guard !directory.hasLog, access(directory.marker, F_OK) != 0, StoreVacancy.isEmpty(path) else {
            throw .occupied
        }
        // What reading has left, while nobody else has the store open: SQLite would apply a log to the new file.
        for file in [directory.log, directory.database + "-shm"] { unlink(file) }
    }

    private static func isEmpty(_ path: String) -> Bool {
        guard let found = try? StoreSnapshot(directory: path).listing() else { return false }
        return found.isWhole && found.sessions.isEmpty
    }

    /// Lets the directory's owner use a file that root has made.
    public func giveToOwner(_ file: String) throws(SQLiteStoreError) {
        try StoreVacancy.giveToOwner(of: directory.path, file)
    }

    private static func giveToOwner(of directory: String, _ path: String) throws(SQLiteStoreError) {
        guard geteuid() == 0 else { return }
        // The owner may have put a link there, to be given another file.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        defer { if file >= 0 { Glibc.close(file) } }
        var (owner, info) = (stat(), stat())
        guard file >= 0, stat(directory, &owner) == 0, fstat(file, &info) == 0,
            info.st_mode & S_IFMT == S_IFDIR || info.st_nlink == 1,
            fchown(file, owner.st_uid, owner.st_gid) == 0
        else { throw .system("\(path) cannot be given to the owner of \(directory)") }
    }

    /// Also removes the directory if it was created here, and has got no store.
    public func close() {
        if isNew, directory.sizes.database == 0 {
            unlink("\(directory.path)/lock")
            rmdir(directory.path)
        }
        directory.unlock()
    }
}
