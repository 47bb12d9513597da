// What typed files use of the library `Clients/Swift`, so that they compile alone.

public enum JSONValue: Codable, Hashable, Sendable {
    case null, boolean(Bool), integer(Int64), number(Double), string(String)
    case array([JSONValue]), object([String: JSONValue])

    public init(from decoder: any Decoder) throws { self = .null }
    public func encode(to encoder: any Encoder) throws {}
}

public struct NavigationEvent: Sendable {
    public let type: String

    public init(_ type: String) { self.type = type }
    public init(_ type: String, _ payload: some Encodable & Sendable) { self.type = type }
}

public struct Screen: Sendable {
    public let key: String
    public let name: String
    public let title: String?
    public let params: JSONValue?

    public func params<Params: Decodable>(as type: Params.Type) -> Params? { nil }
}
