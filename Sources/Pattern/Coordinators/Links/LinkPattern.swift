internal import ByteText
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
/// parameters. So a value is accepted only as it would be printed: 42, but not 042 or +42. One trailing slash, other
/// query parameters and a fragment are ignored, and are not part of the path.
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
        /// The name in the query. It has no character that needs an escape.
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
    /// Escapes are decoded once, so `%2F` is a slash within a parameter; a plus sign is a plus sign. A path matches no
    /// pattern if it has an empty or a dot segment, or a parameter with a zero byte (`%00`), with broken escapes or
    /// with escapes that are not UTF-8. If a query parameter occurs twice, the first one counts.
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
            guard let value = PercentEncoding.decode(written.utf8).flatMap(item.parameter.type.value) else {
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
    /// - Returns: `nil` if a parameter has another type or a zero byte, if a parameter of a segment is missing, or if
    ///   its text cannot be a segment because it is empty, `.` or `..`.
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

extension LinkPattern {
    /// Whether all required parameters are there, and have the right types. Even then, `path` is `nil` if the text of a
    /// parameter cannot be written at its place in a URL.
    func isFilled(by params: JSONObject) -> Bool {
        let pathIsFilled = segments.allSatisfy { segment in
            guard case .parameter(let parameter) = segment else { return true }
            return params[parameter.name].flatMap(parameter.type.text) != nil
        }
        return problems.isEmpty && pathIsFilled
            && query.allSatisfy { item in
                params[item.parameter.name].map { item.parameter.type.text(of: $0) != nil } ?? true
            }
    }
}

extension LinkPattern: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }
    public var description: String { text }
}

extension LinkPattern {
    /// The type of a parameter's value.
    enum ParameterType: String, Sendable, CaseIterable {
        case string, integer, number, boolean
    }
}

extension LinkPattern.ParameterType {
    /// The value of a decoded segment; `nil` if `text(of:)` would write that value differently.
    func value(of text: String) -> JSON? {
        guard let value = parse(text), self.text(of: value) == text else { return nil }
        return value
    }

    /// The text of a value; `nil` if the value is of another type.
    func text(of value: JSON) -> String? {
        switch (self, value) {
        case (.string, .string(let text)): text
        case (.integer, .integer(let integer)), (.number, .integer(let integer)): String(integer)
        case (.number, .number(let number)) where number.isFinite: number.description
        case (.number, .longNumber(let number)): number.text
        case (.integer, .longNumber) where value.integer(as: Int128.self) != nil: value.description
        case (.boolean, .bool(let bool)): String(bool)
        default: nil
        }
    }

    private func parse(_ text: String) -> JSON? {
        switch self {
        case .string: .string(text)
        case .integer, .number: JSON(numberText: text)
        case .boolean: Bool(text).map(JSON.bool)
        }
    }
}

/// Parses a pattern's text, and records the mistakes in it.
struct LinkPatternParser {
    private(set) var segments: [LinkPattern.Segment] = []
    private(set) var query: [LinkPattern.QueryParameter] = []
    private(set) var problems: [String] = []
    private var names: Set<String> = []

    mutating func parse(_ text: String) {
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") }
        guard let parts = PathSegment.split(Substring(path)) else {
            problems.append("must begin with “/”")
            return
        }
        for part in parts { parse(segment: part) }
        guard path.endIndex < text.endIndex else { return }
        let query = text.utf8[path.endIndex...].dropFirst()
        for part in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            parse(query: Substring(part))
        }
    }

    private mutating func parse(segment: Substring) {
        let inner = LinkPatternParser.inBraces(segment)
        if LinkPatternParser.hasBraces(inner ?? segment) {
            problems.append("“\(segment)”: braces must enclose the whole segment, once")
        } else if let inner {
            if let parameter = parameter(inner) { segments.append(.parameter(parameter)) }
        } else {
            parse(literal: String(segment))
        }
    }

    private mutating func parse(literal text: String) {
        if text.isEmpty {
            problems.append("has an empty segment")
        } else if text.utf8.contains(where: { "#%".utf8.contains($0) }) {
            problems.append("“\(text)”: a segment is plain text, without fragment or escapes")
        } else if text.utf8.contains(UInt8(ascii: "*")) {
            problems.append(
                "“\(text)”: a star stands for nothing else; any one segment is a parameter, such as “{name}”")
        } else if let written = PathSegment.encode(text) {
            segments.append(.literal(text, written: written))
        } else {
            problems.append("“\(text)” cannot be a segment")
        }
    }

    private mutating func parse(query text: Substring) {
        let key = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let value = Substring(text.utf8[key.endIndex...].dropFirst())
        guard let inner = LinkPatternParser.inBraces(value), !LinkPatternParser.hasBraces(inner) else {
            problems.append("“\(text)”: a query parameter is a name, “=” and a parameter in braces")
            return
        }
        let name = String(Substring(key))
        if name.isEmpty || LinkQuery.encode(name) != name {
            problems.append("“\(name)” cannot be the name of a query parameter")
        } else if query.contains(where: { $0.key == name }) {
            problems.append("has the query parameter “\(name)” twice")
        } else if let parameter = parameter(inner) {
            query.append(LinkPattern.QueryParameter(key: name, parameter: parameter))
        }
    }

    /// A parameter without its braces: `id:integer`.
    private mutating func parameter(_ text: Substring) -> LinkPattern.Parameter? {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map { String(Substring($0)) } ?? ""
        let typeName = parts.count > 1 ? String(Substring(parts[1])) : LinkPattern.ParameterType.string.rawValue
        if !LinkPatternParser.isName(name) {
            problems.append("“\(name)” is not a parameter name: use letters, digits and “_”, a letter first")
        } else if !names.insert(name).inserted {
            problems.append("has the parameter “\(name)” twice")
        }
        guard let type = LinkPattern.ParameterType(rawValue: typeName) else {
            let known = LinkPattern.ParameterType.allCases.map(\.rawValue).joined(separator: ", ")
            problems.append("“\(typeName)” is not a parameter type: use one of \(known)")
            return nil
        }
        return LinkPattern.Parameter(name: name, type: type)
    }

    /// The text between a brace at the beginning and one at the end; `nil` if either is missing.
    private static func inBraces(_ text: Substring) -> Substring? {
        let utf8 = text.utf8
        guard utf8.first == UInt8(ascii: "{"), utf8.last == UInt8(ascii: "}") else { return nil }
        return Substring(utf8.dropFirst().dropLast())
    }

    private static func hasBraces(_ text: Substring) -> Bool {
        text.utf8.contains { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, isLetter(first) else { return false }
        return text.unicodeScalars.allSatisfy { isLetter($0) || ("0"..."9").contains($0) || $0 == "_" }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
}

/// Where a path stops matching a pattern, and why.
struct LinkMismatch: Error {
    enum Fault {
        case tooShort, tooLong
        /// The next segment is not the pattern's.
        case different
        /// The next segment is not of the parameter's type.
        case segment(LinkPattern.ParameterType)
        /// All segments match, but the value of this query parameter is not of its type.
        case query(name: String, LinkPattern.ParameterType)
    }

    /// The number of segments that match, counted from the first.
    let fitting: Int
    let fault: Fault

    /// A sentence for the client's developer. Contains nothing of the path.
    func sentence(_ pattern: LinkPattern) -> String {
        let next = "its segment \(fitting + 1)"
        return switch fault {
        case .tooShort: "The link begins like “\(pattern)”, but has too few segments."
        case .tooLong: "The link begins like “\(pattern)”, but has too many segments."
        case .different: "The link begins like “\(pattern)”, but \(next) differs."
        case .segment(let type): "The link begins like “\(pattern)”, but \(next) is not \(type.noun)."
        case .query(let name, let type):
            "The link's path fits “\(pattern)”, but its query parameter “\(name)” is not \(type.noun)."
        }
    }
}

extension LinkPattern.ParameterType {
    fileprivate var noun: String {
        switch self {
        case .string: "valid text"
        case .integer: "an integer"
        case .number: "a number"
        case .boolean: "true or false"
        }
    }
}
