internal import ArgumentParser
internal import Glibc

extension ExitCode {
    /// The server cannot start: says why in standard error's next line. The code is one of sysexits.h.
    static func cannotStart(_ code: CInt, _ reason: String) -> ExitCode {
        StandardError.print("Error: \(reason)")
        return ExitCode(code)
    }
}

/// For what a command has to say before it ends. A server that runs says it through its logger, which never waits.
enum StandardError {
    /// One line, whatever the text holds.
    static func print(_ text: String) {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ").printable + "\n"
        write(STDERR_FILENO, line, line.utf8.count)
    }
}
