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
        var progress = Progress("import")
        let size = SessionsImportCommand.inputSize
        var number = 0
        do {
            while let line = readLine() {
                number += 1
                try await importing.take(Array(line.utf8))
                progress.show(
                    size == nil ? importing.imported + importing.skipped : Int(lseek(STDIN_FILENO, 0, SEEK_CUR)),
                    of: size)
            }
            try await importing.finish()
        } catch {
            progress.hide()
            await importing.close()
            if let code = error as? ExitCode { throw code }
            let count = importing.imported
            let rest = count == 0 ? "nothing was imported" : "sessions imported before it: \(count)"
            throw ExitCode.cannotStart(EX_DATAERR, "line \(number): \(error); \(rest)")
        }
        progress.hide()
        await importing.close()
        print("imported: \(importing.imported), existed already: \(importing.skipped)")
        if importing.skipped > 0 { throw ExitCode(1) }
    }
}

extension SessionsImportCommand {
    /// Bytes of standard input, if it is a file.
    fileprivate static var inputSize: Int? {
        var info = stat()
        let isFile = fstat(STDIN_FILENO, &info) == 0 && info.st_mode & S_IFMT == S_IFREG && info.st_size > 0
        return isFile ? Int(info.st_size) : nil
    }
}
