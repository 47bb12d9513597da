/// An event that a screen offers, and how its button is drawn.
///
/// ```swift
/// Screen("plus", title: "Plus", events: [Control("Push", sends: Event.plus)])
/// Screen("list", title: "Items", events: ["select", Control("Delete", role: .destructive, sends: Event.delete)])
/// ```
public struct Control: Sendable, Equatable {
    /// The event's name.
    public let event: String
    /// The button's title on this screen; `nil` for the event's own title.
    public let title: String?
    /// `nil` for `input` if the event has a payload, otherwise `secondary`.
    public let role: Role?

    /// What a control is for, so that a client can draw it accordingly.
    public enum Role: String, Sendable, Codable {
        /// What most users do next on the screen.
        case primary
        case secondary
        /// Loses or deletes something.
        case destructive
        /// Leads to another screen, like a row of a list or a back button.
        case navigation
        /// Takes values from a form.
        case input
    }

    /// A control that sends an event of the screen's coordinator. For an event with a payload, only the name counts.
    public init(_ title: String? = nil, role: Role? = nil, sends event: some NavigationEvent) {
        self.init(title, role: role, sends: EncodedEvent(event)?.name ?? "")
    }

    /// A control that sends the event of that name. Whether the coordinator has such an event is checked when the
    /// screen is shown, and, for the screens of a new session, when a server starts.
    public init(_ title: String? = nil, role: Role? = nil, sends event: String) {
        self.title = title
        self.role = role
        self.event = event
    }
}

extension Control: ExpressibleByStringLiteral {
    /// - Parameter event: the event's name.
    public init(stringLiteral event: String) {
        self.init(sends: event)
    }
}
