import JSONCoding
import Testing

@Suite struct JSONReaderTests {
    static let readable: [(String, JSON)] = [
        ("null", JSON.null), ("true", true), ("-0", 0), ("12", 12), ("-7", -7), ("1.5", 1.5), ("1e3", .number(1000)),
        ("9223372036854775807", .integer(.max)), ("9223372036854775808", JSON(integer: UInt64(1) << 63)),
        ("\"\"", ""), (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\ud83d\ude00""#, "é😀"),
        ("\"로그인\"", "로그인"),
        ("[]", []), (" [1 , [2]]\n", [1, [2]]), ("{}", [:]), (#"{"a":{"b":null}}"#, ["a": ["b": .null]]),
    ]

    static let unreadable: [(String, JSONSyntaxError.Reason, Int)] = [
        ("", .unexpectedEnd, 0), ("nul", .unexpectedEnd, 3), ("nulL", .unexpectedByte, 3),
        ("[1,]", .unexpectedByte, 3), ("[1 2]", .unexpectedByte, 3), ("{\"a\" 1}", .unexpectedByte, 5),
        ("{a:1}", .unexpectedByte, 1), ("{\"a\":1,}", .unexpectedByte, 7), ("1 2", .trailingBytes, 2),
        ("01", .trailingBytes, 1), ("1.", .unexpectedEnd, 2), (".5", .unexpectedByte, 0), ("+1", .unexpectedByte, 0),
        ("1e", .unexpectedEnd, 2), ("-", .unexpectedEnd, 1), ("-x", .invalidNumber, 1), ("1e999", .invalidNumber, 0),
        ("NaN", .unexpectedByte, 0), ("\"", .unexpectedEnd, 1), ("\"a\nb\"", .controlCharacter, 2),
        (#""\x""#, .invalidEscape, 2), (#""\u12g4""#, .invalidEscape, 5), (#""\ud800""#, .loneSurrogate, 3),
        (#""\udc00""#, .loneSurrogate, 3), (#""\ud800\u0041""#, .loneSurrogate, 3),
        (#"{"a":1,"a":2}"#, .duplicateName, 7),
        (#"{"a":1,"\u0061":2}"#, .duplicateName, 7), ("'a'", .unexpectedByte, 0), ("\u{FEFF}1", .unexpectedByte, 0),
    ]

    @Test(arguments: readable)
    func `reads what RFC 8259 allows`(text: String, expected: JSON) throws {
        #expect(try JSON(parsing: Array(text.utf8)) == expected)
    }

    @Test(arguments: unreadable)
    func `refuses what is not JSON, and says where`(text: String, reason: JSONSyntaxError.Reason, offset: Int) {
        #expect(throws: JSONSyntaxError(reason: reason, offset: offset)) { try JSON(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [[0x22, 0xFF, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] as [[UInt8]])
    func `refuses what is not UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONSyntaxError(reason: .invalidUTF8, offset: 1)) { try JSON(parsing: bytes) }
    }

    @Test func `nests 32 deep and no deeper`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }

        #expect(throws: Never.self) { try JSON(parsing: nested(32)) }
        let siblings = Array("[\(Array(repeating: "[]", count: 33).joined(separator: ","))]".utf8)
        #expect(throws: Never.self) { try JSON(parsing: siblings) }
        #expect(throws: JSONSyntaxError(reason: .nestedTooDeep, offset: 32)) { try JSON(parsing: nested(33)) }
    }

    @Test func `names that look alike are two names`() throws {
        let json = try JSON(parsing: Array(#"{"\u00e9":1,"e\u0301":2}"#.utf8))

        #expect(json["\u{e9}"] == 1)
        #expect(json["e\u{301}"] == 2)
    }

    @Test func `finds a repeated name among many`() {
        let members = (0..<1000).map { "\"n\($0)\":0" } + ["\"n500\":1"]

        #expect(throws: JSONSyntaxError.self) { try JSON(parsing: Array("{\(members.joined(separator: ","))}".utf8)) }
    }

    @Test func `what was written is read back equal`() throws {
        let value: JSON = [
            "text": "quote \" backslash \\ line \n bell \u{7} snow ☃ \u{1F600}",
            "numbers": [0, -1, 1.25, .integer(.min), .number(1e300)],
            "": ["nested": [true, false, .null, [:], []]],
        ]

        #expect(try JSON(parsing: Array(value.description.utf8)) == value)
    }

    @Test func `objects are equal whatever the order of their members`() {
        #expect(["a": 1, "b": 2] as JSON == ["b": 2, "a": 1])
        #expect(["a": 1, "b": 2] as JSON != ["a": 1])
    }
}
