/// Why bytes are not accepted as JSON, and at which byte.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        case unexpectedByte, unexpectedEnd, trailingBytes, duplicateName, nestedTooDeep, invalidUTF8, loneSurrogate,
            controlCharacter, invalidEscape, invalidNumber
    }

    public let reason: Reason
    /// The number of bytes before the fault.
    public let offset: Int

    public init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONSyntaxError.Reason: CustomStringConvertible {
    /// What is wrong, as a predicate of which the text is the subject: “ends too early”.
    public var description: String {
        switch self {
        case .unexpectedByte: "is not JSON"
        case .unexpectedEnd: "ends too early"
        case .trailingBytes: "goes on after its JSON value"
        case .duplicateName: "has a name twice in one object"
        case .nestedTooDeep: "is nested deeper than 32 levels"
        case .invalidUTF8: "is not UTF-8"
        case .loneSurrogate: "has half a surrogate pair"
        case .controlCharacter: "has a control character in a string"
        case .invalidEscape: "has an escape that JSON does not define"
        case .invalidNumber: "has a number that is malformed or out of range"
        }
    }
}

extension JSON {
    /// Reads one JSON text.
    ///
    /// Stricter than RFC 8259 where leniency would hide mistakes: a name may occur only once in an object, a surrogate
    /// only in a pair; a number must be finite as a `Double`; arrays and objects must not nest deeper than
    /// `maximumDepth`.
    public init(parsing bytes: [UInt8], maximumDepth: Int = 32) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes: bytes, depthLeft: maximumDepth)
        self = try reader.document()
    }
}

/// A recursive descent parser over the bytes. `depthLeft` bounds the recursion.
struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    var depthLeft: Int

    mutating func document() throws(JSONSyntaxError) -> JSON {
        skipWhitespace()
        let value = try value()
        skipWhitespace()
        guard position == bytes.count else { throw fault(.trailingBytes) }
        return value
    }

    private mutating func value() throws(JSONSyntaxError) -> JSON {
        switch peek() {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || isDigit(byte): return try number()
        case nil: throw fault(.unexpectedEnd)
        default: throw fault(.unexpectedByte)
        }
    }

    /// Reads the bracket with which an object or an array begins.
    private mutating func open() throws(JSONSyntaxError) {
        guard depthLeft > 0 else { throw fault(.nestedTooDeep) }
        depthLeft -= 1
        position += 1
    }

    private mutating func object() throws(JSONSyntaxError) -> JSON {
        try open()
        defer { depthLeft += 1 }
        var object = JSONObject()
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return .object(object) }
        object.reserveCapacity(4)
        repeat {
            skipWhitespace()
            let start = position
            guard peek() == UInt8(ascii: "\"") else { throw unexpected() }
            let name = try string()
            guard !object.contains(name) else { throw JSONSyntaxError(reason: .duplicateName, offset: start) }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw unexpected() }
            skipWhitespace()
            object.append(name, try value())
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw unexpected() }
        return .object(object)
    }

    private mutating func array() throws(JSONSyntaxError) -> JSON {
        try open()
        defer { depthLeft += 1 }
        var elements: [JSON] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            skipWhitespace()
            elements.append(try value())
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw unexpected() }
        return .array(elements)
    }

    private mutating func word(_ text: StaticString, _ value: JSON) throws(JSONSyntaxError) -> JSON {
        for index in 0..<text.utf8CodeUnitCount {
            guard take(text.utf8Start[index]) else { throw unexpected() }
        }
        return value
    }
}

extension JSONReader {
    func peek() -> UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    mutating func skipWhitespace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    func fault(_ reason: JSONSyntaxError.Reason) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: position)
    }

    func unexpected() -> JSONSyntaxError {
        fault(peek() == nil ? .unexpectedEnd : .unexpectedByte)
    }
}

extension JSONReader {
    /// Reads a string; the position is at its opening quote.
    mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        var bits: UInt8 = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                // `bits` is every byte so far, or-ed: below 0x80, the text is ASCII and needs no validation.
                guard bits < 0x80 else { return try text(bytes[start..<position - 1], at: start) }
                return bytes.withUnsafeBufferPointer {
                    String(decoding: UnsafeBufferPointer(rebasing: $0[start..<position - 1]), as: UTF8.self)
                }
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            case ..<0x20: throw fault(.controlCharacter)
            default:
                bits |= byte
                position += 1
            }
        }
        throw fault(.unexpectedEnd)
    }

    /// Reads the rest of a string, from its first escape.
    private mutating func escapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var unescaped = Array(bytes[start..<position])
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try text(unescaped[...], at: start)
            case UInt8(ascii: "\\"):
                position += 1
                unescaped.append(contentsOf: String(Character(try escape())).utf8)
            case ..<0x20: throw fault(.controlCharacter)
            default:
                unescaped.append(byte)
                position += 1
            }
        }
        throw fault(.unexpectedEnd)
    }

    private func text(_ bytes: ArraySlice<UInt8>, at start: Int) throws(JSONSyntaxError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw JSONSyntaxError(reason: .invalidUTF8, offset: start)
        }
        return text
    }

    private mutating func escape() throws(JSONSyntaxError) -> Unicode.Scalar {
        guard let letter = peek() else { throw fault(.unexpectedEnd) }
        position += 1
        switch letter {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw JSONSyntaxError(reason: .invalidEscape, offset: position - 1)
        }
    }

    /// Reads the digits after `\u`, and those of the second half of a surrogate pair (RFC 8259, section 7).
    private mutating func scalar() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        let first = try hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw JSONSyntaxError(reason: .loneSurrogate, offset: start)
        }
        let second = try hexadecimal()
        let combined = 0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF))
        guard UTF16.isTrailSurrogate(second), let scalar = Unicode.Scalar(combined) else {
            throw JSONSyntaxError(reason: .loneSurrogate, offset: start)
        }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek() else { throw fault(.unexpectedEnd) }
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw fault(.invalidEscape) }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}

extension JSONReader {
    /// Reads a number (RFC 8259, section 6); the position is at its sign or first digit.
    mutating func number() throws(JSONSyntaxError) -> JSON {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let firstDigit = position
        if !take(UInt8(ascii: "0")) { try digits() }
        if let integer = shortInteger(from: firstDigit, isNegative: firstDigit > start) { return .integer(integer) }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = JSON(numberText: text, isInteger: isInteger) else {
            throw JSONSyntaxError(reason: .invalidNumber, offset: start)
        }
        return number
    }

    /// The value of the digits just read, if no fraction or exponent follows, and if they are too few to overflow. That
    /// holds for nearly every number.
    private func shortInteger(from start: Int, isNegative: Bool) -> Int? {
        let isWhole = peek().map { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") } ?? true
        guard isWhole, position - start <= 18 else { return nil }
        var value = 0
        for index in start..<position { value = value * 10 + Int(bytes[index] - UInt8(ascii: "0")) }
        return isNegative ? -value : value
    }

    /// Skips digits, at least one.
    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek(), isDigit(byte) { position += 1 }
        guard position > start else { throw fault(peek() == nil ? .unexpectedEnd : .invalidNumber) }
    }
}
