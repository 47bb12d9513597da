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
        var lines = InputLines()
        do {
            while let line = try lines.next() {
                number += 1
                try await importing.take(line)
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

/// The lines of standard input as bytes: Swift's own `readLine` replaces what is not UTF-8.
private struct InputLines {
    private var buffer: [UInt8] = []
    /// Where the next line begins in the buffer.
    private var start = 0

    private static let chunk = 1 << 16
    /// No record is nearly as long.
    private static let longest = 64 << 20

    /// - Returns: a line without its end; `nil` at the end of the input.
    mutating func next() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return InputLines.line(buffer[start..<end])
            }
            buffer.removeSubrange(..<start)
            start = 0
            searched = buffer.count
            guard searched <= InputLines.longest else {
                throw SessionImport.Unfit(description: "it is longer than 64 MiB")
            }
            let count = try read()
            if count == 0 {
                defer { buffer = [] }
                return buffer.isEmpty ? nil : InputLines.line(buffer[...])
            }
        }
    }

    private mutating func read() throws -> Int {
        var count = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: InputLines.chunk) { bytes, initialized in
            count = Glibc.read(STDIN_FILENO, bytes.baseAddress, bytes.count)
            initialized = max(0, count)
        }
        guard count >= 0 else {
            throw ExitCode.cannotStart(
                EX_IOERR, "standard input cannot be read: \(String(cString: strerror(errno)).lowercased())")
        }
        buffer += chunk
        return count
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        Array(bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes)
    }
}
