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

    /// What stands between a brace at the beginning and one at the end.
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
