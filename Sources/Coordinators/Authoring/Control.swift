/// An event that a screen offers, and the title of the button that sends it.
///
/// ```swift
/// Screen("plus", title: "Plus", events: [Control("Push", sends: Event.plus)])
/// Screen("list", title: "Items", events: ["select", Control("New item", sends: Event.add)])
/// ```
public struct Control: Sendable, Equatable {
    /// The event's name.
    public let event: String
    /// The button's title on this screen; `nil` for the event's own title.
    public let title: String?

    /// A control that sends an event of the screen's coordinator. For an event with a payload, only the name counts.
    public init(_ title: String? = nil, sends event: some NavigationEvent) {
        self.init(title, sends: EncodedEvent(event)?.name ?? "")
    }

    /// A control that sends the event of that name. Whether the coordinator has such an event is checked when the
    /// screen is shown, and, for the screens of a new session, when a server starts.
    public init(_ title: String? = nil, sends event: String) {
        self.title = title
        self.event = event
    }
}

extension Control: ExpressibleByStringLiteral {
    /// - Parameter event: the event's name.
    public init(stringLiteral event: String) {
        self.init(sends: event)
    }
}
