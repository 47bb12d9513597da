// JSONCoding: JSON as a Swift value, read strictly, written stably.
//
// `JSON` is the value. `JSONReader` reads one from bytes, and refuses what RFC 8259 allows but nobody means (duplicate
// names, very deep nesting). `JSONWriter` writes bytes without building a value first. `JSONEncoder` and `JSONDecoder`
// convert `Codable` types to values and back; `JSONWritable` and `JSONReadable` are faster, for types that are coded
// often. This target knows nothing of HTTP, of navigation or of where the bytes come from.

// Exports `Date`, `Decimal`, `URL`, `UUID` and `Data` to this target and those above it: from FoundationEssentials
// where that exists, otherwise from the whole of Foundation, as on Apple's platforms.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif

/// A JSON value (RFC 8259).
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int)
    /// Another number that a 64-bit float holds with all its digits. JSON cannot hold one that is not finite: it is
    /// written as `null`.
    case number(Double)
    /// Any other number, with all its digits.
    case longNumber(LongNumber)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON {
    /// The member of an object; `nil` if there is none, or if the value is not an object. Assigning `nil` removes the
    /// member. Assigning to a value that is not an object replaces it by an object with this one member.
    public subscript(name: String) -> JSON? {
        get {
            guard case .object(let object) = self else { return nil }
            return object[name]
        }
        set {
            var object = self.object ?? [:]
            // Otherwise `self` would hold the object, too, and the assignment would copy it.
            self = .null
            object[name] = newValue
            self = .object(object)
        }
    }

    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The number if it is whole, however it is written; 7, 7.0 and 0.7e1 are the same integer. `nil` if it is a float
    /// so large that it may stand for several integers.
    public var integer: Int? {
        if case .integer(let value) = self { value } else { integer(as: Int.self) }
    }

    /// The number as an integer of another size, such as `UInt64`; `nil` also if it is out of range.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        switch self {
        case .integer(let value): Integer(exactly: value)
        case .number(let value): abs(value) < JSON.floatLimit ? Integer(exactly: value) : nil
        case .longNumber(let value): value.integer(as: type)
        default: nil
        }
    }

    /// 2⁵³. From here on, a 64-bit float may stand for several integers.
    static let floatLimit = 9_007_199_254_740_992.0

    /// The number, whole or not, as the nearest 64-bit float.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .longNumber(let value): Double(value.text)
        default: nil
        }
    }

    public var array: [JSON]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    public var object: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(JSONObject(elements)) }
}

extension JSON: CustomStringConvertible {
    /// The value as JSON text without white space.
    public var description: String {
        var writer = JSONWriter()
        writer.value(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
