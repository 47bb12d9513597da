internal import ArgumentParser
internal import Glibc

extension ExitCode {
    /// The server cannot start: prints the reason to standard error, in one line. The code is one of sysexits.h.
    static func cannotStart(_ code: CInt, _ reason: String) -> ExitCode {
        StandardError.print("Error: \(reason)")
        return ExitCode(code)
    }
}

/// For a command's messages. A running server uses its logger instead, which never waits.
enum StandardError {
    /// Prints one line, whatever the text contains.
    static func print(_ text: String) {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ").printable + "\n"
        write(STDERR_FILENO, line, line.utf8.count)
    }
}
