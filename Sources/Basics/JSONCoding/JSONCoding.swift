// JSONCoding: JSON as a Swift value, read strictly, written stably.
//
// `JSON` is the value, `JSONReader` turns bytes into one and refuses what RFC 8259 allows but nobody means (duplicate
// names, endless nesting), `JSONWriter` writes bytes without building a value first, `JSONEncoder` and `JSONDecoder`
// convert `Codable` types to values and back; `JSONWritable` and `JSONReadable` are the fast path for types that are
// coded often. This target knows nothing of HTTP, of navigation or of where the bytes come from.

/// A JSON value (RFC 8259).
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int)
    /// A number that a 64-bit float holds with all its digits; always finite.
    case number(Double)
    /// Any other number.
    case longNumber(LongNumber)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

extension JSON {
    /// The member of an object; `nil` if there is none, or if the value is no object. Assigning `nil` removes the
    /// member; assigning to a value that is no object makes it an object with this one member.
    public subscript(name: String) -> JSON? {
        get {
            guard case .object(let object) = self else { return nil }
            return object[name]
        }
        set {
            var object = self.object ?? [:]
            // Not in two places at once, so that nothing is copied.
            self = .null
            object[name] = newValue
            self = .object(object)
        }
    }

    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The number if it is whole, however it is written. Not if it is so large that a 64-bit float stands for several
    /// integers: nobody can tell which was meant.
    public var integer: Int? {
        if case .integer(let value) = self { value } else { integer(as: Int.self) }
    }

    /// The same for integers of another size, such as `UInt64`. JSON has one kind of number: 7, 7.0 and 0.7e1 are the
    /// same integer.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        switch self {
        case .integer(let value): Integer(exactly: value)
        case .number(let value): abs(value) < JSON.floatLimit ? Integer(exactly: value) : nil
        case .longNumber(let value): value.integer(as: type)
        default: nil
        }
    }

    /// From here on, a 64-bit float stands for several integers.
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
