public import JSONCoding

/// What a client draws: a name it knows how to draw, a title, parameters. Data, and nothing else.
public struct Screen: Sendable, Equatable {
    public var name: String
    public var title: String?
    /// Anything the client needs to draw the screen.
    public var params: JSONObject
    /// The events that the coordinator accepts while this screen is visible; `nil` for all that it has.
    public var events: [String]?

    public init(_ name: String, title: String? = nil, params: JSONObject = [:], events: [String]? = nil) {
        self.name = name
        self.title = title
        self.params = params
        self.events = events
    }
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
