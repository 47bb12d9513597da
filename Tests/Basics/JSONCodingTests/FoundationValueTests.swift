import Foundation
import JSONCoding
import Testing

/// Foundation's values and numbers beyond `Int` and `Double`, as Swift's own JSON encoder writes them, and exact.
@Suite struct FoundationValueTests {
    private static func decoded<Value: Decodable>(_ text: String, as type: Value.Type = Value.self) throws -> Value {
        try JSON(parsing: Array(text.utf8)).decode()
    }

    private static func text(_ value: some Encodable) throws -> String { try JSON(encoding: value).description }

    @Test(arguments: [
        "9.99", "0", "-0.1", "123456789012345678901234567890.12345678", "99999999999999999999999999999999999999",
        "0.1234567890123456789", "9007199254740993", "-18446744073709551617.5",
        "0.00000000000000000000000000000000000001",
        "3.14159265358979323846264338327950288419",
    ])
    func `a decimal keeps every digit`(text: String) throws {
        let decimal: Decimal = try FoundationValueTests.decoded(text)

        #expect(decimal.description == text)
        #expect(try FoundationValueTests.decoded(FoundationValueTests.text(decimal)) == decimal)
        #expect(try JSON(parsing: Array(text.utf8)).decimal == decimal)
    }

    @Test(arguments: [("1.50", "1.5"), ("15e-1", "1.5"), ("1e3", "1000"), ("-0.0", "0"), ("12E+30", "12e30")])
    func `a decimal may be written in other ways`(text: String, other: String) throws {
        #expect(
            try FoundationValueTests.decoded(text, as: Decimal.self)
                == FoundationValueTests.decoded(other, as: Decimal.self))
    }

    @Test(arguments: [
        "1.23456789012345678901234567890123456789012", "1e-300", "1e300", "\"9.99\"", "{\"mantissa\":[1]}", "null",
    ])
    func `what is no decimal, or has too many digits, is refused`(text: String) {
        let error = #expect(throws: JSONDecodingError.self) {
            try FoundationValueTests.decoded(text, as: Decimal.self)
        }
        #expect(error?.reason == "must be a number of at most 38 digits")
    }

    @Test func `every power of ten that a decimal holds is read as it was written`() throws {
        for exponent in -128...127 {
            let decimal = Decimal(sign: .minus, exponent: exponent, significand: 7)
            #expect(try FoundationValueTests.decoded(FoundationValueTests.text(decimal)) == decimal, "7e\(exponent)")
        }
    }

    @Test(arguments: ["18446744073709551615", "9223372036854775808", "9223372036854775807", "0"])
    func `an unsigned integer is whole up to its last`(text: String) throws {
        let number: UInt64 = try FoundationValueTests.decoded(text)

        #expect(String(number) == text)
        #expect(try FoundationValueTests.text(number) == text)
        #expect(try FoundationValueTests.text(UInt(number)) == text)
        #expect(try FoundationValueTests.decoded(text + ".0", as: UInt64.self) == number || text.count == 19)
    }

    @Test func `integers of 128 bits are whole`() throws {
        for number in [Int128.min, .max, -1] {
            #expect(try FoundationValueTests.decoded(FoundationValueTests.text(number)) == number)
        }
        #expect(try FoundationValueTests.decoded(FoundationValueTests.text(UInt128.max)) == UInt128.max)
    }

    @Test func `an integer out of range is refused`() {
        for text in ["18446744073709551616", "-1", "18446744073709551615.5"] {
            #expect(throws: JSONDecodingError.self) { try FoundationValueTests.decoded(text, as: UInt64.self) }
        }
        #expect(throws: JSONDecodingError.self) {
            try FoundationValueTests.decoded("9223372036854775808", as: Int.self)
        }
    }

    @Test(arguments: [
        ("0.12345678901234567890", "0.1234567890123456789"), ("123456789012345678.25", "123456789012345678.25"),
        ("1.2345678901234567890e20", "123456789012345678900"), ("12345678901234567890", "12345678901234567890"),
        ("0.1", "0.1"), ("1e2", "100.0"), ("-1.7976931348623157e308", "-1.7976931348623157e+308"),
        ("1.234567890123456789e-30", "1.234567890123456789e-30"), ("1e-400", "1e-400"),
        ("1.00000000000000000000", "1.0"),
    ])
    func `a number that no type has read keeps its digits`(text: String, written: String) throws {
        let json = try JSON(parsing: Array(text.utf8))

        #expect(json.description == written)
        #expect(try JSON(parsing: Array(written.utf8)) == json)
        #expect(try JSON(encoding: json).decode(as: JSON.self) == json)
        #expect(json.number == Double(text))
    }

    @Test func `a float of 32 bits has its own digits`() throws {
        #expect(
            try FoundationValueTests.text([Float(0.1), 16_777_216, .leastNonzeroMagnitude]) == "[0.1,16777216.0,1e-45]")
        #expect(try FoundationValueTests.decoded("0.1", as: Float.self) == 0.1)
    }

    private struct Values: Codable, Equatable {
        var url = URL(string: "https://example.com/a?b=c")
        var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        var data = Data([0, 255, 16])
    }

    @Test func `URLs, UUIDs and data are texts`() throws {
        let values = Values()
        let text = #"{"url":"https://example.com/a?b=c","id":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","data":"AP8Q"}"#

        #expect(try FoundationValueTests.text(values) == text)
        #expect(try FoundationValueTests.decoded(text) == values)
    }

    @Test func `they are what Foundation's own encoder writes`() throws {
        let encoder = Foundation.JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        struct All: Codable {
            var data = Data([1, 2, 3])
            var decimal = Decimal(string: "12345678901234567890.123456789")
            var float = Float(0.1)
            var id = UUID()
            var large = UInt64.max
            var url = URL(string: "a/b", relativeTo: URL(string: "https://example.com/"))
        }
        let all = All()

        #expect(try FoundationValueTests.text(all) == String(decoding: encoder.encode(all), as: UTF8.self))
    }

    @Test(arguments: [
        ("url", "7", "must be a URL"), ("url", "{\"relative\":\"a\"}", "must be a URL"),
        ("id", "\"x\"", "must be a UUID"),
        ("data", "[1]", "must be Base64"), ("data", "\"*\"", "must be Base64"),
    ])
    func `another form is refused by its name`(member: String, value: String, reason: String) {
        let error = #expect(throws: JSONDecodingError.self) {
            let json: JSON = try JSON(parsing: Array(value.utf8))
            var object: JSON = ["data": ""]
            object[member] = json
            _ = try object.decode(as: Values.self)
        }
        #expect(error?.path == [member] && error?.reason == reason)
    }

    private enum Size: String, Codable { case small, large }
    private enum Floor: Int, Codable { case cellar = -1, ground, first }
    private struct Maps: Codable, Equatable {
        var sizes: [Size: [Int]] = [.large: [1], .small: []]
        var floors: [Floor: [Size: Bool]] = [.first: [.small: true], .cellar: [:]]
    }

    @Test func `a dictionary whose keys have raw values is an object`() throws {
        let text = #"{"sizes":{"large":[1],"small":[]},"floors":{"-1":{},"1":{"small":true}}}"#

        #expect(try FoundationValueTests.text(Maps()) == text)
        #expect(try FoundationValueTests.decoded(text) == Maps())
    }

    @Test(arguments: [
        (#"{"sizes":{"huge":[]},"floors":{}}"#, ["sizes", "huge"]),
        (#"{"sizes":{},"floors":{"01":{}}}"#, ["floors", "01"]),
        (#"{"sizes":{"small":["x"]},"floors":{}}"#, ["sizes", "small", "0"]),
    ])
    func `a name that is no key is refused, and named`(text: String, path: [String]) {
        let error = #expect(throws: JSONDecodingError.self) { try FoundationValueTests.decoded(text, as: Maps.self) }
        #expect(error?.path == path)
    }

    @Test func `what JSON cannot hold is refused, and named`() {
        struct Rates: Encodable {
            var rates: [String: [Double]] = ["EUR": [1, .infinity]]
        }
        #expect(throws: JSONEncodingError.self) { try JSON(encoding: Decimal.nan) }
        #expect(throws: JSONEncodingError.self) { try JSON(encoding: Float.infinity) }
        let error = #expect(throws: JSONEncodingError.self) { try JSON(encoding: Rates()) }
        #expect(error?.path == ["rates", "EUR", "1"] && error?.reason == "is infinite or not a number")
    }
}
