/// A request's target in origin form (RFC 9112, section 3.2.1), taken apart and decoded once.
///
/// Refused is what two readers could read in two ways: an encoded slash or NUL, dot segments, encoded or not, empty
/// segments, bytes that a target may not hold, escapes that are no UTF-8.
public struct HTTPTarget: Sendable, Equatable {
    /// As it arrived.
    public let raw: String
    /// The path's segments, decoded: `/v1/apps` is `["v1", "apps"]`.
    public let segments: [String]
    /// The names and values after the question mark, decoded, in order.
    public let query: [QueryItem]

    public struct QueryItem: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// - Returns: `nil` for a target that is refused.
    public init?(_ raw: String) {
        var text = raw
        guard let (segments, query) = text.withUTF8({ HTTPTarget.parse($0) }) else { return nil }
        self.raw = raw
        self.segments = segments
        self.query = query
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> (segments: [String], query: [QueryItem])? {
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        for byte in bytes where !isAllowed(byte) { return nil }
        let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
        guard let segments = segments(of: bytes[1..<end]), let query = query(of: bytes[end...].dropFirst()) else {
            return nil
        }
        return (segments, query)
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func segments(of path: Bytes) -> [String]? {
        if path.isEmpty { return [] }
        var segments: [String] = []
        segments.reserveCapacity(4)
        var start = path.startIndex
        while true {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
            guard let segment = decode(path[start..<end]), !segment.isEmpty, segment != ".", segment != "..",
                !segment.utf8.contains(UInt8(ascii: "/"))
            else { return nil }
            segments.append(segment)
            guard end < path.endIndex else { return segments }
            start = end + 1
        }
    }

    private static func query(of text: Bytes) -> [QueryItem]? {
        if text.isEmpty { return [] }
        var items: [QueryItem] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = decode(pair[..<end]), let value = decode(pair[end...].dropFirst()) else { return nil }
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }

    /// Undoes percent-encoding (RFC 3986, section 2.1). What needs none is ASCII.
    private static func decode(_ text: Bytes) -> String? {
        guard text.contains(UInt8(ascii: "%")) else {
            return String(decoding: UnsafeBufferPointer(rebasing: text), as: UTF8.self)
        }
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = hexadecimal(rest.popFirst()), let low = hexadecimal(rest.popFirst()) else { return nil }
            let decoded = high << 4 | low
            guard decoded != 0 else { return nil }
            bytes.append(decoded)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8?) -> UInt8? {
        guard let byte, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
        return UInt8(digit)
    }

    /// The characters of RFC 3986's `pchar`, `/`, `?` and `%`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: ".~!$&'()*+,;=:@?%".utf8.contains(byte)
        }
    }
}
