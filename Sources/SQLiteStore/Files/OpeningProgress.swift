/// Reports how far work is that delays the opening of a store: a line every five seconds.
struct OpeningProgress {
    private static let interval = Duration.seconds(5)

    /// What is done, as the report begins.
    let work: String
    /// The number of the last row.
    let last: Int
    let report: (String) -> Void
    private var next = ContinuousClock.now + interval

    init(_ work: String, last: Int, _ report: @escaping (String) -> Void) {
        self.work = work
        self.last = last
        self.report = report
    }

    /// - Parameter row: the number of the row that was read last.
    mutating func show(_ row: Int) {
        guard ContinuousClock.now >= next else { return }
        next = .now + OpeningProgress.interval
        report("\(work): row \(row) of \(last) of the journal")
    }
}
