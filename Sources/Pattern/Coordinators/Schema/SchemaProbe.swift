internal import JSONCoding

/// A decoder that notes what a type reads, and returns the example's values, or made-up ones if there are none.
///
/// It is the only way to see the members of a `Decodable` type. Encoding or reflecting an example does not show the
/// type of an optional member that is `nil` in it, the other cases of an enum, or the elements of an empty array. A
/// macro would see only the declaration, without nested types of other files and hand-written `init(from:)`, and every
/// app would have to build swift-syntax.
struct SchemaProbe: Decoder, SingleValueDecodingContainer {
    /// The example's value at this place; `nil` if values have to be made up.
    let json: JSON?
    let trace: SchemaTrace
    private(set) var codingPath: [any CodingKey] = []
    /// The types that enclose this place. A type that contains itself is not followed a second time.
    private var enclosing: [ObjectIdentifier] = []
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Enough for every realistic payload. It stops generic types that nest in themselves without end.
    private static let depthLimit = 16

    init(_ json: JSON?, _ trace: SchemaTrace) {
        self.json = json == .null ? nil : json
        self.trace = trace
    }

    func nested(_ json: JSON?, _ trace: SchemaTrace, _ key: any CodingKey) -> SchemaProbe {
        var nested = SchemaProbe(json, trace)
        nested.codingPath = codingPath + [key]
        nested.enclosing = enclosing
        return nested
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: ""))
    }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(of: type) }
    // The standard library has its own for these, which throw, and would prefer them to the generic one.
    func decode(_ type: Int128.Type) throws -> Int128 { try value(of: type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try value(of: type) }

    /// - Throws: if the example's value is of another type, so that a type that tries several finds the right one.
    private func value<Value: Decodable>(of type: Value.Type) throws -> Value {
        if let known = type as? any KnownSchema.Type, let value = known.probe(self) as? Value { return value }
        if let (schema, madeUp) = SchemaProbe.known(type) {
            trace.note(schema)
            if json == nil, let madeUp = madeUp as? Value { return madeUp }
            guard let value = try? json?.decode(as: type) else { throw mismatch(type) }
            return value
        }
        if let cases = SchemaProbe.listedCases(of: type) {
            trace.note(["enum": .array(cases)])
            return try standIn(for: type, orElse: cases.first)
        }
        guard !enclosing.contains(ObjectIdentifier(type)), enclosing.count < SchemaProbe.depthLimit else {
            return try standIn(for: type)
        }
        do {
            var inside = self
            inside.enclosing.append(ObjectIdentifier(type))
            return try Value(from: inside)
        } catch {
            if let json { trace.fillIn(from: json) }
            return try standIn(for: type)
        }
    }

    /// The schema of a type that is known, and a value with which decoding continues if there is no example.
    private static func known(_ type: Any.Type) -> (schema: JSONObject, madeUp: Any)? {
        switch type {
        case is Bool.Type: (["type": "boolean"], false)
        // Also a valid UUID and a valid URL.
        case is String.Type: (["type": "string"], "00000000-0000-0000-0000-000000000000")
        case is Double.Type: (["type": "number"], 0.0)
        case is Float.Type: (["type": "number"], Float(0))
        case is Decimal.Type: (["type": "number"], Decimal(0))
        case let type as any FixedWidthInteger.Type: known(integer: type)
        case is JSONObject.Type: (["type": "object"], JSONObject())
        case is Date.Type: (["type": "string", "format": "date-time"], Date(timeIntervalSince1970: 0))
        case is URL.Type: (["type": "string", "format": "uri-reference"], URL(filePath: "/"))
        case is UUID.Type: (["type": "string", "format": "uuid"], UUID())
        case is Data.Type: (["type": "string", "contentEncoding": "base64"], Data())
        case is Secret.Type: (["type": "string", "writeOnly": true], Secret(""))
        default: nil
        }
    }

    /// The bounds of `Int` and `Int64` are left out: they are those of an integer without bounds.
    private static func known<Integer: FixedWidthInteger>(integer: Integer.Type) -> (schema: JSONObject, madeUp: Any) {
        if Integer.isSigned, Integer.bitWidth == 64 { return (["type": "integer"], Integer.zero) }
        let (least, most) = (JSON(integer: Integer.min), JSON(integer: Integer.max))
        return (["type": "integer", "minimum": least, "maximum": most], Integer.zero)
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
        trace.isObject = true
        guard json == nil || json?.object != nil else { throw mismatch(JSONObject.self) }
        return KeyedDecodingContainer(KeyedContainer(object: json?.object, probe: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let element = trace.noteArray()
        guard json == nil || json?.array != nil else { throw mismatch([JSON].self) }
        return UnkeyedContainer(elements: json?.array ?? [], element: element, probe: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// The example's object.
    let object: JSONObject?
    let probe: SchemaProbe
    var codingPath: [any CodingKey] { probe.codingPath }

    var allKeys: [Key] {
        probe.trace.hasOpenNames = true
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
private struct UnkeyedContainer: UnkeyedDecodingContainer {
    let elements: [JSON]
    let element: SchemaTrace
    let probe: SchemaProbe
    var currentIndex = 0
    var codingPath: [any CodingKey] { probe.codingPath }
    var count: Int? { max(elements.count, 1) }
    var isAtEnd: Bool { currentIndex >= max(elements.count, 1) }

    private static let madeUpLimit = 64

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
        let limit = elements.isEmpty ? UnkeyedContainer.madeUpLimit : elements.count
        guard currentIndex < limit else {
            throw DecodingError.valueNotFound(JSON.self, .init(codingPath: codingPath + [key], debugDescription: ""))
        }
        defer { currentIndex += 1 }
        return probe.nested(elements.isEmpty ? nil : elements[currentIndex], element, key)
    }
}

/// A type whose schema is written by itself, because probing `init(from:)` would not find it.
protocol KnownSchema {
    /// Notes the type's schema.
    ///
    /// - Returns: a value of the type, with which decoding continues.
    static func probe(_ probe: SchemaProbe) -> Self
}

extension JSON: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.isAnything = true
        return probe.json ?? .null
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
    /// Whether the type takes any value at all.
    fileprivate var isAnything = false
    fileprivate var isObject = false
    private var members: [Member] = []
    /// Whether the type read the names of the object's members: then the names are not fixed.
    fileprivate var hasOpenNames = false
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
        case .array(let elements) where isBlank:
            let element = noteArray()
            for example in elements { element.fillIn(from: example) }
        case .object(let object) where isBlank || isObject && !hasOpenNames:
            isObject = true
            for example in object.members {
                let trace = member(example.name) ?? noteMember(example.name, isRequired: false)
                trace.fillIn(from: example.value)
            }
        case .null, .array, .object: break
        default: if isBlank { observe(example) }
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
            isObject = true
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
