import Foundation

/// Something that the user does. The state's `events` lists what is accepted now.
///
///     NavigationEvent("product", ["id": 42])
///     .back
public struct NavigationEvent: Sendable, Hashable {
    /// The event's name.
    public let type: String
    /// What the app needs beside the name.
    public let payload: JSONValue?
    /// Why the payload cannot be written as JSON, such as a number that is not finite. The event is not sent then.
    let fault: String?

    /// An event without a payload.
    public init(_ type: String) {
        self.type = type
        payload = nil
        fault = nil
    }

    /// An event with a payload: a type of the app's own, or a `JSONValue`.
    public init(_ type: String, _ payload: some Encodable & Sendable) {
        self.type = type
        do {
            self.payload = try JSONValue(encoding: payload)
            fault = nil
        } catch {
            self.payload = nil
            fault = "\(error)"
        }
    }

    /// An event with a payload as JSON, which may be written as a literal.
    public init(_ type: String, _ payload: JSONValue) { self.init(type, payload: payload) }

    /// An event as an answer of the server describes it.
    public init(_ type: String, payload: JSONValue?) {
        self.type = type
        self.payload = payload
        fault = nil
    }
}

/// The events that every app has.
extension NavigationEvent {
    /// What the state's `back` says.
    public static let back = NavigationEvent("back")
    /// Pops the innermost visible stack to its first screen.
    public static let backToRoot = NavigationEvent("backToRoot")
    /// Starts the app again.
    public static let relaunch = NavigationEvent("relaunch")

    /// Pops the visible stack to the screen of that key.
    public static func back(to key: String) -> NavigationEvent { NavigationEvent("backTo", ["key": .string(key)]) }

    /// Selects a tab by its id; the selected one is popped to its first screen.
    public static func selectTab(_ id: String) -> NavigationEvent {
        NavigationEvent("selectTab", ["tab": .string(id)])
    }

    /// Dismisses the presented flow of that key and all above it, by default the top one.
    public static func dismiss(_ key: String? = nil) -> NavigationEvent {
        NavigationEvent("dismiss", payload: key.map { ["key": .string($0)] })
    }

    /// Presses a button of the alert that the user sees. If another one is shown, nothing happens.
    public static func answer(_ alert: Alert, _ button: Alert.Button) -> NavigationEvent {
        NavigationEvent("answer", ["button": .string(button.id), "alert": .string(alert.key)])
    }

    /// Opens a link: a path, or a URL as the system hands it over.
    public static func open(_ link: String) -> NavigationEvent { NavigationEvent("open", ["path": .string(link)]) }

    /// Replaces what the app knows about this client, for example its language.
    public static func describe(_ client: ClientInfo) -> NavigationEvent { NavigationEvent("describeClient", client) }

    /// Whether the event belongs to the app, and not to the screen that the user sees.
    var isOfNoScreen: Bool { ["open", "relaunch", "describeClient"].contains(type) }

    /// What a row of a list sends when it is tapped; `nil` if it is only text, or cannot be tapped now.
    public init?(_ row: Row) {
        guard let type = row.type, row.isEnabled != false else { return nil }
        self.init(type, payload: row.payload)
    }

    /// What a button of a screen sends.
    public init(_ button: ScreenButton) { self.init(button.type, button.payload) }
}

/// What a client says about itself, so that the app can speak its language.
public struct ClientInfo: Codable, Sendable, Hashable {
    /// The user's language and region, such as `de-AT`.
    public var locale: String?
    /// Such as `iOS`.
    public var platform: String?
    /// The client's own version.
    public var version: String?

    public init(locale: String? = nil, platform: String? = nil, version: String? = nil) {
        self.locale = locale
        self.platform = platform
        self.version = version
    }

    /// The language and the region that the user has chosen, and the platform.
    public static var current: ClientInfo {
        #if os(iOS)
        let platform = "iOS"
        #elseif os(macOS)
        let platform = "macOS"
        #elseif os(Linux)
        let platform = "Linux"
        #else
        let platform = "Swift"
        #endif
        return ClientInfo(locale: Locale.current.identifier(.bcp47), platform: platform)
    }
}
