public import Coordinators
public import FoundationEssentials
public import JSONCoding

/// One session of an app, without a server: post events, look at what the user would see.
///
/// ```swift
/// var app = try await CoordinatorTester(Tabs.app)
/// try await app.send("login")
/// #expect(app.stack == "tabs[home*: home | plus: plus | myPage: myPage]")
/// ```
public struct CoordinatorTester: Sendable {
    public let app: App
    public private(set) var state: NavigationState
    public private(set) var transition: Transition
    /// The time that handlers are told.
    public var now: Date

    /// Opens a session.
    public init(_ app: App, now: Date = Date(timeIntervalSince1970: 1_800_000_000)) async throws(NavigationError) {
        let first = try await app.launch(at: now)
        self.app = app
        self.now = now
        self.state = first.state
        self.transition = first.transition
    }

    /// Posts an event as a client would; on an error nothing has changed.
    public mutating func send(
        _ type: String, _ payload: JSON? = nil, screen: String? = nil
    ) async throws(NavigationError) {
        let event = PostedEvent(type, payload: payload, screen: screen)
        let result = try await app.apply(event, to: state, at: now)
        state = result.state
        transition = result.transition
    }

    public mutating func back() async throws(NavigationError) {
        try await send("back")
    }
}

extension CoordinatorTester {
    /// The stack, bottom first: `list, detail`; tabs as `tabs[home*: home | plus: plus]`, the selected one starred.
    public var stack: String { CoordinatorTester.text(of: state.stack) }

    /// The names of the living coordinators, parents before their children.
    public var coordinators: [String] { state.coordinators.map(\.name) }

    /// The name of the visible screen.
    public var visible: String? { state.visible?.screen.name }

    /// The events that may be sent now.
    public var events: [String] { state.acceptedEvents }

    public var alert: Alert? { state.alert?.alert }

    private static func text(of stack: ScreenStack) -> String {
        stack.screens.map { screen in
            guard let tabs = screen.tabs else { return screen.screen.name }
            let items = tabs.items.enumerated().map { index, item in
                "\(item.id)\(index == tabs.selection ? "*" : ""): \(text(of: item.stack))"
            }
            return "\(screen.screen.name)[\(items.joined(separator: " | "))]"
        }.joined(separator: ", ")
    }
}
