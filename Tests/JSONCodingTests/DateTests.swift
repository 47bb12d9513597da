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

    @Test func `offsets and what an earlier build saved are understood`() throws {
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        #expect(JSON.string("2027-01-15T10:00:00+02:00").date == date)
        #expect(try (["at": 821_692_800] as JSON).decode(as: Booking.self).at == date)
    }

    @Test(arguments: ["", "2027-01-15", "2027-13-01T00:00:00Z", "yesterday"])
    func `anything else is no time`(text: String) {
        let json: JSON = ["at": .string(text)]
        let error = #expect(throws: JSONDecodingError.self) { try json.decode(as: Booking.self) }
        #expect(error?.path == ["at"] && error?.reason == "must be a time, such as 2026-11-23T09:15:00Z")
    }

    @Test func `a year of five digits cannot be written`() {
        #expect(throws: EncodingError.self) { try JSON(encoding: Booking(at: Date(timeIntervalSince1970: 1e12))) }
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
