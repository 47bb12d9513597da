internal import ByteText

/// A request's target in origin, absolute or asterisk form (RFC 9112, section 3.2), split and decoded once.
///
/// A target that two readers could read differently is refused: an encoded slash or NUL, dot segments, encoded or not,
/// bytes that are not allowed in a target, escapes that are not UTF-8.
public struct HTTPTarget: Sendable, Equatable {
    /// The path's segments, decoded: `/v1/apps` is `["v1", "apps"]`, `/v1/apps/` is `["v1", "apps", ""]`, `/` is `[]`.
    public private(set) var segments: [String]
    /// The names and values after the question mark, decoded, in order.
    public let query: [QueryItem]
    /// Whether it is `*`, the server as a whole, which only OPTIONS may have. It has no segments and no query.
    public let isServerWide: Bool

    public struct QueryItem: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// - Returns: `nil` for a target that is refused.
    public init?(_ raw: String) {
        var raw = raw
        guard let target = raw.withUTF8({ HTTPTarget($0) }) else { return nil }
        self = target
    }

    init?(_ target: UnsafeBufferPointer<UInt8>) {
        isServerWide = target.elementsEqual("*".utf8)
        if isServerWide {
            (segments, query) = ([], [])
            return
        }
        let bytes = HTTPTarget.originForm(of: target)
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        segments.reserveCapacity(4)
        var start = 1
        var position = 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "?") {
            guard HTTPTarget.isAllowed(bytes[position]) else { return nil }
            if bytes[position] == UInt8(ascii: "/") {
                guard let segment = HTTPTarget.segment(bytes[start..<position]) else { return nil }
                segments.append(segment)
                start = position + 1
            }
            position += 1
        }
        if position > 1 {
            guard let segment = HTTPTarget.segment(bytes[start..<position]) else { return nil }
            segments.append(segment)
        }
        self.segments = segments
        guard let query = HTTPTarget.query(of: bytes[position...].dropFirst()) else { return nil }
        self.query = query
    }

    /// The target without a prefix of its path, if the path begins with it.
    func without(prefix: [String]) -> HTTPTarget {
        guard !prefix.isEmpty, segments.starts(with: prefix) else { return self }
        var target = self
        target.segments.removeFirst(prefix.count)
        return target
    }

    /// The path and query of an absolute target with a valid host; any other target unchanged.
    private static func originForm(of target: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        for scheme in ["http://", "https://"] {
            let start = scheme.utf8.count
            guard target.count > start, zip(target, scheme.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else {
                continue
            }
            let end = target[start...].firstIndex(of: UInt8(ascii: "/")) ?? target.endIndex
            let host = UnsafeBufferPointer(rebasing: target[start..<end])
            guard !host.isEmpty, HeadCheck.isHost(UnsafeRawBufferPointer(host)) else { break }
            return UnsafeBufferPointer(rebasing: target[end...])
        }
        return target
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    /// A segment that decoding left unchanged contains no slash; one that does not start with a dot is no dot segment.
    private static func segment(_ text: Bytes) -> String? {
        guard let segment = decode(text),
            segment.utf8.count == text.count || !segment.utf8.contains(UInt8(ascii: "/"))
        else { return nil }
        if segment.utf8.first == UInt8(ascii: "."), segment == "." || segment == ".." { return nil }
        return segment
    }

    private static func query(of text: Bytes) -> [QueryItem]? {
        if text.isEmpty { return [] }
        for byte in text where !isAllowed(byte) { return nil }
        var items: [QueryItem] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = decode(pair[..<end]), let value = decode(pair[end...].dropFirst()) else { return nil }
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }

    /// Decodes percent-encoding (RFC 3986, section 2.1). Text without escapes is ASCII.
    private static func decode(_ text: Bytes) -> String? {
        guard text.contains(UInt8(ascii: "%")) else {
            return String(decoding: UnsafeBufferPointer(rebasing: text), as: UTF8.self)
        }
        return PercentEncoding.decode(text)
    }

    /// The characters of RFC 3986's `pchar`, `/`, `?` and `%`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-") || ".~!$&'()*+,;=:@?%".utf8.contains(byte)
    }
}

/// A server's host and port, written as in URLs and `Host`: an IPv6 address is in brackets (RFC 3986, section 3.2.2).
public struct HTTPAuthority: Sendable, Equatable, CustomStringConvertible {
    public let host: String
    public let port: Int

    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    public var description: String { host.has(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
