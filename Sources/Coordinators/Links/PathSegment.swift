/// A segment of a URL's path, as text and as it is written in the path (RFC 3986, section 3.3).
enum PathSegment {
    /// The segments of a path, not decoded yet; none for `/`.
    ///
    /// - Returns: `nil` if there is no leading slash.
    static func split(_ path: Substring) -> [Substring]? {
        // Bytes, because to Swift a slash with a combining mark is another character.
        let utf8 = path.utf8
        guard utf8.first == UInt8(ascii: "/") else { return nil }
        let rest = utf8.dropFirst()
        if rest.isEmpty { return [] }
        return rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// The text of a segment, decoded once.
    ///
    /// - Returns: `nil` if the segment cannot be decoded, or stands for a text that cannot be a segment.
    static func decode(_ written: Substring) -> String? {
        let isLiteral = written.utf8.allSatisfy(PercentEncoding.isPathCharacter)
        guard let text = isLiteral ? String(written) : PercentEncoding.decode(written) else { return nil }
        return canStand(text) ? text : nil
    }

    /// The segment that stands for a text: every byte that is not a `pchar` is escaped.
    ///
    /// - Returns: `nil` if the text cannot be a segment.
    static func encode(_ text: String) -> String? {
        canStand(text) ? PercentEncoding.encode(text, where: PercentEncoding.isPathCharacter) : nil
    }

    /// Whether a text can be one segment. Empty and dot segments are removed on the way (RFC 3986, section 5.2.4); many
    /// programs treat a slash in a segment as a separator, and a zero byte as the end.
    static func canStand(_ text: String) -> Bool {
        !isDots(text) && !text.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    /// Whether the text is empty, one dot or two dots.
    private static func isDots(_ text: String) -> Bool {
        text.utf8.count <= 2 && text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
    }
}
