/// The events that a coordinator handles: an enum whose associated values are the payload.
///
/// A client posts `{"type": "submit", "payload": {"email": "…"}}` for `case submit(email: String)`. A single unlabelled
/// value is the payload itself; a case without values takes no payload.
public protocol NavigationEvent: Codable, Sendable {
    /// At least one value of each case. The events' names, their payloads' fields and their documentation are derived
    /// from the first one of each; tests send them all. A server refuses to start if a case has none.
    static var examples: [Self] { get }

    /// The title of the button that sends the event, such as “Push”. By default the words of the event's name, see
    /// `readableName`. A screen may give the button another title, see `Control`. The title is read from the examples,
    /// so it must not depend on a payload.
    var title: String { get }

    /// How a form shows the payload's fields, and what the server checks of them. By default each field is titled with
    /// the words of its name. Read from the examples, like `title`.
    var fields: [Field] { get }
}

extension NavigationEvent {
    public var title: String { readableName }
    public var fields: [Field] { [] }

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
