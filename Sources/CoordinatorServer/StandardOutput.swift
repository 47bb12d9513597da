internal import ArgumentParser
internal import ByteText
@preconcurrency internal import Glibc
internal import Synchronization

/// What commands print.
enum StandardOutput {
    /// From now on the process ends with an error if not everything that it has printed could be written: an export of
    /// which the end is missing must not look whole.
    static func reportFailure() {
        atexit {
            guard fflush(stdout) != 0 || ferror(stdout) != 0 else { return }
            StandardError.print("Error: standard output cannot be written: what was printed is not whole")
            _exit(EX_IOERR)
        }
    }
}

extension String {
    /// The text in one line that is safe to print on a terminal: control characters, and those that change the
    /// direction of text, are escaped as in JSON: `\u001b`. JSON text keeps its meaning.
    var printable: String {
        guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.steersTerminal {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var steersTerminal: Bool {
        // Nearly all characters are in this range.
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isBidiControl
        }
    }
}

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
