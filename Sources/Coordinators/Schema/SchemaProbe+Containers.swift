internal import JSONCoding

struct SchemaProbeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// The example's object.
    let object: JSONObject?
    let probe: SchemaProbe
    var codingPath: [any CodingKey] { probe.codingPath }

    var allKeys: [Key] {
        probe.trace.noteNames()
        return object?.names.compactMap { Key(stringValue: $0) } ?? []
    }

    func contains(_ key: Key) -> Bool {
        _ = member(key, isRequired: false)
        return true
    }

    func decodeNil(forKey key: Key) -> Bool {
        _ = member(key, isRequired: false)
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decode(type)
    }

    /// Never throws: whatever is wrong with an optional value, the type must still ask for the values after it.
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
        let member = member(key, isRequired: false)
        let value = try? member.decode(type)
        return member.json == nil ? nil : value
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { member(TextKey(stringValue: "super")) }
    func superDecoder(forKey key: Key) -> any Decoder { member(key) }

    private func member(_ key: any CodingKey, isRequired: Bool = true) -> SchemaProbe {
        let trace = probe.trace.noteMember(key.stringValue, isRequired: isRequired)
        return probe.nested(object?[key.stringValue], trace, key)
    }
}

/// If the example has no elements, one is made up, and more for a type that does not check for the end.
struct SchemaProbeUnkeyedContainer: UnkeyedDecodingContainer {
    let elements: [JSON]
    let element: SchemaTrace
    let probe: SchemaProbe
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { probe.codingPath }
    var count: Int? { max(elements.count, 1) }
    var isAtEnd: Bool { currentIndex >= max(elements.count, 1) }

    private static let madeUpLimit = 64

    init(elements: [JSON], element: SchemaTrace, probe: SchemaProbe) {
        self.elements = elements
        self.element = element
        self.probe = probe
    }

    func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next().decode(type)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }

    /// Advances in any case, so that loops that skip elements that do not fit come to an end.
    private mutating func next() throws -> SchemaProbe {
        let key = TextKey(intValue: currentIndex)
        let limit = elements.isEmpty ? SchemaProbeUnkeyedContainer.madeUpLimit : elements.count
        guard currentIndex < limit else {
            throw DecodingError.valueNotFound(JSON.self, .init(codingPath: codingPath + [key], debugDescription: ""))
        }
        let json = elements.isEmpty ? nil : elements[currentIndex]
        currentIndex += 1
        return probe.nested(json, element, key)
    }
}

struct SchemaProbeSingleValueContainer: SingleValueDecodingContainer {
    let probe: SchemaProbe
    var codingPath: [any CodingKey] { probe.codingPath }

    /// A text that is also a valid UUID and URL.
    private static let madeUpText = "00000000-0000-0000-0000-000000000000"

    func decodeNil() -> Bool { false }
    func decode(_ type: Bool.Type) throws -> Bool { try value("boolean", madeUp: false) }
    func decode(_ type: String.Type) throws -> String {
        try value("string", madeUp: SchemaProbeSingleValueContainer.madeUpText)
    }
    func decode(_ type: Double.Type) throws -> Double { try value("number", madeUp: 0) }
    func decode(_ type: Float.Type) throws -> Float { try value("number", madeUp: 0) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try probe.decode(type) }

    /// The bounds of 64-bit integers are left out: every JSON integer is within them here.
    private func integer<Integer: FixedWidthInteger & Decodable>() throws -> Integer {
        var bounds: JSONObject = [:]
        let isNarrow = Integer.bitWidth < 64
        if isNarrow || !Integer.isSigned { bounds["minimum"] = Int(exactly: Integer.min).map(JSON.integer) }
        if isNarrow { bounds["maximum"] = Int(exactly: Integer.max).map(JSON.integer) }
        return try value("integer", bounds, madeUp: 0)
    }

    private func value<Value: Decodable>(
        _ type: JSON, _ bounds: JSONObject = [:], madeUp: Value
    ) throws -> Value {
        probe.trace.note(JSONObject([("type", type)] + bounds.members.map { ($0.name, $0.value) }))
        guard let json = probe.json else { return madeUp }
        guard let value = try? json.decode(as: Value.self) else { throw probe.mismatch(Value.self) }
        return value
    }
}
