internal import ArgumentParser
internal import Glibc
internal import SQLiteStore

/// `backup`: copies the store as it is at one moment, while a server continues to use it.
struct BackupCommand: ParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies the stored sessions into a new file; a server may be running.",
        discussion: """
            To restore it, put the file into an empty directory as sessions.sqlite and serve that directory. The file \
            is written in a directory beside it, FILE.XXXXXX, which may be removed if kill -9 has left it. A PostgreSQL \
            database is backed up with PostgreSQL's own pg_dump or pg_basebackup.
            """)

    @OptionGroup var stored: StoredOptions

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
    }

    func run() throws {
        guard case .sqlite(let directory) = stored.store else { return }
        // Reaching the file's size limit then fails the write instead of ending the process.
        signal(SIGXFSZ, SIG_IGN)
        let snapshot: StoreSnapshot
        do throws(SQLiteStoreError) { snapshot = try StoreSnapshot(directory: directory) } catch {
            throw ExitCode.cannotRead(directory, error)
        }
        let count = try NewFile.make(file) { draft in
            let bar = ProgressBar()
            defer { bar.end() }
            do throws(SQLiteStoreError) {
                try snapshot.copy(to: draft) { done, total in bar.show(done, of: total) }
                // Reads the copy's journal, so that no copy gets its name that a server would refuse.
                return try StoreSnapshot(file: draft).sessions().count
            } catch .unavailable(let reason) {
                // The store was sound when it was opened, so it is the copy that failed.
                throw ExitCode.cannotStart(EX_IOERR, "\(file) cannot be written: \(reason)")
            } catch {
                throw ExitCode.cannotRead(directory, error)
            }
        }
        print("\(file): \(count) sessions")
    }
}

/// Shows the progress of work on standard error, if that is a terminal.
struct ProgressBar {
    private static let width = 40
    private let isShown = isatty(STDERR_FILENO) == 1

    func show(_ done: Int, of total: Int) {
        guard isShown, total > 0 else { return }
        let filled = ProgressBar.width * done / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: ProgressBar.width - filled)
        write("\r[\(bar)] \(100 * done / total) %")
    }

    func end() {
        if isShown { write("\n") }
    }

    private func write(_ text: String) {
        _ = Glibc.write(STDERR_FILENO, text, text.utf8.count)
    }
}
