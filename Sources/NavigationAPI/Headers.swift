internal import MicroHTTP
internal import JSONCoding
internal import Sessions

/// The token of `Authorization: Bearer …` (RFC 6750, section 2.1).
struct BearerToken {
    let text: String

    /// - Returns: `nil` unless there is exactly one field, of that scheme.
    init?(_ fields: [String]) {
        let scheme = "Bearer "
        guard fields.count == 1, fields[0].utf8.count > scheme.utf8.count else { return nil }
        let start = fields[0].utf8.index(fields[0].startIndex, offsetBy: scheme.utf8.count)
        guard fields[0].hasPrefix(scheme) || fields[0][..<start].isSame(scheme) else { return nil }
        self.text = String(fields[0][start...])
    }
}

/// Entity tags (RFC 9110, section 8.8.3).
enum EntityTag {
    /// Whether an `If-None-Match` holds the tag; the weak comparison, as section 13.1.2 asks for.
    static func matches(_ fields: [String], _ tag: String) -> Bool {
        fields.contains { field in
            field.split(separator: ",").contains { item in
                let item = item.trimmed
                return item == "*" || item == tag || item == "W/\(tag)"
            }
        }
    }
}

extension Substring {
    /// Without the spaces and tabs around it.
    var trimmed: Substring {
        var text = self.utf8
        while text.first == UInt8(ascii: " ") || text.first == UInt8(ascii: "\t") { text.removeFirst() }
        while text.last == UInt8(ascii: " ") || text.last == UInt8(ascii: "\t") { text.removeLast() }
        return Substring(text)
    }

    /// Compares as tokens of HTTP are compared, without regard to case. Most clients write them as everyone does.
    func isSame(_ token: String) -> Bool {
        self == token || lowercased() == token.lowercased()
    }
}

extension SessionState {
    var entityTag: String { "\"\(version)\"" }
}

extension HTTPResponse {
    static func json(
        _ body: some JSONWritable, status: Int = 200, type: String = "application/json"
    ) -> HTTPResponse {
        var writer = JSONWriter(capacity: 1024)
        body.write(to: &writer)
        return HTTPResponse(
            status: status, headers: ["Content-Type": type, "Cache-Control": "no-store"], body: writer.bytes)
    }
}
