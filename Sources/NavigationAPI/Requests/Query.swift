internal import MicroHTTP

/// The query parameters that a method takes on a path.
enum AcceptedQuery: Sendable {
    /// Every parameter is ignored: probes, caches and browsers add some.
    case ignored
    /// Any other parameter is refused, because a mistyped name is a mistake.
    case only([String])

    func check(_ query: [HTTPTarget.QueryItem]) throws(Problem) {
        guard !query.isEmpty, case .only(let names) = self else { return }
        for (index, item) in query.enumerated() {
            guard names.contains(item.name) else { throw .unknownParameter(item.name, known: names) }
            guard !query[..<index].contains(where: { $0.name == item.name }) else {
                throw .malformedParameter("\(item.name) must be given once.")
            }
        }
    }
}

/// The values of query parameters; `nil` where the query does not have the parameter.
extension HTTPRequest {
    func flag(_ name: String) throws(Problem) -> Bool? {
        try parameter(name, "true or false") { Bool($0) }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
        return try parameter(name, "an integer from \(range.lowerBound)\(end)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Whether the answer is to have `controls`.
    func includesControls() throws(Problem) -> Bool {
        try parameter("include", "controls") { $0 == "controls" ? true : nil } ?? false
    }

    /// - Parameters:
    ///   - form: what the value must be.
    ///   - parse: returns `nil` if it is not.
    func parameter<Value>(_ name: String, _ form: String, parse: (String) -> Value?) throws(Problem) -> Value? {
        guard let item = target.query.first(where: { $0.name == name }) else { return nil }
        guard let value = parse(item.value) else { throw .malformedParameter("\(name) must be \(form).") }
        return value
    }
}

extension Problem {
    /// - Parameter name: is repeated only if it is short and plain, so that no secret and no markup is.
    fileprivate static func unknownParameter(_ name: String, known: [String]) -> Problem {
        let isPlain =
            (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_.-".utf8.contains($0) }
        let subject = isPlain ? "The query parameter “\(name)”" : "A query parameter"
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        return malformedParameter("\(subject) is unknown; this request takes \(list).")
    }

    static func malformedParameter(_ detail: String) -> Problem {
        Problem(400, "invalid-request", "Malformed request", detail)
    }
}
