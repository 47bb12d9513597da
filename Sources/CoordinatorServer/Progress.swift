internal import Glibc

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
        // What is counted may have grown since it was.
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
