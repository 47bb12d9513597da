package import ArgumentParser
internal import ByteText
@preconcurrency internal import Glibc
internal import Logging
internal import Synchronization

/// What commands print.
enum StandardOutput {
    /// Makes the process end with an error if not everything that it has printed could be written: a truncated export
    /// must not look whole. Call once.
    static func checkAtExit() {
        atexit {
            guard fflush(stdout) != 0 || ferror(stdout) != 0 else { return }
            StandardError.print("Error: standard output cannot be written: what was printed is not whole")
            _exit(EX_IOERR)
        }
    }
}

extension String {
    /// Why a call of the system has failed, within a sentence.
    package static func systemError(_ code: CInt = errno) -> String { String(cString: strerror(code)).lowercased() }

    /// The text in one line that is safe to print on a terminal: control characters, and those that are invisible or change
    /// the direction of text, are escaped as in JSON: `\u001b`. JSON text keeps its meaning.
    var printable: String {
        guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            guard scalar.steersTerminal else {
                text.unicodeScalars.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar) ?? .init() {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
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
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}

extension ExitCode {
    /// The program cannot start or go on: prints the reason to standard error, in one line. The code is one of
    /// sysexits.h, or 1.
    package static func cannotStart(_ code: CInt, _ reason: String) -> ExitCode {
        StandardError.print("Error: \(reason)")
        return ExitCode(code)
    }
}

/// Writes a command's messages. A running server uses its logger instead, which never blocks.
enum StandardError {
    /// Whether the terminal's last line is a drawn text, which the next output replaces.
    private static let isDrawn = Atomic(false)
    private static let isJSON = Atomic(false)

    /// Prints one line, whatever the text contains.
    static func print(_ text: String) {
        erase()
        let text = text.lines.joined(separator: " ")
        guard isJSON.load(ordering: .relaxed) else { return write(text.printable + "\n") }
        let kinds: [(String, Logger.Level)] = [("Error: ", .critical), ("Warning: ", .warning)]
        let kind = kinds.first { text.begins(with: $0.0) }
        let message = kind.map { String(Substring(text.utf8.dropFirst($0.0.utf8.count))) } ?? text
        write(LineLogHandler.line(kind?.1 ?? .info, message, by: "server", .json) + "\n")
    }

    /// As JSON, what is printed becomes an entry of the server's log: what begins with “Error: ” a critical one.
    static func setFormat(_ format: LineLogHandler.Format) { isJSON.store(format == .json, ordering: .relaxed) }

    /// Writes a text on a terminal. The next output replaces it.
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

/// Shows on standard error how far work is: on a terminal as a bar, elsewhere as a line now and then. Work that takes
/// less than a second shows nothing.
struct Progress {
    private static let width = 40
    private static let isTerminal =
        isatty(STDERR_FILENO) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
    private static let interval: Duration = isTerminal ? .milliseconds(200) : .seconds(10)

    private let work: String
    private let unit: String
    private var next = ContinuousClock.now + .seconds(1)

    /// - Parameters:
    ///   - work: what is done, as a line begins: `backup`.
    ///   - unit: what is counted where the whole is not known: `sessions`.
    init(_ work: String, unit: String = "sessions") {
        self.work = work
        self.unit = unit
    }

    /// - Parameter total: the whole; `nil` if it is not known.
    mutating func show(_ done: @autoclosure () -> Int, of total: Int?) {
        guard ContinuousClock.now >= next else { return }
        next = .now + Progress.interval
        guard let total else { return put("\(work): \(done()) \(unit) so far") }
        // There may be more to do than when the total was counted.
        let share = total > 0 ? min(max(0, Double(done()) / Double(total)), 1) : 1
        let percent = "\(Int(100 * share)) %"
        guard Progress.isTerminal else { return put("\(work): \(percent)") }
        let filled = Int(Double(Progress.width) * share)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Progress.width - filled)
        put("\(work) [\(bar)] \(percent)")
    }

    /// Removes the bar. Also call it before writing to standard output, which may be the same terminal.
    func hide() { StandardError.erase() }

    private func put(_ text: String) {
        if Progress.isTerminal { StandardError.draw(text) } else { StandardError.print(text) }
    }
}
