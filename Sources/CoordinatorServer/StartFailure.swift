internal import ArgumentParser
internal import Glibc

extension ExitCode {
    /// The server cannot start: says why in standard error's next line. The code is one of sysexits.h.
    static func cannotStart(_ code: CInt, _ reason: String) -> ExitCode {
        let line = "Error: \(reason)\n"
        write(STDERR_FILENO, line, line.utf8.count)
        return ExitCode(code)
    }
}
