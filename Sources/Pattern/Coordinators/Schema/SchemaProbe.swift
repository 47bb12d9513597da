internal import JSONCoding

/// A decoder that notes what a type reads, and returns the example's values, or made-up ones if there are none.
///
/// It is the only way to see the members of a `Decodable` type. Encoding or reflecting an example does not show the
/// type of an optional member that is `nil` in it, the other cases of an enum, or the elements of an empty array. A
/// macro would see only the declaration, without nested types of other files and hand-written `init(from:)`, and every
/// app would have to build swift-syntax.
struct SchemaProbe: Decoder {
    /// The example's value at this place; `nil` if values have to be made up.
    let json: JSON?
    let trace: SchemaTrace
    let codingPath: [any CodingKey]
    /// The types that enclose this place. A type that contains itself is not followed a second time.
    private let enclosing: [ObjectIdentifier]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Enough for every realistic payload. It stops generic types that nest in themselves without end.
    private static let depthLimit = 16

    init(_ json: JSON?, _ trace: SchemaTrace) {
        self.init(json, trace, codingPath: [], enclosing: [])
    }

    private init(
        _ json: JSON?, _ trace: SchemaTrace, codingPath: [any CodingKey], enclosing: [ObjectIdentifier]
    ) {
        self.json = json == .null ? nil : json
        self.trace = trace
        self.codingPath = codingPath
        self.enclosing = enclosing
    }

    func nested(_ json: JSON?, _ trace: SchemaTrace, _ key: any CodingKey) -> SchemaProbe {
        SchemaProbe(json, trace, codingPath: codingPath + [key], enclosing: enclosing)
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: ""))
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let known = type as? any KnownSchema.Type, let value = known.probe(self) as? Value { return value }
        if let cases = SchemaProbe.listedCases(of: type) {
            trace.note(["enum": .array(cases)])
            return try standIn(for: type, orElse: cases.first)
        }
        guard !enclosing.contains(ObjectIdentifier(type)), enclosing.count < SchemaProbe.depthLimit else {
            return try standIn(for: type)
        }
        do {
            return try Value(from: inside(type))
        } catch {
            if let json { trace.fillIn(from: json) }
            return try standIn(for: type)
        }
    }

    private func inside(_ type: Any.Type) -> SchemaProbe {
        SchemaProbe(json, trace, codingPath: codingPath, enclosing: enclosing + [ObjectIdentifier(type)])
    }

    /// A value of a type that is not probed any further: the example's value, or one that the type is likely to accept.
    private func standIn<Value: Decodable>(for type: Value.Type, orElse madeUp: JSON? = nil) throws -> Value {
        for candidate in [json, madeUp, .array([]), .object([:]), .integer(1)] {
            if let value = try? candidate?.decode(as: type) { return value }
        }
        throw mismatch(type)
    }

    /// The cases of an enum that can be listed, as they are encoded; `nil` for every other type.
    fileprivate static func listedCases(of type: Any.Type) -> [JSON]? {
        guard let type = type as? any CaseIterable.Type else { return nil }
        return encodedCases(of: type)
    }

    private static func encodedCases<Choice: CaseIterable>(of type: Choice.Type) -> [JSON]? {
        var cases: [JSON] = []
        for choice in type.allCases {
            let mirror = Mirror(reflecting: choice)
            guard mirror.displayStyle == .enum, mirror.children.isEmpty, let choice = choice as? any Encodable,
                let json = try? JSON(encoding: choice)
            else { return nil }
            cases.append(json)
        }
        return cases.isEmpty ? nil : cases
    }
}

extension SchemaProbe {
    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        trace.noteObject()
        guard json == nil || json?.object != nil else { throw mismatch(JSONObject.self) }
        return KeyedDecodingContainer(SchemaProbeKeyedContainer(object: json?.object, probe: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let element = trace.noteArray()
        guard json == nil || json?.array != nil else { throw mismatch([JSON].self) }
        return SchemaProbeUnkeyedContainer(elements: json?.array ?? [], element: element, probe: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SchemaProbeSingleValueContainer(probe: self)
    }
}

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

/// If the example has no elements, one is made up. A type that does not check for the end gets up to `madeUpLimit`.
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

    /// Advances in any case, so that a loop that skips unsuitable elements comes to an end.
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

    /// A text that is also a valid UUID and a valid URL.
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
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try probe.decode(type) }

    /// The bounds of `Int` and `Int64` are left out: they are those of an integer without bounds.
    private func integer<Integer: FixedWidthInteger & Decodable>() throws -> Integer {
        let isUsual = Integer.isSigned && Integer.bitWidth == 64
        let bounds: JSONObject = ["minimum": JSON(integer: Integer.min), "maximum": JSON(integer: Integer.max)]
        return try value("integer", isUsual ? [:] : bounds, madeUp: 0)
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

/// A type whose schema is written here, because it is known, or because probing `init(from:)` would not find it.
protocol KnownSchema {
    /// Notes the type's schema.
    ///
    /// - Returns: a value of the type, with which decoding continues.
    static func probe(_ probe: SchemaProbe) -> Self
}

extension JSON: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.noteAnything()
        return probe.json ?? .null
    }
}

extension JSONObject: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "object"])
        return probe.json?.object ?? [:]
    }
}

extension Date: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "format": "date-time"])
        return probe.json?.date ?? Date(timeIntervalSince1970: 0)
    }
}

extension Decimal: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "number"])
        return probe.json?.decimal ?? 0
    }
}

extension URL: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "format": "uri-reference"])
        return probe.json?.string.flatMap { URL(string: $0) } ?? URL(filePath: "/")
    }
}

extension UUID: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "format": "uuid"])
        return probe.json?.string.flatMap { UUID(uuidString: $0) } ?? UUID()
    }
}

extension Data: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "contentEncoding": "base64"])
        return probe.json?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
    }
}

extension Secret: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "writeOnly": true])
        return Secret(probe.json?.string ?? "")
    }
}

extension Optional: KnownSchema where Wrapped: Decodable {
    static func probe(_ probe: SchemaProbe) -> Self {
        let value = try? probe.decode(Wrapped.self)
        probe.trace.note(["type": "null"])
        return probe.json == nil ? nil : value
    }
}

extension Dictionary: KnownSchema where Key: Decodable, Value: Decodable {
    static func probe(_ probe: SchemaProbe) -> Self {
        if Key.self is any CodingKeyRepresentable.Type || hasNamedKeys {
            probeMap(probe)
        } else {
            probePairs(probe)
        }
        return (try? probe.json?.decode(as: Self.self)) ?? [:]
    }

    private static func probeMap(_ probe: SchemaProbe) {
        let trace = probe.trace.noteMap(named: hasNamedKeys ? SchemaProbe.listedCases(of: Key.self) : nil)
        let examples = probe.json?.object?.members.map(\.value) ?? []
        for example in examples.isEmpty ? [nil] : examples.map(Optional.some) {
            _ = try? probe.nested(example, trace, TextKey(stringValue: "")).decode(Value.self)
        }
    }

    /// A dictionary whose keys are not texts is encoded as an array in which keys and values alternate.
    private static func probePairs(_ probe: SchemaProbe) {
        let place = probe.nested(nil, probe.trace.noteArray(), TextKey(intValue: 0))
        _ = try? place.decode(Key.self)
        _ = try? place.decode(Value.self)
    }
}

/// Everything that a type has read at one place of a value.
///
/// A type may try several types at one place, for example first a number and then a text; the schema then lists all of
/// them as alternatives. Used by one probe, on one thread.
final class SchemaTrace {
    private struct Member {
        let name: String
        var isRequired: Bool
        let trace: SchemaTrace
    }

    private var values: [JSONObject] = []
    private var isAnything = false
    private var isObject = false
    private var members: [Member] = []
    /// Whether the type read the names of the object's members: then the names are not fixed.
    private var hasOpenNames = false
    /// The values of an object with any names, as of a dictionary.
    private var mapValue: SchemaTrace?
    /// The names that the members of such an object may have; `nil` for any.
    private var mapNames: [JSON]?
    private var arrayElement: SchemaTrace?
}

// Noting what a type reads.
extension SchemaTrace {
    /// A value with this schema.
    func note(_ schema: JSONObject) {
        if !values.contains(schema) { values.append(schema) }
    }

    /// Any value at all.
    func noteAnything() { isAnything = true }

    func noteObject() { isObject = true }

    func noteNames() { hasOpenNames = true }

    /// A member of an object. It is required unless the type has ever read it in a way that permits its absence.
    func noteMember(_ name: String, isRequired: Bool) -> SchemaTrace {
        isObject = true
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].isRequired = members[index].isRequired && isRequired
            return members[index].trace
        }
        let member = Member(name: name, isRequired: isRequired, trace: SchemaTrace())
        members.append(member)
        return member.trace
    }

    /// The values of an object whose members have names that the type does not fix, as of a dictionary.
    ///
    /// - Parameter keys: the names that are possible, as texts or integers; `nil` for any.
    func noteMap(named keys: [JSON]?) -> SchemaTrace {
        let trace = mapValue ?? SchemaTrace()
        mapValue = trace
        mapNames = keys?.map { .string($0.string ?? $0.description) }
        return trace
    }

    /// The elements of an array, all alike.
    func noteArray() -> SchemaTrace {
        let trace = arrayElement ?? SchemaTrace()
        arrayElement = trace
        return trace
    }

    /// Adds from an example what a type did not read because it threw before.
    func fillIn(from example: JSON) {
        switch example {
        case .null: break
        case .bool where isBlank: note(["type": "boolean"])
        case .integer where isBlank: note(["type": "integer"])
        case .number where isBlank, .longNumber where isBlank: note(["type": "number"])
        case .string where isBlank: note(["type": "string"])
        case .array(let elements) where isBlank:
            let element = noteArray()
            for example in elements { element.fillIn(from: example) }
        case .object(let object) where isBlank || isObject && !hasOpenNames:
            noteObject()
            for example in object.members {
                let trace = member(example.name) ?? noteMember(example.name, isRequired: false)
                trace.fillIn(from: example.value)
            }
        default: break
        }
    }

    /// Notes a value of which more than one is seen, such as a screen's parameters: what one of them lacks is not
    /// required.
    func observe(_ value: JSON) {
        switch value {
        case .null: note(["type": "null"])
        case .bool: note(["type": "boolean"])
        case .integer where !values.contains(["type": "number"]): note(["type": "integer"])
        case .integer, .number, .longNumber:
            values.removeAll { $0 == ["type": "integer"] }
            note(["type": "number"])
        case .string: note(["type": "string"])
        case .array(let elements):
            let element = noteArray()
            for value in elements { element.observe(value) }
        case .object(let object):
            let isFirst = !isObject
            noteObject()
            for index in members.indices where !object.contains(members[index].name) {
                members[index].isRequired = false
            }
            for added in object.members {
                noteMember(added.name, isRequired: isFirst || member(added.name) != nil).observe(added.value)
            }
        }
    }

    private var isBlank: Bool {
        values.isEmpty && !isAnything && !isObject && mapValue == nil && arrayElement == nil
    }
}

// The schema of what was noted.
extension SchemaTrace {
    var memberNames: [String] { members.map(\.name) }

    func member(_ name: String) -> SchemaTrace? {
        members.first { $0.name == name }?.trace
    }

    var schema: JSON {
        var alternatives = values
        if isObject { alternatives.append(objectSchema) }
        if let mapValue {
            var schema: JSONObject = ["type": "object"]
            if let mapNames { schema["propertyNames"] = ["enum": .array(mapNames)] }
            schema["additionalProperties"] = mapValue.schema
            alternatives.append(schema)
        }
        if let arrayElement { alternatives.append(["type": "array", "items": arrayElement.schema]) }
        if isAnything || alternatives.isEmpty { return [:] }
        return alternatives.count == 1 ? .object(alternatives[0]) : ["anyOf": .array(alternatives.map(JSON.object))]
    }

    private var objectSchema: JSONObject {
        var schema: JSONObject = ["type": "object"]
        if hasOpenNames || members.isEmpty { return schema }
        schema["properties"] = .object(JSONObject(members.map { ($0.name, $0.trace.schema) }))
        let required = members.filter(\.isRequired).map { JSON.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return schema
    }
}
