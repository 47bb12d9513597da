public import JSONCoding

/// The shape of the links that lead to one place: `/products/{id:integer}`, `/search/{text}?page={page:integer}`.
///
/// A segment in braces is a parameter: its name, and after a colon its type, one of `string` (the default), `integer`,
/// `number` and `boolean`. Every other segment is plain text, not percent-encoded.
///
/// After a question mark come the query parameters, each with its name in the query and a parameter in braces. They are
/// optional: a link without one matches, and has no such parameter.
///
/// Paths and parameters correspond one to one: the parameters of a pattern make one path, and that path has the same
/// parameters. So a value is accepted only as it would be printed: 42, but not 042 or +42. What a link has beyond that,
/// one trailing slash, other query parameters and a fragment, is ignored, and not part of the path.
public struct LinkPattern: Sendable, Hashable {
    public let text: String
    /// The mistakes in the pattern, for the author. If there are any, no path matches the pattern.
    public let problems: [String]
    let segments: [Segment]
    let query: [QueryParameter]

    enum Segment: Sendable, Hashable {
        /// `written` is its form in a path, percent-encoded.
        case literal(String, written: String)
        case parameter(Parameter)
    }

    struct Parameter: Sendable, Hashable {
        let name: String
        let type: ParameterType
    }

    struct QueryParameter: Sendable, Hashable {
        /// The name in the query. It needs no escapes.
        let key: String
        let parameter: Parameter
    }

    public init(_ text: String) {
        var parser = LinkPatternParser()
        parser.parse(text)
        self.text = text
        self.problems = parser.problems
        self.segments = parser.segments
        self.query = parser.query
    }

    /// The parameters of a path, in the order of the pattern.
    ///
    /// Escapes are decoded once; a plus sign stands for itself. A path with an empty or a dot segment, with a slash in a
    /// segment (`%2F`), or whose parameters have a zero byte (`%00`) or escapes that are broken or not UTF-8, matches no
    /// pattern. Of a query parameter that is there twice, the first counts.
    ///
    /// - Returns: `nil` if the path does not match.
    public func match(_ path: String) -> JSONObject? {
        LinkPath(path[...]).flatMap { try? match($0) }
    }

    func match(_ path: LinkPath) throws(LinkMismatch) -> JSONObject {
        guard problems.isEmpty else { throw LinkMismatch(fitting: 0, fault: .different) }
        var params = try match(path.segments)
        for item in query {
            guard let written = path.query.value(of: item.key) else { continue }
            guard let value = PercentEncoding.decode(written).flatMap(item.parameter.type.value) else {
                throw LinkMismatch(fitting: segments.count, fault: .query(name: item.key, item.parameter.type))
            }
            params[item.parameter.name] = value
        }
        return params
    }

    private func match(_ texts: [String?]) throws(LinkMismatch) -> JSONObject {
        var params = JSONObject()
        for (index, (segment, text)) in zip(segments, texts).enumerated() {
            switch segment {
            case .literal(let literal, _):
                guard let text, text.utf8.elementsEqual(literal.utf8) else {
                    throw LinkMismatch(fitting: index, fault: .different)
                }
            case .parameter(let parameter):
                guard let value = text.flatMap(parameter.type.value) else {
                    throw LinkMismatch(fitting: index, fault: .segment(parameter.type))
                }
                params[parameter.name] = value
            }
        }
        if texts.count < segments.count { throw LinkMismatch(fitting: texts.count, fault: .tooShort) }
        if texts.count > segments.count { throw LinkMismatch(fitting: segments.count, fault: .tooLong) }
        return params
    }

    /// The path with these parameters, percent-encoded where RFC 3986 requires it; in the query also `&`, `=` and `+`.
    /// Other members are ignored.
    ///
    /// - Returns: `nil` if a parameter is of another type, if one of the path is missing, or a text that cannot be a
    ///   segment: an empty one, `.`, `..`, or one with a slash; and if a text has a zero byte.
    public func path(_ params: JSONObject) -> String? {
        guard problems.isEmpty else { return nil }
        var path = ""
        for segment in segments {
            path += "/"
            switch segment {
            case .literal(_, let written): path += written
            case .parameter(let parameter):
                guard let text = params[parameter.name].flatMap(parameter.type.text),
                    let written = PathSegment.encode(text)
                else { return nil }
                path += written
            }
        }
        if path.isEmpty { path = "/" }
        var separator = "?"
        for item in query {
            guard let value = params[item.parameter.name] else { continue }
            guard let written = item.parameter.type.text(of: value).flatMap(LinkQuery.encode) else { return nil }
            path += "\(separator)\(item.key)=\(written)"
            separator = "&"
        }
        return path
    }
}

extension LinkPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }
    public var description: String { text }
}
