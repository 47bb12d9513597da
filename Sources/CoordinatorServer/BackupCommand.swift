internal import ArgumentParser
internal import Glibc
internal import SQLiteStore

/// `backup`: copies the store as it is at one moment, while a server continues to use it.
struct BackupCommand: ParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies the stored sessions into a new file; a server may be running.",
        discussion: """
            `restore` makes a store of it. The file is written in a directory beside it, FILE.XXXXXX, which may be \
            removed if kill -9 has left it. A PostgreSQL database is backed up with PostgreSQL's own pg_dump or \
            pg_basebackup.
            """)

    @OptionGroup var stored: StoredOptions

    @Option(
        help: """
            Takes FILE as a directory, writes a new file sessions-TIME.sqlite in it, and removes the oldest ones, so that \
            this many are left.
            """)
    var keep: Int?

    @Argument(help: "The file to create. It must not exist yet.")
    var file: String

    func validate() throws {
        guard !stored.store.isPostgres else {
            throw ValidationError(
                """
                `backup` copies a store in a file. Back up a PostgreSQL database with pg_dump, or its server with \
                pg_basebackup.
                """)
        }
        guard keep ?? 1 > 0 else { throw ValidationError("--keep takes a number from 1.") }
    }

    func run() throws {
        guard case .sqlite(let directory) = stored.store else { return }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let snapshot: StoreSnapshot
        do {
            snapshot = try DirectoryOwner.act(in: directory) { try StoreSnapshot(directory: directory) }
        } catch let error as SQLiteStoreError {
            throw ExitCode.cannotRead(directory, error)
        }
        try DirectoryOwner.become(in: keep == nil ? Directory.parent(of: file) ?? "." : file)
        let kept = try keep.map { try KeptBackups(in: self.file, count: $0) }
        let file = kept?.next() ?? self.file
        let count = try NewFile.make(file) { draft in
            do throws(SQLiteStoreError) {
                return try snapshot.checkedCopy(to: draft, as: .backup, "backup")
            } catch .unavailable(let reason) {
                // The store was sound when it was opened, so it is the copy that failed.
                throw ExitCode.cannotStart(EX_IOERR, "\(file) cannot be written: \(reason)")
            } catch {
                throw ExitCode.cannotRead(directory, error)
            }
        }
        kept?.removeOld(but: file)
        print("\(file): \(count) sessions")
    }
}
