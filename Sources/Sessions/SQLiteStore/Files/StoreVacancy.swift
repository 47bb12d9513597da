internal import FoundationEssentials
internal import Glibc
internal import SQLite
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

/// A database while it is made: in a directory of its own, `sessions.sqlite.new`, until it is whole and gets its place.
///
/// So there is no moment at which `sessions.sqlite` has no tables, or would have to be rolled back. What the end of a
/// process leaves of a draft is removed by whoever locks the store next.
struct StoreDraft {
    /// The database. It must be complete without a log beside it before it gets its place.
    let database: String
    private let directory: StoreDirectory

    /// Makes the database of an empty store.
    init(in directory: StoreDirectory, secret: [UInt8]) throws(SQLiteStoreError) {
        self.directory = directory
        database = "\(directory.draft)/sessions.sqlite"
        guard mkdir(directory.draft, 0o700) == 0 else { throw .system("\(directory.draft) cannot be created") }
        do throws(SQLiteError) { try JournalWriter.create(database, secret: secret) } catch {
            throw SQLiteStoreError(error)
        }
    }

    /// Gives the database its place, with the permissions of the one that it replaces.
    func place() throws(SQLiteStoreError) {
        let file = open(database, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw .system("\(database) cannot be opened") }
        defer { close(file) }
        var old = stat()
        let mode = stat(directory.database, &old) == 0 ? old.st_mode & 0o777 : 0o600
        guard fchmod(file, mode) == 0, fsync(file) == 0 else { throw .system("\(database) cannot be flushed") }
        guard rename(database, directory.database) == 0 else {
            throw .system("\(directory.database) cannot be replaced")
        }
        try directory.flush()
    }
}
