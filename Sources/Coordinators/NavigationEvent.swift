/// The events that a coordinator handles: an enum, its associated values the payload.
///
/// A client posts `{"type": "submit", "payload": {"email": "…"}}` for `case submit(email: String)`. A single unlabelled
/// value is the payload itself; a case without values takes no payload.
public protocol NavigationEvent: Codable, Sendable {
    /// One value of each case. From these come the events' names, their payloads' fields and their documentation.
    static var examples: [Self] { get }
}

extension NavigationEvent where Self: CaseIterable {
    public static var examples: [Self] { Array(allCases) }
}

/// The `Event` of a coordinator that handles none.
public enum NoEvent: NavigationEvent {
    public static let examples: [NoEvent] = []

    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "there is no event"))
    }

    public func encode(to encoder: any Encoder) throws {}
}
