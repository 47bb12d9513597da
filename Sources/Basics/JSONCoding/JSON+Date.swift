/// In JSON a time is a text in UTC: `2026-11-23T09:15:00Z` (RFC 3339), with milliseconds if there are any.
///
/// Not written and read by Foundation, which turns the 30th of February into another day, and uses the Julian calendar
/// before 1582. A text that is no time must be refused, and a saved time must be restored unchanged.
extension JSON {
    /// The text of a time, to the millisecond. Its year must have four digits, see `canHold`.
    public init(_ date: Date) {
        let milliseconds = date.milliseconds
        self = .string(Date.timestamp(milliseconds, hasFraction: milliseconds % 1000 != 0))
    }

    /// The time that the value is the text of, to the millisecond; `nil` if it is no such text. The text may have any
    /// offset, but no leap second.
    public var date: Date? {
        guard let text = string else { return nil }
        var rest = TimeText(rest: Array(text.utf8)[...])
        guard let year = rest.number(4), rest.take("-"), let month = rest.number(2), rest.take("-"),
            let day = rest.number(2), rest.take("T") || rest.take("t"), let hour = rest.number(2), rest.take(":"),
            let minute = rest.number(2), rest.take(":"), let second = rest.number(2),
            let fraction = rest.take(".") ? rest.milliseconds() : 0, let offset = rest.offset(), rest.rest.isEmpty,
            year > 0, hour < 24, minute < 60, second < 60, let date = CalendarDay(year, month, day)
        else { return nil }
        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
        let time = Date(timeIntervalSince1970: Double((minutes * 60 + second) * 1000 + fraction) / 1000)
        return JSON.canHold(time) ? time : nil
    }

    /// Whether a time is in the years 1 to 9999, so that its text has four digits for the year.
    static func canHold(_ date: Date) -> Bool {
        let seconds = date.timeIntervalSince1970
        return (-62_135_596_800..<253_402_300_800).contains(seconds)
            && (-62_135_596_800_000..<253_402_300_800_000).contains(date.milliseconds)
    }
}

extension Date {
    /// The time in UTC, rounded down to seconds (RFC 3339): `2026-11-23T09:15:00Z`.
    package var timestamp: String {
        let seconds = Int(exactly: timeIntervalSince1970.rounded(.down)) ?? 0
        return Date.timestamp(seconds.multipliedReportingOverflow(by: 1000).partialValue, hasFraction: false)
    }

    /// The time in UTC with milliseconds: `2026-11-23T09:15:00.250Z`.
    package var timestampWithMilliseconds: String { Date.timestamp(milliseconds, hasFraction: true) }

    fileprivate static func timestamp(_ milliseconds: Int, hasFraction: Bool) -> String {
        let (days, time) = milliseconds.floored(by: 86_400_000)
        let day = CalendarDay(daysSince1970: days)
        var text = "\(day.year.padded(4))-\(day.month.padded(2))-\(day.day.padded(2))T"
        text += "\((time / 3_600_000).padded(2)):\((time / 60_000 % 60).padded(2)):\((time / 1000 % 60).padded(2))"
        if hasFraction { text += ".\((time % 1000).padded(3))" }
        return text + "Z"
    }

    fileprivate var milliseconds: Int { Int(exactly: (timeIntervalSince1970 * 1000).rounded()) ?? 0 }
}

/// Reads the text of a time from its beginning.
private struct TimeText {
    /// The bytes that have not been read yet.
    var rest: ArraySlice<UInt8>

    /// Reads a character, if it comes next.
    mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: letter) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a number of so many digits.
    mutating func number(_ count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    private mutating func digit() -> Int? {
        guard let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        rest.removeFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    /// Reads the fraction of a second. Digits after the third are ignored.
    mutating func milliseconds() -> Int? {
        guard var number = digit() else { return nil }
        var count = 1
        while let digit = digit() {
            if count < 3 { number = number * 10 + digit }
            count += 1
        }
        for _ in min(count, 3)..<3 { number *= 10 }
        return number
    }

    /// Reads the offset from UTC, in minutes.
    mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isNegative = take("-")
        guard isNegative || take("+"), let hours = number(2), take(":"), let minutes = number(2), hours < 24,
            minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isNegative ? -1 : 1)
    }
}

/// A day of the Gregorian calendar, which is also used for the time before 1582.
private struct CalendarDay {
    let year: Int
    let month: Int
    let day: Int

    private static let daysOf400Years = 146_097
    /// From the first of March of the year 0 to 1970.
    private static let daysTo1970 = 719_468

    /// - Returns: `nil` if there is no such day.
    init?(_ year: Int, _ month: Int, _ day: Int) {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...12).contains(month), (1...lengths[month - 1]).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Counted in years that begin with March, so that the leap day is the last one.
    init(daysSince1970: Int) {
        let (era, dayOfEra) = (daysSince1970 + CalendarDay.daysTo1970).floored(by: CalendarDay.daysOf400Years)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floored(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * CalendarDay.daysOf400Years + dayOfEra - CalendarDay.daysTo1970
    }
}

extension Int {
    /// The quotient rounded down, and the rest, which is not negative.
    fileprivate func floored(by divisor: Int) -> (Int, Int) {
        let rest = (self % divisor + divisor) % divisor
        return ((self - rest) / divisor, rest)
    }

    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}
