/// Parses a pattern's text, and records the mistakes in it.
struct LinkPatternParser {
    private(set) var segments: [LinkPattern.Segment] = []
    private(set) var problems: [String] = []
    private var names: Set<String> = []

    mutating func parse(_ text: String) {
        guard let parts = PathSegment.split(text) else {
            problems.append("must begin with “/”")
            return
        }
        for part in parts { parse(segment: part) }
    }

    private mutating func parse(segment: Substring) {
        let utf8 = segment.utf8
        let isParameter = utf8.first == UInt8(ascii: "{") && utf8.last == UInt8(ascii: "}")
        let inner = Substring(isParameter ? utf8.dropFirst().dropLast() : utf8)
        if inner.utf8.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) {
            problems.append("“\(segment)”: braces must enclose the whole segment, once")
        } else if isParameter {
            parse(parameter: inner)
        } else {
            parse(literal: String(segment))
        }
    }

    private mutating func parse(literal text: String) {
        if text.isEmpty {
            problems.append("has an empty segment")
        } else if text.utf8.contains(where: { "?#%".utf8.contains($0) }) {
            problems.append("“\(text)”: a segment is plain text, without query, fragment or escapes")
        } else if let written = PathSegment.encode(text) {
            segments.append(.literal(text, written: written))
        } else {
            problems.append("“\(text)” cannot be a segment")
        }
    }

    private mutating func parse(parameter text: Substring) {
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
            return
        }
        segments.append(.parameter(name: name, type: type))
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, isLetter(first) else { return false }
        return text.unicodeScalars.allSatisfy { isLetter($0) || ("0"..."9").contains($0) || $0 == "_" }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }
}
