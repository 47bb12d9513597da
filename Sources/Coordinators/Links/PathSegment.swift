/// A segment of a URL's path, as text and as it is written in the path (RFC 3986, section 3.3).
enum PathSegment {
    /// The segments of a path, not decoded yet; none for `/`.
    ///
    /// - Returns: `nil` if there is no leading slash.
    static func split(_ path: String) -> [Substring]? {
        // Bytes, because to Swift a slash with a combining mark is another character.
        let utf8 = path.utf8
        guard utf8.first == UInt8(ascii: "/") else { return nil }
        let rest = utf8.dropFirst()
        if rest.isEmpty { return [] }
        return rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// The texts of a path's segments; none for `/`.
    ///
    /// - Returns: `nil` if there is no leading slash, or if a segment cannot be decoded.
    static func texts(of path: String) -> [String]? {
        guard let segments = split(path) else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(segments.count)
        for segment in segments {
            guard let text = decode(segment) else { return nil }
            texts.append(text)
        }
        return texts
    }

    /// The text of a segment, decoded once.
    ///
    /// - Returns: `nil` if the segment has a character that ends the path (`?`, `#`), is not UTF-8, has a broken
    ///   escape, or stands for a text that cannot be a segment.
    private static func decode(_ written: Substring) -> String? {
        if written.utf8.allSatisfy(isLiteral) { return isDots(written) ? nil : String(written) }
        var bytes: [UInt8] = []
        var rest = written.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "?"), UInt8(ascii: "#"):
                return nil
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default:
                bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self), canStand(text) else { return nil }
        return text
    }

    /// The segment that stands for a text: every byte that is not a `pchar` is escaped.
    ///
    /// - Returns: `nil` if the text cannot be a segment.
    static func encode(_ text: String) -> String? {
        if text.utf8.allSatisfy(isLiteral) { return isDots(text) ? nil : text }
        guard canStand(text) else { return nil }
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

    /// Whether a text can be one segment. Empty and dot segments are removed on the way (RFC 3986, section 5.2.4); many
    /// programs treat a slash in a segment as a separator, and a zero byte as the end.
    static func canStand(_ text: String) -> Bool {
        !isDots(text) && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    /// Whether the text is empty, one dot or two dots.
    private static func isDots(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= 2 && text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
    }

    /// `pchar` without escapes: unreserved, sub-delims, ":" and "@".
    private static func isLiteral(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "-._~!$&'()*+,;=:@".utf8.contains(byte)
        }
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
