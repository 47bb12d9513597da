/// The events that a coordinator handles: an enum, its associated values the payload.
///
/// A client posts `{"type": "submit", "payload": {"email": "…"}}` for `case submit(email: String)`. A single unlabelled
/// value is the payload itself; a case without values takes no payload.
public protocol NavigationEvent: Codable, Sendable {
    /// One value of each case. From these come the events' names, their payloads' fields and their documentation.
    static var examples: [Self] { get }

    /// What is written on the button that sends the event: “Push”. By default the words of its name, see `readableName`. A
    /// screen may write something else on it, see `Control`. Read from the examples, so it must not depend on a payload.
    var title: String { get }
}

extension NavigationEvent {
    public var title: String { readableName }

    /// The words of the event's name: “Add to cart” for `addToCart`.
    public var readableName: String { EncodedEvent(self)?.name.sentence ?? "" }
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
