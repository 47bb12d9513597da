/// Times travel as text, in UTC: `2026-11-23T09:15:00Z` (RFC 3339), with milliseconds if there are any.
///
/// Written and read here and not by Foundation, which corrects the 30th of February and counts days before 1582 by the
/// Julian calendar: what a client sends must be a time, or be refused, and what is saved must be read as it was.
extension JSON {
    /// To the millisecond; with four digits for the year, see `canHold`.
    public init(_ date: Date) {
        let milliseconds = JSON.milliseconds(date)
        let (days, time) = milliseconds.floored(by: 86_400_000)
        let day = CalendarDay(daysSince1970: days)
        var text = "\(day.year.padded(4))-\(day.month.padded(2))-\(day.day.padded(2))T"
        text += "\((time / 3_600_000).padded(2)):\((time / 60_000 % 60).padded(2)):\((time / 1000 % 60).padded(2))"
        if time % 1000 != 0 { text += ".\((time % 1000).padded(3))" }
        self = .string(text + "Z")
    }

    /// The time, if the value is the text of one, to the millisecond. Offsets other than `Z` are understood; leap seconds
    /// are not.
    public var date: Date? {
        guard let text = string,
            let parts = text.wholeMatch(
                of: #/(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))/#
                    .asciiOnlyDigits())?.output,
            let year = Int(parts.1), let month = Int(parts.2), let day = Int(parts.3), let hour = Int(parts.4),
            let minute = Int(parts.5), let second = Int(parts.6),
            year > 0, hour < 24, minute < 60, second < 60, let date = CalendarDay(year, month, day)
        else { return nil }
        let fraction = Int(((parts.7 ?? "") + "000").prefix(3)) ?? 0
        let (offsetHours, offsetMinutes) = (Int(parts.9 ?? "0") ?? 0, Int(parts.10 ?? "0") ?? 0)
        guard offsetHours < 24, offsetMinutes < 60 else { return nil }
        let offset = (offsetHours * 60 + offsetMinutes) * (parts.8 == "-" ? -1 : 1)
        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
        let time = Date(timeIntervalSince1970: Double((minutes * 60 + second) * 1000 + fraction) / 1000)
        return JSON.canHold(time) ? time : nil
    }

    /// Whether the year of the text has four digits, and is not 0.
    static func canHold(_ date: Date) -> Bool {
        let seconds = date.timeIntervalSince1970
        return (-62_135_596_800..<253_402_300_800).contains(seconds)
            && (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds(date))
    }

    private static func milliseconds(_ date: Date) -> Int {
        Int(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? 0
    }
}

/// A day of the Gregorian calendar, also before 1582.
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
