public import JSONCoding

/// What a client draws: a name it knows how to draw, a title, parameters. Data, and nothing else.
public struct Screen: Sendable, Equatable {
    public var name: String
    public var title: String?
    /// Anything the client needs to draw the screen.
    public var params: JSONObject
    /// The events that the coordinator accepts while this screen is visible; `nil` for all that it has. What is named
    /// here is not accepted from the screens of its children.
    public var events: [String]?
    /// Whether the user may go back from here.
    public var back: BackRule
    /// The link that leads here, once the parameters fill it in.
    public var link: LinkPattern?

    public init(
        _ name: String, title: String? = nil, params: JSONObject = [:], events: [String]? = nil,
        back: BackRule = .allowed, link: LinkPattern? = nil
    ) {
        self.name = name
        self.title = title
        self.params = params
        self.events = events
        self.back = back
        self.link = link
    }
}

/// Whether the user may leave a screen backwards: by `back`, `backTo`, `backToRoot` or `dismiss`, or by selecting its tab
/// again.
public enum BackRule: String, Sendable, Codable {
    case allowed
    /// Only the coordinator goes on from here: a receipt after the payment.
    case forbidden
}

/// What `back` does at the first screen of a tab.
public enum TabBackRule: String, Sendable, Codable {
    /// Nothing to the tabs, as iOS does; the screens below them may still be gone back to.
    case nothing
    /// Selects the first tab.
    case firstTab
    /// Selects the tab that was selected before.
    case history
}

/// One tab of a screen with tabs: either a first screen of the same coordinator, or a child that shows it.
public struct Tab: Sendable {
    enum Content: Sendable {
        case screen(Screen)
        case child(any Coordinator)
    }

    /// Unique among the screen's tabs.
    public let id: String
    public let title: String?
    let content: Content

    public init(_ id: String, title: String? = nil, _ screen: Screen) {
        self.init(id: id, title: title, content: .screen(screen))
    }

    public init(_ id: String, title: String? = nil, starting child: some Coordinator) {
        self.init(id: id, title: title, content: .child(child))
    }

    private init(id: String, title: String?, content: Content) {
        self.id = id
        self.title = title
        self.content = content
    }
}
