internal import ArgumentParser
internal import Glibc
internal import SQLiteStore

/// `backup`: a copy of the store as it is at one moment, while a server goes on working on it.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copies the stored sessions into a new file, while the server runs.",
        discussion: "To go back to it, put the file into an empty directory as sessions.sqlite and serve that.")

    @OptionGroup var stored: StoredOptions

    @Argument(help: "The file to make. It must not be there yet.")
    var file: String

    func run() throws {
        // A file that has reached its limit is an error to whoever writes to it.
        signal(SIGXFSZ, SIG_IGN)
        let snapshot = try stored.snapshot()
        try NewFile.make(file) { draft in
            let bar = ProgressBar()
            defer { bar.end() }
            do throws(SQLiteStoreError) {
                try snapshot.copy(to: draft) { done, total in bar.show(done, of: total) }
            } catch .unavailable(let reason) {
                // The store was sound when it was opened: it is the copy that fails.
                throw ExitCode.cannotStart(EX_IOERR, "\(file) cannot be written: \(reason)")
            } catch {
                throw stored.unusable(error)
            }
        }
        print("\(file): \(try stored.reading(snapshot.sessions).count) sessions")
    }
}

/// How far something has come, on standard error where that is a terminal.
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
