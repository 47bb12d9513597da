internal import JSONCoding

/// A decoder that notes what a type asks for, and returns the example's values, or made-up ones if there are none.
///
/// It is the only way to see the members of a `Decodable` type. Encoding an example or reflecting it shows neither the
/// type of an optional member that is `nil` in it, nor the other cases of an enum, nor the elements of an empty array. A
/// macro would see the declaration only, without nested types of other files and hand-written `init(from:)`, and every
/// app would have to build swift-syntax.
struct SchemaProbe: Decoder {
    /// The example's value at this place; `nil` if values have to be made up.
    let json: JSON?
    let trace: SchemaTrace
    let codingPath: [any CodingKey]
    /// The types that enclose this place. A type that contains itself is not followed a second time.
    private let enclosing: [ObjectIdentifier]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Enough for every realistic payload; it stops generic types that nest in themselves without end.
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

    /// A value of a type that is not probed, or not probed further: the example's, or one that the type is likely to
    /// accept.
    private func standIn<Value: Decodable>(for type: Value.Type, orElse madeUp: JSON? = nil) throws -> Value {
        for candidate in [json, madeUp, .array([]), .object([:]), .integer(1)] {
            if let value = try? candidate?.decode(as: type) { return value }
        }
        throw mismatch(type)
    }

    /// The cases of an enum that can be listed, as they are encoded; `nil` for every other type.
    private static func listedCases(of type: Any.Type) -> [JSON]? {
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
