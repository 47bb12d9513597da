internal import ByteText
public import JSONCoding

/// The shape of the links that lead to one place: `/products/{id:integer}`, `/search/{text}?page={page:integer}`.
///
/// A segment in braces is a parameter: its name, and after a colon its type, one of `string` (the default), `integer`,
/// `number` and `boolean`. Every other segment is plain text, not percent-encoded.
///
/// After a question mark come the query parameters, each with its name in the query and a parameter in braces. They are
/// optional: a link without one matches, and has no such parameter. With a question mark at its end, as in
/// `?page={page:integer?}`, a value that is not of the type counts as left out; without, the link is refused.
///
/// With three dots at its end a parameter is a list. `/docs/{path...}`, a catch-all, stands for all further segments,
/// at least one, and must be the last. `?tag={tags...}` has all values of that name, in their order. Types as before:
/// `{ids:integer...}`.
///
/// Paths and parameters correspond one to one: the parameters of a pattern make one path, and that path has the same
/// parameters; an empty list of the query is the same as none. So a value is accepted only as it would be printed: 42,
/// but not 042 or +42. One trailing slash, other query parameters and a fragment do not matter, and are not part of the
/// path.
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
        /// Whether it has all values at its place, as an array.
        var isList = false
        /// Whether a value that is not of the type is ignored.
        var isLenient = false
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
    /// Escapes are decoded once, so `%2F` is a slash within a parameter. A plus sign is a plus sign in the path, and a
    /// space in the query, as in the forms of web pages. A path matches no pattern if it has an empty or a dot segment,
    /// or a parameter with a zero byte (`%00`), with broken escapes or with escapes that are not UTF-8. If a query
    /// parameter that is no list occurs twice, the first one counts.
    ///
    /// - Returns: `nil` if the path does not match.
    public func match(_ path: String) -> JSONObject? {
        LinkPath(path[...]).flatMap { try? match($0) }
    }

    func match(_ path: LinkPath) throws(LinkMismatch) -> JSONObject {
        guard problems.isEmpty else { throw LinkMismatch(fitting: 0, fault: .different) }
        var params = try match(path.segments)
        for item in query {
            let parameter = item.parameter
            var values: [JSON] = []
            for written in path.query.values(of: item.key) where parameter.isList || values.isEmpty {
                if let value = LinkQuery.decode(written).flatMap(parameter.type.value) {
                    values.append(value)
                } else if !parameter.isLenient {
                    throw LinkMismatch(fitting: segments.count, fault: .query(name: item.key, parameter.type))
                }
            }
            guard let first = values.first else { continue }
            params[parameter.name] = parameter.isList ? .array(values) : first
        }
        return params
    }

    private func match(_ texts: [String?]) throws(LinkMismatch) -> JSONObject {
        var params = JSONObject()
        for (index, segment) in segments.enumerated() {
            guard index < texts.count else { throw LinkMismatch(fitting: index, fault: .tooShort) }
            switch segment {
            case .literal(let literal, _):
                guard let text = texts[index], text.utf8.elementsEqual(literal.utf8) else {
                    throw LinkMismatch(fitting: index, fault: .different)
                }
            case .parameter(let parameter):
                var values: [JSON] = []
                for (index, text) in texts.enumerated().dropFirst(index).prefix(parameter.isList ? texts.count : 1) {
                    guard let value = text.flatMap(parameter.type.value) else {
                        throw LinkMismatch(fitting: index, fault: .segment(parameter.type))
                    }
                    values.append(value)
                }
                params[parameter.name] = parameter.isList ? .array(values) : values[0]
            }
        }
        guard texts.count == segments.count || isCatchAll else {
            throw LinkMismatch(fitting: segments.count, fault: .tooLong)
        }
        return params
    }

    /// Whether the last segment stands for all further ones.
    var isCatchAll: Bool {
        if case .parameter(let parameter)? = segments.last { parameter.isList } else { false }
    }

    /// The number of segments that are plain text.
    var literalCount: Int {
        segments.count { if case .literal = $0 { true } else { false } }
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
            switch segment {
            case .literal(_, let written):
                path += "/"
                path += written
            case .parameter(let parameter) where !parameter.isList:
                // Apart from the lists, because most screens with a link have only this.
                guard let text = params[parameter.name].flatMap(parameter.type.text),
                    let written = PathSegment.encode(text)
                else { return nil }
                path += "/"
                path += written
            case .parameter(let parameter):
                guard let texts = parameter.texts(in: params), !texts.isEmpty else { return nil }
                for text in texts {
                    guard let written = PathSegment.encode(text) else { return nil }
                    path += "/\(written)"
                }
            }
        }
        if path.isEmpty { path = "/" }
        var separator = "?"
        for item in query where params[item.parameter.name] != nil {
            guard let texts = item.parameter.texts(in: params) else { return nil }
            for text in texts {
                guard let written = LinkQuery.encode(text) else { return nil }
                path += "\(separator)\(item.key)=\(written)"
                separator = "&"
            }
        }
        return path
    }
}

extension LinkPattern.Parameter {
    /// The texts that stand for the parameter in a path; none if `params` lack it.
    ///
    /// - Returns: `nil` if it has another type.
    func texts(in params: JSONObject) -> [String]? {
        guard let value = params[name] else { return [] }
        guard isList else { return type.text(of: value).map { [$0] } }
        guard let values = value.array else { return nil }
        let texts = values.compactMap(type.text)
        return texts.count == values.count ? texts : nil
    }
}

extension LinkPattern {
    /// A sentence's end, for the author, if there is no path with these parameters.
    package func reasonForNoPath(_ params: JSONObject) -> String {
        if let problem = problems.first { return "“\(text)” \(problem)" }
        let required = segments.compactMap { segment -> Parameter? in
            if case .parameter(let parameter) = segment { parameter } else { nil }
        }
        if let lacking = required.first(where: { $0.texts(in: params)?.isEmpty == true }) {
            return "its parameters lack “\(lacking.name)” of “\(text)”"
        }
        if let unfit = (required + query.map(\.parameter)).first(where: { $0.texts(in: params) == nil }) {
            return "its parameter “\(unfit.name)” is not \(unfit.noun), which “\(text)” wants"
        }
        return "a text of its parameters cannot be in a path of “\(text)”"
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
        let end = LinkPatternParser.endOfPath(text)
        guard let parts = PathSegment.split(text[..<end]) else {
            problems.append("must begin with “/”")
            return
        }
        for (index, part) in parts.enumerated() { parse(segment: part, isLast: index == parts.count - 1) }
        guard end < text.endIndex else { return }
        let query = text.utf8[end...].dropFirst()
        for part in Substring(query).parts(at: "&") { parse(query: part) }
    }

    /// The position of the question mark before the query. One before a closing brace belongs to a parameter.
    private static func endOfPath(_ text: String) -> String.Index {
        let utf8 = text.utf8
        return utf8.indices.first { index in
            let next = utf8.index(after: index)
            return utf8[index] == UInt8(ascii: "?") && (next == utf8.endIndex || utf8[next] != UInt8(ascii: "}"))
        } ?? utf8.endIndex
    }

    private mutating func parse(segment: Substring, isLast: Bool) {
        let inner = segment.inside("{", "}")
        if LinkPatternParser.hasBraces(inner ?? segment) {
            problems.append("“\(segment)”: braces must enclose the whole segment, once")
        } else if let inner {
            guard let parameter = parameter(inner) else { return }
            if parameter.isLenient {
                problems.append("“\(segment)”: only parameters of the query end in “?”")
            } else if parameter.isList, !isLast {
                problems.append("“\(segment)”: only the last segment can be a list")
            } else {
                segments.append(.parameter(parameter))
            }
        } else {
            parse(literal: String(segment))
        }
    }

    private mutating func parse(literal text: String) {
        if text.isEmpty {
            problems.append("has an empty segment")
        } else if text.has("#") || text.has("%") {
            problems.append("“\(text)”: a segment is plain text, without fragment or escapes")
        } else if text.has("*") {
            problems.append(
                "“\(text)”: a star stands for nothing else; any one segment is “{name}”, all further ones “{name...}”")
        } else if let written = PathSegment.encode(text) {
            segments.append(.literal(text, written: written))
        } else {
            problems.append("“\(text)” cannot be a segment")
        }
    }

    private mutating func parse(query text: Substring) {
        guard let (key, value) = text.cut(at: "="), let inner = value.inside("{", "}"),
            !LinkPatternParser.hasBraces(inner)
        else {
            problems.append("“\(text)”: a query parameter is a name, “=” and a parameter in braces")
            return
        }
        let name = String(key)
        if name.isEmpty || LinkQuery.encode(name) != name {
            problems.append("“\(name)” cannot be the name of a query parameter")
        } else if query.contains(where: { $0.key == name }) {
            problems.append("has the query parameter “\(name)” twice")
        } else if let parameter = parameter(inner) {
            query.append(LinkPattern.QueryParameter(key: name, parameter: parameter))
        }
    }

    /// A parameter without its braces: `id`, `id:integer`, `ids:integer...`, `page:integer?`.
    private mutating func parameter(_ written: Substring) -> LinkPattern.Parameter? {
        var text = written.utf8
        let isLenient = text.last == UInt8(ascii: "?")
        if isLenient { text.removeLast() }
        let isList = text.suffix(3).elementsEqual("...".utf8)
        if isList { text.removeLast(3) }
        let parts = Substring(text).parts(at: ":", limit: 2).map { String($0) }
        let (name, typeName) = (parts[0], parts.count > 1 ? parts[1] : LinkPattern.ParameterType.string.rawValue)
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
        return LinkPattern.Parameter(name: name, type: type, isList: isList, isLenient: isLenient)
    }

    private static func hasBraces(_ text: Substring) -> Bool { text.has("{") || text.has("}") }

    private static func isName(_ text: String) -> Bool {
        text.utf8.first?.isASCIILetter == true
            && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
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

extension LinkPattern.Parameter {
    fileprivate var noun: String { isList ? "a list, each of it \(type.noun)" : type.noun }
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
