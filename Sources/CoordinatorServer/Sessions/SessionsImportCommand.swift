internal import ArgumentParser
internal import Glibc
internal import Sessions

/// `sessions import`: reads what `export` wrote.
struct SessionsImportCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Reads sessions as JSON lines from standard input.",
        discussion: """
            The store is created if it does not exist; no server may run on one in a file. A session that exists already \
            stays as it is; the exit code is then 1. A line that cannot be imported ends the import, and the error says \
            how many sessions before it were imported. Each session is imported whole or not at all.

            An export --with-secret begins with the secret of its store, which only a store without sessions can take, \
            and on which no server runs. With it, requests that created a session under an Idempotency-Key are answered \
            from the new store as from the old one.
            """)
    @OptionGroup var stored: StoredOptions

    func run() async throws {
        let importing = SessionImport(into: try stored.inserter())
        var progress = ImportProgress()
        var number = 0
        do {
            while let line = readLine() {
                number += 1
                try await importing.take(Array(line.utf8))
                progress.show(importing.imported + importing.skipped, line: number)
            }
            try await importing.finish()
        } catch {
            progress.end()
            await importing.close()
            if let code = error as? ExitCode { throw code }
            let count = importing.imported
            let rest = count == 0 ? "nothing was imported" : "sessions imported before it: \(count)"
            throw ExitCode.cannotStart(EX_DATAERR, "line \(number): \(error); \(rest)")
        }
        progress.end()
        await importing.close()
        print("imported: \(importing.imported), existed already: \(importing.skipped)")
        if importing.skipped > 0 { throw ExitCode(1) }
    }
}

/// Shows on standard error how far an import is: on a terminal as a bar if the input is a file, whose size is known,
/// otherwise as a number; elsewhere a line now and then.
private struct ImportProgress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let bar = ProgressBar()
    /// Of standard input if it is a file, in bytes.
    private let size: Int?
    private var shown = ContinuousClock.now

    init() {
        var info = stat()
        let isFile = fstat(STDIN_FILENO, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && info.st_size > 0
        size = isFile ? Int(info.st_size) : nil
    }

    mutating func show(_ sessions: Int, line: Int) {
        guard line.isMultiple(of: 256), .now - shown > (isTerminal ? .milliseconds(200) : .seconds(10)) else { return }
        shown = .now
        if isTerminal, let size {
            bar.show(Int(lseek(STDIN_FILENO, 0, SEEK_CUR)), of: size)
        } else if isTerminal {
            let text = "\r\(sessions) sessions"
            _ = write(STDERR_FILENO, text, text.utf8.count)
        } else {
            StandardError.print("sessions so far: \(sessions)")
        }
    }

    func end() { bar.end() }
}
