public import JSONCoding

/// The shape of the paths that lead to one place: `/products/{id:integer}`, `/search/{text}`.
///
/// A segment in braces is a parameter: its name, and after a colon its type, one of `string` (the default), `integer`,
/// `number` and `boolean`. Every other segment is plain text, not percent-encoded.
///
/// Paths and parameters correspond one to one: the parameters of a pattern make one path, and that path has the same
/// parameters. So a value is accepted only as it would be printed: 42, but not 042 or +42.
public struct LinkPattern: Sendable, Hashable {
    public let text: String
    /// The mistakes in the pattern, for the author. If there are any, no path matches the pattern.
    public let problems: [String]
    let segments: [Segment]

    enum Segment: Sendable, Hashable {
        /// `written` is its form in a path, percent-encoded.
        case literal(String, written: String)
        case parameter(name: String, type: ParameterType)
    }

    public init(_ text: String) {
        var parser = LinkPatternParser()
        parser.parse(text)
        self.text = text
        self.problems = parser.problems
        self.segments = parser.segments
    }

    /// The parameters of a path, in the order of the pattern.
    ///
    /// Escapes are decoded once. A path with a query or a fragment, with an empty or a dot segment, with a slash or a
    /// zero byte in a segment (`%2F`, `%00`), or with escapes that are broken or not UTF-8, matches no pattern.
    ///
    /// - Returns: `nil` if the path does not match.
    public func match(_ path: String) -> JSONObject? {
        PathSegment.texts(of: path).flatMap(match)
    }

    /// The parameters of a path, given the decoded texts of its segments.
    func match(_ texts: [String]) -> JSONObject? {
        guard problems.isEmpty, texts.count == segments.count else { return nil }
        var params = JSONObject()
        for (segment, text) in zip(segments, texts) {
            switch segment {
            case .literal(let literal, _):
                guard text.utf8.elementsEqual(literal.utf8) else { return nil }
            case .parameter(let name, let type):
                guard let value = type.value(of: text) else { return nil }
                params[name] = value
            }
        }
        return params
    }

    /// The path with these parameters, percent-encoded where RFC 3986 requires it. Other members are ignored.
    ///
    /// - Returns: `nil` if a parameter is missing, of another type, or a text that cannot be a segment: an empty one,
    ///   `.`, `..`, or one with a slash or a zero byte.
    public func path(_ params: JSONObject) -> String? {
        guard problems.isEmpty else { return nil }
        var path = ""
        for segment in segments {
            path += "/"
            switch segment {
            case .literal(_, let written): path += written
            case .parameter(let name, let type):
                guard let written = params[name].flatMap(type.text).flatMap(PathSegment.encode) else { return nil }
                path += written
            }
        }
        return path.isEmpty ? "/" : path
    }
}

extension LinkPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }
    public var description: String { text }
}
