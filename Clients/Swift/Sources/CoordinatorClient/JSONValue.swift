public import Foundation

/// A value of JSON: what an app puts into a screen's parameters, and takes as an event's payload.
///
/// Numbers keep every digit that the server sent: an integer of up to 64 bits is an `integer`, one with digits that a
/// `Double` would change is a `decimal`, and any other a `number`.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    /// A number of up to 38 digits that neither an `Int64` nor a `Double` holds.
    case decimal(Decimal)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

extension JSONValue {
    /// The member of an object; `nil` of anything else.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The text, if this is a string.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number, if this is an integer of up to 64 bits.
    public var integer: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The truth value, if this is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members, if this is an object.
    public var object: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// Any value, as JSON has it. Dates are written as ISO 8601 does.
    public init(encoding value: some Encodable) throws {
        if let value = value as? JSONValue {
            self = value
        } else {
            self = try JSONDecoder.ofAPI.decode(JSONValue.self, from: JSONEncoder.ofAPI.encode(value))
        }
    }

    /// This value as a type of the app's own.
    public func decoded<T: Decodable>(as type: T.Type) throws -> T {
        try JSONDecoder.ofAPI.decode(type, from: JSONEncoder.ofAPI.encode(self))
    }
}

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // The shortest text that means the Double has all digits of the number, unless digits were lost.
            let exact = try? container.decode(Decimal.self)
            self = exact.flatMap { $0 == Decimal(string: "\(value)") ? nil : .decimal($0) } ?? .number(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .decimal(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Of two members with the same name, the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

/// As a person reads it: text without quotes, anything else as JSON.
extension JSONValue: CustomStringConvertible {
    public var description: String {
        if case .string(let text) = self { return text }
        guard let text = try? JSONEncoder.ofAPI.encode(self) else { return "?" }
        return String(decoding: text, as: UTF8.self)
    }
}

extension JSONDecoder {
    /// Made anew for each use: decoders may not be shared by threads.
    static var ofAPI: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}

extension JSONEncoder {
    static var ofAPI: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
