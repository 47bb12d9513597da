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
        let snapshot = try stored.snapshot()
        let bar = ProgressBar()
        try stored.reading { () throws(SQLiteStoreError) in
            try snapshot.copy(to: file) { done, total in bar.show(done, of: total) }
        }
        bar.end()
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
