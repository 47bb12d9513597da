internal import MicroHTTP
internal import JSONCoding
internal import Sessions

/// The token of `Authorization: Bearer …` (RFC 6750, section 2.1).
struct BearerToken {
    let text: String

    /// - Returns: `nil` unless there is exactly one field, of that scheme.
    init?(_ fields: [String]) {
        guard fields.count == 1 else { return nil }
        let parts = fields[0].split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        self.text = String(parts[1])
    }
}

/// Entity tags (RFC 9110, section 8.8.3).
enum EntityTag {
    /// Whether an `If-None-Match` holds the tag; the weak comparison, as section 13.1.2 asks for.
    static func matches(_ fields: [String], _ tag: String) -> Bool {
        fields.contains { field in
            field.split(separator: ",").contains { item in
                let item = item.trimming(" \t")
                return item == "*" || item == tag || item == "W/\(tag)"
            }
        }
    }
}

extension Substring {
    func trimming(_ characters: String) -> Substring {
        var text = self
        while let first = text.first, characters.contains(first) { text.removeFirst() }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return text
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
