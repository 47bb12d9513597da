import Coordinators
import FoundationEssentials
import JSONCoding
import Testing

@Suite struct JSONSchemaTests {
    enum Event: NavigationEvent {
        case nothing
        case login(email: String, password: Secret, remember: Bool?)
        case push(Int)
        case search(String?)
        case place(order: Order)
        case numbers(Numbers)
        case choices(Choices)
        case containers(Containers)
        case anything(json: JSON, object: JSONObject, map: [String: JSON])
        case foundation(Foundation)
        case customs(Customs)
        case tree(Tree)
        case amount(Amount?)

        static let examples: [Event] = [.nothing]
    }

    struct Order: Codable {
        var id: Int
        var address: Address?
        var lines: [Line]
    }

    struct Address: Codable {
        var key: UUID
        var street: String
        var country: Country
        var note: String?
    }

    struct Line: Codable {
        var product: String
        var count: UInt8
    }

    enum Country: String, Codable, CaseIterable { case de, fr }

    static func schema(_ event: Event) -> String? {
        JSONSchema.payloadSchema(of: event)?.description
    }

    @Test func `a case without values has no schema`() {
        enum Raw: String, NavigationEvent, CaseIterable { case tick }

        #expect(JSONSchema.payloadSchema(of: Event.nothing) == nil)
        #expect(JSONSchema.payloadSchema(of: Raw.tick) == nil)
    }

    @Test(arguments: [true, nil])
    func `labelled values are properties in declaration order, optional ones not required`(remember: Bool?) {
        let event = Event.login(email: "a@b", password: "hunter2", remember: remember)

        #expect(
            JSONSchemaTests.schema(event) == """
                {"type":"object","properties":{"email":{"type":"string"},"password":{"type":"string","writeOnly":true},\
                "remember":{"type":"boolean"}},"required":["email","password"]}
                """)
    }

    @Test func `a single unlabelled value has the schema of its type`() {
        #expect(JSONSchemaTests.schema(.push(7)) == #"{"type":"integer"}"#)
        #expect(JSONSchemaTests.schema(.search("x")) == #"{"type":"string"}"#)
        #expect(JSONSchemaTests.schema(.search(nil)) == #"{"type":"string"}"#)
    }

    @Test(arguments: [
        Order(id: 1, lines: []),
        Order(
            id: 1, address: Address(key: UUID(), street: "s", country: .fr),
            lines: [Line(product: "p", count: 1), Line(product: "q", count: 2)]),
    ])
    func `structs and arrays are described even if the example has none`(order: Order) {
        #expect(
            JSONSchemaTests.schema(.place(order: order)) == """
                {"type":"object","properties":{"order":{"type":"object","properties":{"id":{"type":"integer"},\
                "address":{"type":"object","properties":{"key":{"type":"string","format":"uuid"},"street":{"type":"string"},\
                "country":{"enum":["de","fr"]},"note":{"type":"string"}},"required":["key","street","country"]},\
                "lines":{"type":"array","items":{"type":"object","properties":{"product":{"type":"string"},\
                "count":{"type":"integer","minimum":0,"maximum":255}},"required":["product","count"]}}},\
                "required":["id","lines"]}},"required":["order"]}
                """)
    }

    struct Numbers: Codable {
        var a: Int8 = 0
        var b: UInt16 = 0
        var c: Int32 = 0
        var d: Int64 = 0
        var e: UInt = 0
        var f: UInt64 = 0
        var g: Float = 0
        var h: Double?
    }

    @Test func `integers have the bounds of their type`() {
        #expect(
            JSONSchemaTests.schema(.numbers(Numbers())) == """
                {"type":"object","properties":{"a":{"type":"integer","minimum":-128,"maximum":127},\
                "b":{"type":"integer","minimum":0,"maximum":65535},\
                "c":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"d":{"type":"integer"},\
                "e":{"type":"integer","minimum":0,"maximum":18446744073709551615},\
                "f":{"type":"integer","minimum":0,"maximum":18446744073709551615},"g":{"type":"number"},\
                "h":{"type":"number"}},"required":["a","b","c","d","e","f","g"]}
                """)
    }

    enum Size: Int, Codable, CaseIterable {
        case small = 1
        case large = 5
    }

    enum Unlisted: String, Codable { case only }

    enum Shape: Codable {
        case circle(radius: Double)
        case none
    }

    enum Plain: Codable, CaseIterable { case on, off }

    struct Choices: Codable {
        var size: Size
        var country: Country?
        var unlisted: Unlisted
        var maybe: Unlisted?
        var shape: Shape
        var shapes: [Shape]
        var plain: Plain?
    }

    @Test func `the values of an enum are listed if the type can list them`() {
        let choices = Choices(size: .large, unlisted: .only, shape: .circle(radius: 1), shapes: [])

        #expect(
            JSONSchemaTests.schema(.choices(choices)) == """
                {"type":"object","properties":{"size":{"enum":[1,5]},"country":{"enum":["de","fr"]},\
                "unlisted":{"type":"string"},"maybe":{"type":"string"},"shape":{"type":"object"},\
                "shapes":{"type":"array","items":{"type":"object"}},"plain":{"enum":[{"on":{}},{"off":{}}]}},\
                "required":["size","unlisted","shape","shapes"]}
                """)
    }

    struct Containers: Codable {
        var lists: [[Int]] = []
        var set: Set<String> = []
        var gaps: [Bool?] = []
        var map: [String: Line] = [:]
        var byCountry: [Country: Int]?
        var choices: [Size] = []
        var range: ClosedRange<Int>?
    }

    @Test(arguments: [
        Containers(),
        Containers(
            lists: [[], [1]], set: ["a"], gaps: [nil, true], map: ["a": Line(product: "p", count: 1)],
            choices: [.small], range: 1...2),
    ])
    func `arrays and maps describe their elements`(containers: Containers) {
        #expect(
            JSONSchemaTests.schema(.containers(containers)) == """
                {"type":"object","properties":{"lists":{"type":"array","items":{"type":"array","items":\
                {"type":"integer"}}},"set":{"type":"array","items":{"type":"string"}},\
                "gaps":{"type":"array","items":{"anyOf":[{"type":"boolean"},{"type":"null"}]}},\
                "map":{"type":"object","additionalProperties":{"type":"object","properties":\
                {"product":{"type":"string"},"count":{"type":"integer","minimum":0,"maximum":255}},\
                "required":["product","count"]}},"byCountry":{"type":"object",\
                "propertyNames":{"enum":["de","fr"]},"additionalProperties":{"type":"integer"}},"choices":{"type":"array","items":{"enum":[1,5]}},\
                "range":{"type":"array","items":{"type":"integer"}}},\
                "required":["lists","set","gaps","map","choices"]}
                """)
    }

    @Test func `a JSON value may be anything, a JSONObject only an object`() {
        #expect(
            JSONSchemaTests.schema(.anything(json: .null, object: [:], map: [:])) == """
                {"type":"object","properties":{"json":{},"object":{"type":"object"},\
                "map":{"type":"object","additionalProperties":{}}},"required":["json","object","map"]}
                """)
    }

    struct Foundation: Codable {
        var date: Date
        var url: URL
        var id: UUID
        var decimal: Decimal
        var data: Data
        var maybeDate: Date?
        var maybeURL: URL?
        var maybeID: UUID?
        var maybeDecimal: Decimal?
        var last: Bool
    }

    @Test func `Foundation types are described by what they decode`() throws {
        let url = try #require(URL(string: "https://example.com"))
        let event = Event.foundation(
            Foundation(date: Date(), url: url, id: UUID(), decimal: 1, data: Data(), last: true))

        let schema = try #require(JSONSchema.payloadSchema(of: event))

        let properties = try #require(schema["properties"]?.object)
        #expect(properties["date"] == ["type": "string", "format": "date-time"])
        #expect(properties["url"] == ["type": "string", "format": "uri-reference"])
        #expect(properties["id"] == ["type": "string", "format": "uuid"])
        #expect(properties["decimal"] == ["type": "number"])
        #expect(properties["data"] == ["type": "string", "contentEncoding": "base64"])
        #expect(properties["maybeDate"] == properties["date"])
        #expect(properties["maybeURL"] == properties["url"])
        #expect(properties["maybeID"] == properties["id"])
        #expect(properties["maybeDecimal"] == properties["decimal"])
        #expect(schema["required"] == ["date", "url", "id", "decimal", "data", "last"])
    }

    /// Cannot be decoded: neither from made-up values nor from its own encoding.
    struct Picky: Codable {
        struct Refused: Error {}

        var text = "x"
        var number = 1

        init() {}

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            text = try container.decode(String.self, forKey: .text)
            throw Refused()
        }
    }

    /// A number or a text.
    enum NumberOrText: Codable {
        case number(Int)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                self = .number(try container.decode(Int.self))
            } catch {
                self = .text(try container.decode(String.self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }
    }

    /// Decodes elements for ever, past the end of the array.
    struct Endless: Codable {
        init() {}

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            while true { _ = try container.decode(Bool.self) }
        }

        func encode(to encoder: any Encoder) throws { _ = encoder.unkeyedContainer() }
    }

    struct Silent: Codable {
        init() {}
        init(from decoder: any Decoder) throws {}
        func encode(to encoder: any Encoder) throws {}
    }

    struct Customs: Codable {
        var either = NumberOrText.text("x")
        var maybePicky: Picky?
        var endless: Endless?
        var silent: Silent?
        var picky = Picky()
        var last = true
    }

    @Test func `a type whose decoding throws does not hide the other members`() {
        #expect(
            JSONSchemaTests.schema(.customs(Customs())) == """
                {"type":"object","properties":{"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},\
                "maybePicky":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},\
                "endless":{"type":"array","items":{"type":"boolean"}},"silent":{},\
                "picky":{"type":"object","properties":{"text":{"type":"string"},"number":{"type":"integer"}},\
                "required":["text"]},"last":{"type":"boolean"}},"required":["either","picky"]}
                """)
    }

    struct Amount: Codable {
        let cents: UInt128

        init(cents: UInt128) { self.cents = cents }

        init(from decoder: any Decoder) throws {
            cents = try decoder.singleValueContainer().decode(UInt128.self)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(cents)
        }
    }

    @Test(arguments: [Amount(cents: 1), Amount(cents: .max)])
    func `an integer of 128 bits has its bounds`(amount: Amount) {
        #expect(JSONSchemaTests.schema(.amount(amount))?.hasPrefix(#"{"type":"integer","minimum":0"#) == true)
    }

    final class Tree: Codable, Sendable {
        let name: String
        let children: [Tree]
        let parent: Tree?

        init(_ name: String, children: [Tree] = []) {
            self.name = name
            self.children = children
            self.parent = nil
        }
    }

    @Test(arguments: [Tree("leaf"), Tree("root", children: [Tree("leaf", children: [Tree("x")])])])
    func `a recursive type is described only once`(tree: Tree) {
        #expect(
            JSONSchemaTests.schema(.tree(tree)) == """
                {"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{}},\
                "parent":{}},"required":["name","children"]}
                """)
    }

    @Test func `an event that is not encoded as an enum has no schema`() {
        struct Odd: NavigationEvent {
            static let examples = [Odd()]
            func encode(to encoder: any Encoder) throws { throw Picky.Refused() }
        }

        #expect(JSONSchema.payloadSchema(of: Odd()) == nil)
    }
}
