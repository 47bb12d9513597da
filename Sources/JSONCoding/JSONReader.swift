/// Why bytes are not JSON that is accepted, and at which byte.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        case unexpectedByte, unexpectedEnd, trailingBytes, duplicateName, nestedTooDeep, invalidUTF8, loneSurrogate,
            controlCharacter, invalidEscape, invalidNumber
    }

    public let reason: Reason
    /// Bytes before the fault, from 0.
    public let offset: Int

    public init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSON {
    /// Reads one JSON text.
    ///
    /// Stricter than RFC 8259 where leniency hides mistakes: a name may occur once in an object, a surrogate only in a
    /// pair, a number must be finite as a `Double`, arrays and objects must not nest deeper than `maximumDepth`.
    public init(parsing bytes: [UInt8], maximumDepth: Int = 32) throws(JSONSyntaxError) {
        var reader = JSONReader(bytes: bytes, depthLeft: maximumDepth)
        self = try reader.document()
    }
}

/// A recursive descent over the bytes; `depthLeft` bounds the recursion.
struct JSONReader {
    let bytes: [UInt8]
    var position = 0
    var depthLeft: Int

    init(bytes: [UInt8], depthLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
    }

    mutating func document() throws(JSONSyntaxError) -> JSON {
        skipWhitespace()
        let value = try value()
        skipWhitespace()
        guard position == bytes.count else { throw fault(.trailingBytes) }
        return value
    }

    private mutating func value() throws(JSONSyntaxError) -> JSON {
        switch peek() {
        case UInt8(ascii: "{"): return try nested { (reader) throws(JSONSyntaxError) in try reader.object() }
        case UInt8(ascii: "["): return try nested { (reader) throws(JSONSyntaxError) in try reader.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || isDigit(byte): return try number()
        case nil: throw fault(.unexpectedEnd)
        default: throw fault(.unexpectedByte)
        }
    }

    private mutating func nested(
        _ read: (inout JSONReader) throws(JSONSyntaxError) -> JSON
    ) throws(JSONSyntaxError) -> JSON {
        guard depthLeft > 0 else { throw fault(.nestedTooDeep) }
        depthLeft -= 1
        position += 1
        let value = try read(&self)
        depthLeft += 1
        return value
    }

    private mutating func object() throws(JSONSyntaxError) -> JSON {
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
