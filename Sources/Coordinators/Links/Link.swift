public import JSONCoding

/// A path that matches a pattern, and the values of its parameters.
public struct Link: Sendable, Equatable {
    /// The path that the pattern makes of the parameters. What else was opened is not in it: a trailing slash, other
    /// query parameters, a fragment, an origin.
    public let path: String
    public let pattern: LinkPattern
    public let params: JSONObject

    /// - Returns: `nil` if the path does not match the pattern.
    public init?(_ path: String, matching pattern: LinkPattern) {
        guard let params = pattern.match(path) else { return nil }
        self.init(pattern, params)
    }

    init?(_ pattern: LinkPattern, _ params: JSONObject) {
        guard let path = pattern.path(params) else { return nil }
        self.path = path
        self.pattern = pattern
        self.params = params
    }
}

// The parameters by type; `nil` if there is none of that name and type.
extension Link {
    public func string(_ name: String) -> String? {
        params[name]?.string
    }

    public func integer(_ name: String) -> Int? {
        guard case .integer(let value) = params[name] else { return nil }
        return value
    }

    /// An integer counts as a number, too.
    public func number(_ name: String) -> Double? {
        switch params[name] {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    public func boolean(_ name: String) -> Bool? {
        guard case .bool(let value) = params[name] else { return nil }
        return value
    }
}
