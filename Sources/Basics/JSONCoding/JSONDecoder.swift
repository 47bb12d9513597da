/// Why a JSON value does not fit a type, and where in it. Never contains any part of the value itself.
public struct JSONDecodingError: Error, Equatable, Sendable {
    /// The place of the fault as a JSON Pointer (RFC 6901); empty for the whole value.
    public let pointer: String
    /// What was expected there. It may be shown to the sender of the value.
    public let reason: String
    /// The names and positions that lead to the fault.
    public let path: [String]
    public let code: Code

    /// What is wrong, for programs.
    public enum Code: String, Sendable {
        /// The value must be there, and is not.
        case required
        /// The value is of another type.
        case type
        /// Anything else.
        case invalid
    }

    public init(path: [String], reason: String, code: Code = .invalid) {
        self.path = path
        self.code = code
        self.pointer = JSONDecodingError.pointer(path)
        self.reason = reason
    }

    /// What is wrong, in words: “the value at /email of the body must be a string”.
    ///
    /// - Parameter whole: names the whole value: “the body”.
    package func explanation(of whole: String) -> String {
        pointer.isEmpty ? "\(whole) \(reason)" : "the value at \(pointer) of \(whole) \(reason)"
    }

    /// The JSON Pointer of a path.
    package static func pointer(_ path: [String]) -> String { path.map { "/" + escaped($0) }.joined() }

    /// A name as it is written in a JSON Pointer (RFC 6901, section 3).
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
        return name.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension JSON {
    /// Decodes a value of a type.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws(JSONDecodingError) -> Value {
        do {
            return try JSONDecoder(json: self, path: nil).decode(type)
        } catch let error as DecodingError {
            throw JSONDecodingError(error)
        } catch {
            throw JSONDecodingError(path: [], reason: "is not acceptable")
        }
    }
}

extension JSONDecodingError {
    fileprivate init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(
                path: context.codingPath.map(\.stringValue) + [key.stringValue], reason: "is missing", code: .required)
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            self.init(
                path: context.codingPath.map(\.stringValue), reason: "must be \(JSONDecodingError.name(of: type))",
                code: .type)
        case .dataCorrupted(let context):
            self.init(path: context.codingPath.map(\.stringValue), reason: "is not acceptable")
        @unknown default:
            self.init(path: [], reason: "is not acceptable")
        }
    }

    private static func name(of type: Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "a boolean"
        case is any BinaryInteger.Type: "an integer in range"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [JSON].Type: "an array"
        case is JSONObject.Type: "an object"
        case is Date.Type: "a time, such as 2026-11-23T09:15:00Z"
        case is Decimal.Type: "a number of at most 38 digits"
        case is URL.Type: "a URL"
        case is UUID.Type: "a UUID"
        case is Data.Type: "Base64"
        default: "present and of the right type"
        }
    }
}

/// The keys that lead to a value, as a list from the last to the first: cheap to extend, because the path is read only
/// if decoding fails.
private final class DecodingPath {
    let parent: DecodingPath?
    let key: any CodingKey

    init(_ key: any CodingKey, below parent: DecodingPath?) {
        self.parent = parent
        self.key = key
    }

    var keys: [any CodingKey] { (parent?.keys ?? []) + [key] }
}

private struct JSONDecoder: Decoder, SingleValueDecodingContainer {
    let json: JSON
    let path: DecodingPath?
    /// The type of dictionary that is being decoded from an object, but reads a list in which keys and values
    /// alternate; `nil` if there is none.
    var pairs: (any NamedByKeys.Type)?
    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == JSON.self, let json = json as? Value { return json }
        if type == Date.self { return try known(json.date) }
        if type == Decimal.self { return try known(json.decimal) }
        if type == URL.self { return try known(json.string.flatMap { URL(string: $0) }) }
        if type == UUID.self { return try known(json.string.flatMap { UUID(uuidString: $0) }) }
        if type == Data.self { return try known(json.string.flatMap { Data(base64Encoded: $0) }) }
        if case .object(let object) = json {
            if type == JSONObject.self, let object = object as? Value { return object }
            if let dictionary = type as? any NamedByKeys.Type, dictionary.hasNamedKeys {
                return try Value(from: JSONDecoder(json: json, path: path, pairs: dictionary))
            }
        }
        return try Value(from: self)
    }

    /// - Parameter value: `nil` if the JSON does not stand for a value of the type.
    private func known<Known, Value>(_ value: Known?) throws -> Value {
        guard let value, let value = value as? Value else { throw mismatch(Known.self) }
        return value
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = json else { throw mismatch(JSONObject.self) }
        return KeyedDecodingContainer(KeyedContainer(object: object, decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if let pairs, case .object(let object) = json {
            let elements = object.members.flatMap { [pairs.key(named: $0.name), $0.value] }
            return UnkeyedContainer(elements: elements, decoder: self, names: object.names)
        }
        guard case .array(let elements) = json else { throw mismatch([JSON].self) }
        return UnkeyedContainer(elements: elements, decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func nested(_ json: JSON, _ key: any CodingKey) -> JSONDecoder {
        JSONDecoder(json: json, path: DecodingPath(key, below: path))
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: ""))
    }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONObject
    let decoder: JSONDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }
    // A loop, because `compactMap` is not specialized here, and takes twice as long. An object with one member, such as
    // an enum's case, needs no loop.
    var allKeys: [Key] {
        if object.count == 1, let key = Key(stringValue: object.members[0].name) { return [key] }
        var keys: [Key] = []
        for member in object.members { if let key = Key(stringValue: member.name) { keys.append(key) } }
        return keys
    }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try nested(key).json == .null }

    // Fast path: values of common types are decoded without a container of their own.
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        if case .bool(let value)? = object[key.stringValue] { return value }
        return try nested(key).decode(type)
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        if case .integer(let value)? = object[key.stringValue] { return value }
        return try nested(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if case .string(let value)? = object[key.stringValue] { return value }
        return try nested(key).decode(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try nested(key).decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        decoder.nested(object["super"] ?? .null, TextKey(stringValue: "super"))
    }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }

    private func nested(_ key: Key) throws -> JSONDecoder {
        guard let json = object[key.stringValue] else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: ""))
        }
        return decoder.nested(json, key)
    }
}

private struct UnkeyedContainer: UnkeyedDecodingContainer {
    let elements: [JSON]
    let decoder: JSONDecoder
    /// If the elements are the names and values of an object's members, these names; `nil` for an array.
    var names: [String]?
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var currentIndex = 0
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try next { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }

    /// Stays at an element that cannot be read, so that it can be read as something else.
    private mutating func next<Value>(_ read: (JSONDecoder) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            let key = TextKey(intValue: currentIndex)
            throw DecodingError.valueNotFound(JSON.self, .init(codingPath: codingPath + [key], debugDescription: ""))
        }
        let key = names.map { TextKey(stringValue: $0[currentIndex / 2]) } ?? TextKey(intValue: currentIndex)
        let value = try read(decoder.nested(elements[currentIndex], key))
        currentIndex += 1
        return value
    }
}

// A single value.
extension JSONDecoder {
    func decodeNil() -> Bool { json == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = json else { throw mismatch(type) }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let value) = json else { throw mismatch(type) }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard let value = json.number else { throw mismatch(type) }
        return value
    }

    func decode(_ type: Float.Type) throws -> Float {
        let value = Float(try decode(Double.self))
        guard value.isFinite else { throw mismatch(type) }
        return value
    }

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

    private func integer<Integer: FixedWidthInteger>() throws -> Integer {
        guard let integer = json.integer(as: Integer.self) else { throw mismatch(Integer.self) }
        return integer
    }
}
