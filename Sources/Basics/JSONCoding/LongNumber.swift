/// A number as JSON text, because neither an `Int` nor a `Double` holds it with all its digits:
/// `18446744073709551615`, `0.1234567890123456789`.
public struct LongNumber: Sendable, Hashable {
    /// The number's JSON text (RFC 8259, section 6). Equal numbers have equal texts, however they were written.
    public let text: String

    /// The number as an integer of that type; `nil` if it is not whole, or out of range.
    public func integer<Integer: FixedWidthInteger>(as type: Integer.Type) -> Integer? {
        let digits = DecimalDigits(text)
        // No integer type has 40 digits.
        guard digits.exponent >= 0, digits.digits.count + digits.exponent < 40 else { return nil }
        let zeros = String(repeating: "0", count: digits.exponent)
        return Integer((digits.isNegative ? "-" : "") + String(decoding: digits.digits, as: UTF8.self) + zeros)
    }
}

extension JSON {
    /// The number that a text stands for.
    ///
    /// - Parameters:
    ///   - text: a number's JSON text (RFC 8259, section 6).
    ///   - isInteger: whether it has neither a fraction nor an exponent.
    /// - Returns: `nil` if the number is beyond the range of a 64-bit float.
    init?(numberText text: String, isInteger: Bool) {
        if isInteger, let integer = Int(text) {
            self = .integer(integer)
            return
        }
        guard let number = Double(text), number.isFinite else { return nil }
        let digits = DecimalDigits(text)
        if !isInteger, digits.areHeld(by: number) {
            self = .number(number)
        } else if let integer = Int(digits.text) {
            self = .integer(integer)
        } else {
            self = .longNumber(LongNumber(text: digits.text))
        }
    }

    /// The number that a text is in JSON; `nil` if the text is anything else, or if the number would be written
    /// differently.
    package init?(numberText text: String) {
        var reader = JSONReader(bytes: Array(text.utf8), depthLeft: 0)
        guard let json = try? reader.document(), json.number != nil, json.description == text else { return nil }
        self = json
    }

    /// An integer of any size, such as a `UInt64`.
    public init(integer: some BinaryInteger) {
        if let integer = Int(exactly: integer) {
            self = .integer(integer)
        } else {
            self = JSON(numberText: String(integer), isInteger: true) ?? .number(.nan)
        }
    }

    /// A number with every digit of a decimal. `Decimal.nan` becomes `Double.nan`, which JSON cannot hold.
    public init(_ decimal: Decimal) {
        let text = decimal.description
        let isInteger = !text.utf8.contains(UInt8(ascii: "."))
        self = decimal.isNaN ? .number(.nan) : JSON(numberText: text, isInteger: isInteger) ?? .number(.nan)
    }

    /// The number with every digit; `nil` if the value is not a number, or has more digits than a `Decimal` holds. Up
    /// to 38 digits always fit.
    public var decimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .number(let value): DecimalDigits(value.description).decimal
        case .longNumber(let value): DecimalDigits(value.text).decimal
        default: nil
        }
    }

    /// How many arrays and objects may be in each other in one value of an author: what is saved is nested deeper, and is
    /// read to a depth of 512.
    package static let depthLimit = 128

    /// Where the first value is that JSON cannot hold, and why; `nil` if there is none.
    ///
    /// - Parameter levels: how many more arrays and objects may be in each other.
    func firstUnwritable(_ levels: Int = depthLimit) -> (path: [String], reason: String)? {
        func first(_ members: some Sequence<(name: String, value: JSON)>) -> (path: [String], reason: String)? {
            guard levels > 0 else { return ([], "is nested deeper than \(JSON.depthLimit) levels") }
            for (name, value) in members {
                if let found = value.firstUnwritable(levels - 1) { return ([name] + found.path, found.reason) }
            }
            return nil
        }
        switch self {
        case .number(let value): return value.isFinite ? nil : ([], "is infinite or not a number")
        case .array(let elements): return first(elements.enumerated().lazy.map { (String($0), $1) })
        case .object(let object): return first(object.members.lazy.map { ($0.name, $0.value) })
        default: return nil
        }
    }
}

/// A number as digits and a power of ten. Equal numbers have equal digits, however they are written.
private struct DecimalDigits: Equatable {
    private(set) var isNegative = false
    /// ASCII digits, without zeros at the beginning and at the end; empty for 0.
    private(set) var digits: [UInt8] = []
    private(set) var exponent = 0

    /// - Parameter text: the text of a finite number, as JSON or `Double` writes it.
    init(_ text: String) {
        var isFraction = false
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if isFraction { exponent -= 1 }
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
            default:
                // An exponent that does not fit an `Int` is as good as infinite.
                let written = Substring(rest)
                let power =
                    Int(written) ?? (rest.first == UInt8(ascii: "-") ? -DecimalDigits.limit : DecimalDigits.limit)
                exponent += min(max(power, -DecimalDigits.limit), DecimalDigits.limit)
                rest = rest.suffix(0)
            }
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        if digits.isEmpty { (isNegative, exponent) = (false, 0) }
    }

    private static let limit = 1 << 32

    /// Whether a float that was read from the number's text holds all its digits.
    func areHeld(by number: Double) -> Bool {
        // A normal float always holds 15 digits.
        digits.isEmpty || digits.count <= 15 && number.isNormal || self == DecimalDigits(number.description)
    }

    /// The number as JSON text: without an exponent if it is whole or not much smaller than 1.
    var text: String {
        let sign = isNegative ? "-" : ""
        let written = String(decoding: digits, as: UTF8.self)
        if digits.isEmpty { return "0" }
        if exponent >= 0 { return sign + written + String(repeating: "0", count: exponent) }
        let point = digits.count + exponent
        if point > 0 { return "\(sign)\(written.prefix(point)).\(written.dropFirst(point))" }
        if point > -6 { return "\(sign)0.\(String(repeating: "0", count: -point))\(written)" }
        let fraction = digits.count > 1 ? ".\(written.dropFirst())" : ""
        return "\(sign)\(written.prefix(1))\(fraction)e\(point - 1)"
    }

    /// The number as a `Decimal`; `nil` if that does not hold every digit.
    var decimal: Decimal? {
        guard digits.count <= 39, (-128...165).contains(exponent) else { return nil }
        let text = (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + "e\(exponent)"
        guard let decimal = Decimal(string: text), DecimalDigits(decimal.description) == self else { return nil }
        return decimal
    }
}
