import JSONCoding
import Testing

@Suite struct JSONCoderTests {
    struct Nested: Codable, Equatable {
        var text: String
        var list: [Int?]
        var choice: Choice
        var optional: Double?
        var anything: JSON
    }

    enum Choice: Codable, Equatable {
        case none
        case one(Int)
        case fields(email: String, age: UInt8)
    }

    @Test(arguments: [Choice.none, .one(7), .fields(email: "a@b", age: 9)])
    func `an encoded value is decoded as an equal one`(choice: Choice) throws {
        let value = Nested(text: "x", list: [1, nil, 3], choice: choice, optional: nil, anything: ["a": [1, .null]])

        #expect(try JSON(encoding: value).decode(as: Nested.self) == value)
    }

    private struct Unordered: Codable {
        var set: Set<String> = []
        var byName: [String: Int] = [:]
        var byPosition: [Int: String] = [:]
        var byEnum: [Size: [String: Bool]] = [:]
        enum Size: String, Codable { case small, large }
    }

    @Test func `equal values are encoded alike, in whichever order their elements are`() throws {
        let names = (0..<40).map { "name \($0)" }
        var texts: Set<String> = []
        for order in [names, names.reversed(), names.shuffled()] {
            // Other capacities make for another order.
            var value = Unordered(set: Set(minimumCapacity: texts.count * 1000))
            value.set.formUnion(order)
            value.byName = Dictionary(minimumCapacity: texts.count * 1000)
            for name in order { value.byName[name] = name.count }
            for name in order { value.byPosition[Int(name.dropFirst(5)) ?? 0] = name }
            for size in [Unordered.Size.small, .large].shuffled() { value.byEnum[size] = ["a": true] }
            texts.insert(try JSON(encoding: value).description)
            #expect(try JSON(encoding: value).decode(as: Unordered.self).set == value.set)
            #expect(try JSON(encoding: value).decode(as: Unordered.self).byEnum == value.byEnum)
        }
        #expect(texts.count == 1)
    }

    @Test func `an enum is coded as SE-0295 says`() throws {
        #expect(try JSON(encoding: Choice.none) == ["none": [:]])
        #expect(try JSON(encoding: Choice.one(7)) == ["one": ["_0": 7]])
        #expect(try JSON(encoding: Choice.fields(email: "e", age: 1)) == ["fields": ["email": "e", "age": 1]])
    }

    static let misfits: [(JSON, String, String)] = [
        (["one": ["_0": "x"]], "/one/_0", "must be an integer in range"),
        (["fields": ["email": "e"]], "/fields/age", "is missing"),
        (["fields": ["email": "e", "age": 256]], "/fields/age", "must be an integer in range"),
        (["fields": ["email": "e", "age": -1]], "/fields/age", "must be an integer in range"),
        (["fields": ["email": .null, "age": 1]], "/fields/email", "must be a string"),
        // Nobody can tell which of several integers such a float stands for.
        (["one": ["_0": .number(-9_223_372_036_854_775_808)]], "/one/_0", "must be an integer in range"),
        (["one": ["_0": .number(9_007_199_254_740_992)]], "/one/_0", "must be an integer in range"),
    ]

    @Test(arguments: misfits)
    func `a value that does not fit is reported with its pointer`(json: JSON, pointer: String, reason: String) {
        let error = #expect(throws: JSONDecodingError.self) { try json.decode(as: Choice.self) }

        #expect(error?.pointer == pointer)
        #expect(error?.reason == reason)
    }

    @Test func `numbers are the same however they are written`() throws {
        #expect(try JSON.number(7).decode(as: Int.self) == 7)
        #expect(try JSON.integer(7).decode(as: Double.self) == 7)
        #expect(throws: JSONDecodingError.self) { try JSON.number(7.5).decode(as: Int.self) }
        #expect(throws: JSONDecodingError.self) { try JSON.number(1e300).decode(as: Int.self) }
    }

    @Test func `a pointer escapes slashes and tildes in names`() {
        #expect(JSONDecodingError(path: ["a/b", "c~d"], reason: "").pointer == "/a~1b/c~0d")
        #expect(JSONDecodingError(path: ["a/\u{301}b"], reason: "").pointer == "/a~1\u{301}b", "also below an accent")
    }

    @Test func `what JSON cannot hold is refused`() {
        #expect(throws: JSONEncodingError.self) { try JSON(encoding: [Double.infinity]) }
    }
}
