/// Times travel as text, in UTC: `2026-11-23T09:15:00Z` (RFC 3339), with milliseconds if there are any.
extension JSON {
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let rounded = Date(timeIntervalSince1970: milliseconds / 1000)
        let hasFraction = milliseconds.remainder(dividingBy: 1000) != 0
        self = .string(rounded.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)))
    }

    /// The time, if the value is the text of one. Offsets other than `Z` are understood.
    public var date: Date? {
        guard let text = string else { return nil }
        for hasFraction in [false, true] {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
            if let date = try? style.parse(text) { return date }
        }
        return nil
    }

    /// The time that `Date` encodes as without this module: seconds since 2001. Saved so by earlier versions.
    var oldDate: Date? { number.map { Date(timeIntervalSinceReferenceDate: $0) } }

    /// Whether the text has four digits for the year.
    static func canHold(_ date: Date) -> Bool {
        (-62_167_219_200..<253_402_300_800).contains(date.timeIntervalSince1970)
    }
}
