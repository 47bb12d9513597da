internal import FoundationEssentials
internal import Synchronization

/// Times in the form of RFC 3339: `2026-10-01T12:00:00Z`.
enum Timestamp {
    /// The last time that was formatted. Most answers within one second contain the same expiry, and formatting takes
    /// longer than all the rest of an answer.
    private static let last = Mutex((date: Date.distantPast, text: ""))

    static func text(of date: Date) -> String {
        last.withLock { last in
            if last.date != date { last = (date, date.formatted(.iso8601)) }
            return last.text
        }
    }
}
