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
                // Nearly all text is ASCII, which needs no validation.
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
        if isInteger, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else {
            throw JSONSyntaxError(reason: .invalidNumber, offset: start)
        }
        return .number(number)
    }

    /// The value of the digits just read, if they are the whole number and too few to overflow, as in nearly every
    /// number.
    private func shortInteger(from start: Int, isNegative: Bool) -> Int? {
        let isWhole = peek().map { $0 != UInt8(ascii: ".") && $0 | 0x20 != UInt8(ascii: "e") } ?? true
        guard isWhole, position - start <= 18 else { return nil }
        var value = 0
        for index in start..<position { value = value * 10 + Int(bytes[index] - UInt8(ascii: "0")) }
        return isNegative ? -value : value
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = peek(), isDigit(byte) { position += 1 }
        guard position > start else { throw fault(peek() == nil ? .unexpectedEnd : .invalidNumber) }
    }
}
