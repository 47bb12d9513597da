internal import Glibc
internal import Sessions

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

    /// Creates the directory if it is missing.
    public init(_ path: String) throws(Failure) {
        isNew = access(path, F_OK) != 0
        do throws(SQLiteStoreError) {
            directory = try StoreDirectory(locking: path)
            try StoreDirectory.checkDatabase(in: path)
        } catch {
            throw .unusable(error)
        }
        (file, draft) = (directory.database, directory.draft)
        hasEmptyStore = directory.sizes.database > 0
        guard hasEmptyStore else { return }
        guard !directory.hasLog, !directory.hasDamageMarker, StoreVacancy.isEmpty(path) else {
            throw .occupied
        }
        // What reading has left, while nobody else has the store open: SQLite would apply a log to the new file.
        for file in [directory.log, directory.database + "-shm"] { unlink(file) }
    }

    private static func isEmpty(_ path: String) -> Bool {
        (try? StoreSnapshot(directory: path).page(after: nil).sessions.isEmpty) ?? false
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
