internal import FoundationEssentials
internal import Glibc
internal import SQLite

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
