import Foundation
import JSONCoding
import Testing

@Suite struct DateTests {
    private struct Booking: Codable, Equatable {
        var at: Date
        var until: Date?
    }

    @Test(arguments: [
        (1_800_000_000.0, "2027-01-15T08:00:00Z"), (1_800_000_000.25, "2027-01-15T08:00:00.250Z"),
        (0, "1970-01-01T00:00:00Z"), (-0.5, "1969-12-31T23:59:59.500Z"),
    ])
    func `a time is a text in UTC`(seconds: Double, text: String) throws {
        let booking = Booking(at: Date(timeIntervalSince1970: seconds))
        let json = try JSON(encoding: booking)

        #expect(json == ["at": .string(text)])
        #expect(try json.decode(as: Booking.self) == booking)
        #expect(JSON(booking.at) == .string(text) && JSON.string(text).date == booking.at)
        #expect(try JSON(encoding: booking.at) == .string(text))
    }

    @Test(arguments: [
        "2027-01-15T10:00:00+02:00", "2027-01-15t08:00:00z", "2027-01-15T08:00:00.0004Z", "2027-01-14T23:30:00-08:30",
    ])
    func `offsets and fractions are understood`(text: String) {
        #expect(JSON.string(text).date == Date(timeIntervalSince1970: 1_800_000_000))
    }

    @Test func `every millisecond is read as it was written`() throws {
        var seconds = -62_135_596_800.0
        while seconds < 253_402_300_800 {
            for millisecond in [0, 1, 32, 34, 999] {
                let date = Date(timeIntervalSince1970: seconds + Double(millisecond) / 1000)
                let text = JSON(date)
                let read = try #require(text.date)
                #expect(JSON(read) == text)
            }
            seconds += 7_654_321_987.5.rounded()
        }
        #expect(JSON(Date(timeIntervalSince1970: -62_135_596_800)) == "0001-01-01T00:00:00Z")
        #expect(JSON.string("9999-12-31T23:59:59.999Z").date.map { JSON($0) } == "9999-12-31T23:59:59.999Z")
        #expect(JSON.string("1582-10-10T00:00:00Z").date.map { JSON($0) } == "1582-10-10T00:00:00Z")
        #expect(JSON.string("2024-02-29T12:00:00Z").date.map { JSON($0) } == "2024-02-29T12:00:00Z")
    }

    @Test func `a number is no time`() {
        #expect(throws: JSONDecodingError.self) { try (["at": 821_692_800] as JSON).decode(as: Booking.self) }
    }

    @Test(arguments: [
        "", "2027-01-15", "2027-13-01T00:00:00Z", "yesterday", "2020-02-30T00:00:00Z", "2023-02-29T00:00:00Z",
        "2020-01-01T24:00:00Z", "2020-01-01T00:00:60Z", "2020-1-1T0:0:0Z", "2020-01-01T00:00:00Z\u{0}",
        "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "2020-01-01T00:00:00",
        "٢٠٢٠-01-01T00:00:00Z",
    ])
    func `anything else is no time`(text: String) {
        let json: JSON = ["at": .string(text)]
        let error = #expect(throws: JSONDecodingError.self) { try json.decode(as: Booking.self) }
        #expect(error?.path == ["at"] && error?.reason == "must be a time, such as 2026-11-23T09:15:00Z")
    }

    @Test func `a year of five digits cannot be written`() {
        #expect(throws: JSONEncodingError.self) { try JSON(encoding: Booking(at: Date(timeIntervalSince1970: 1e12))) }
    }

    @Test func `members are assigned and removed in place`() {
        var json: JSON = ["a": 1, "b": 2]
        json["a"] = 3
        json["b"] = nil
        json["c"] = []
        #expect(json == ["a": 3, "c": []])
        var text: JSON = "x"
        text["a"] = 1
        #expect(text == ["a": 1])
    }
}
