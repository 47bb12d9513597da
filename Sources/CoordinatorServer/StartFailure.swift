internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Synchronization

extension ExitCode {
    /// The server cannot start: prints the reason to standard error, in one line. The code is one of sysexits.h.
    static func cannotStart(_ code: CInt, _ reason: String) -> ExitCode {
        StandardError.print("Error: \(reason)")
        return ExitCode(code)
    }
}

/// For a command's messages. A running server uses its logger instead, which never waits.
enum StandardError {
    /// Whether the terminal's last line has been drawn, and is to be replaced.
    private static let isDrawn = Atomic(false)

    /// Prints one line, whatever the text contains.
    static func print(_ text: String) {
        erase()
        write(text.lines.joined(separator: " ").printable + "\n")
    }

    /// Writes a text that is replaced by what is written next, on a terminal.
    static func draw(_ text: String) {
        isDrawn.store(true, ordering: .relaxed)
        write("\r\(text)\u{1B}[K")
    }

    static func erase() {
        if isDrawn.exchange(false, ordering: .relaxed) { write("\r\u{1B}[K") }
    }

    private static func write(_ text: String) {
        _ = Glibc.write(STDERR_FILENO, text, text.utf8.count)
    }
}
