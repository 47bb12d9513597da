/// A coding key: any text, or a position in an array.
package struct TextKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        self.intValue = nil
    }

    package init(intValue: Int) {
        self.stringValue = String(intValue)
        self.intValue = intValue
    }
}

// This module's own coders pass a `JSON` through unchanged. These conformances serve all other coders.

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Decimal.self) {
            self = JSON(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let values = try? container.decode([JSON].self) {
            self = .array(values)
        } else {
            self = .object(try container.decode(JSONObject.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if case .object(let object) = self { return try object.encode(to: encoder) }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .longNumber: if let decimal { try container.encode(decimal) } else { try container.encode(number) }
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object: break
        }
    }
}

extension JSONObject: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        self.init(try container.allKeys.map { ($0.stringValue, try container.decode(JSON.self, forKey: $0)) })
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        for member in members { try container.encode(member.value, forKey: TextKey(stringValue: member.name)) }
    }
}

/// A collection whose elements have no order of their own.
protocol Unordered {
    /// The number of values that each element becomes when the collection is encoded as an array.
    var elementSize: Int { get }
    /// Whether it is a dictionary whose keys can be the names of an object's members.
    var hasNamedKeys: Bool { get }
}

extension Set: Unordered {
    var elementSize: Int { 1 }
    var hasNamedKeys: Bool { false }
}

extension Dictionary: Unordered {
    /// A key and a value.
    var elementSize: Int { 2 }
    var hasNamedKeys: Bool { Self.hasNamedKeys }
}

/// A dictionary whose keys have texts or integers as raw values, such as an enum's cases. In JSON it is an object.
/// Swift itself encodes a dictionary as an object only if its keys are `String`, `Int` or `CodingKeyRepresentable`, and
/// otherwise as a list in which keys and values alternate.
package protocol NamedByKeys {
    /// Whether this is such a dictionary.
    static var hasNamedKeys: Bool { get }
    /// The encoded key that a member's name stands for.
    static func key(named name: String) -> JSON
}

extension Dictionary: NamedByKeys {
    package static var hasNamedKeys: Bool {
        guard let type = Key.self as? any RawRepresentable.Type else { return false }
        return type.isText || type.isInteger
    }

    package static func key(named name: String) -> JSON {
        guard let type = Key.self as? any RawRepresentable.Type, type.isInteger, let key = JSON(numberText: name) else {
            return .string(name)
        }
        return key
    }
}

extension RawRepresentable {
    fileprivate static var isText: Bool { RawValue.self == String.self }
    fileprivate static var isInteger: Bool { RawValue.self is any BinaryInteger.Type }
}
