/// The percent-encoding of texts in a URL, as UTF-8 (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// Escapes every byte that is not literal.
    package static func encode(_ text: String, where isLiteral: (UInt8) -> Bool) -> String {
        if text.utf8.allSatisfy(isLiteral) { return text }
        var written: [UInt8] = []
        for byte in text.utf8 {
            if isLiteral(byte) {
                written.append(byte)
            } else {
                written += [UInt8(ascii: "%"), hexadecimal(byte >> 4), hexadecimal(byte & 0xF)]
            }
        }
        return String(decoding: written, as: UTF8.self)
    }

    /// Decodes a text once.
    ///
    /// - Returns: `nil` if an escape is broken, if the bytes are not UTF-8, or if one of them is zero, which many
    ///   programs take for the end.
    package static func decode(_ written: some Sequence<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = written.makeIterator()
        while var byte = rest.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
                byte = high << 4 | low
            }
            guard byte != 0 else { return nil }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whether a byte may stand unescaped in a segment of a path: `unreserved`, `sub-delims`, ":" and "@".
    package static func isPathCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "-._~!$&'()*+,;=:@".utf8.contains(byte)
        }
    }

    /// Whether a byte may stand unescaped in a query or a fragment: also "/" and "?".
    package static func isQueryCharacter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || isPathCharacter(byte)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func hexadecimal(_ half: UInt8) -> UInt8 {
        half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "A") + half - 10
    }
}
