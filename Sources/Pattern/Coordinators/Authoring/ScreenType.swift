public import JSONCoding

/// The parameters of a kind of screen as a type, so that clients get them as a type of their language.
///
/// ```swift
/// struct Product: ScreenParameters {
///     let id: Int
///     static let example = Product(id: 42)
/// }
///
/// navigator.push(Screen("product", Product(id: 42)))
/// ```
///
/// It must encode as an object. A property that is `nil` is left out.
public protocol ScreenParameters: Codable, Sendable {
    /// A value with realistic properties. What `init(from:)` reads of it gives the parameters' schema.
    static var example: Self { get }
}

/// A kind of screen that a coordinator shows: what its clients rely on.
///
/// ```swift
/// static let screens = [
///     ScreenType("home"), ScreenType("product", Product.self, content: Reviews.self),
/// ]
/// ```
///
/// The declaration is a promise to clients, and checks nothing while a session runs: `coordinatord describe` warns of
/// screens that do not keep it.
public struct ScreenType: Sendable {
    public let name: String
    /// The JSON Schema of the parameters (draft 2020-12); `nil` if the screen has none.
    public let params: JSON?
    /// The JSON Schema of the content; `nil` if the type of the content is not declared.
    public let content: JSON?
    /// The mistake in the declaration, for the author.
    let problem: String?

    /// A screen without parameters.
    ///
    /// - Parameter content: the type that `Coordinator.content` encodes for it.
    public init(_ name: String, content: (any Decodable.Type)? = nil) {
        self.name = name
        self.params = nil
        self.content = content.map { JSONSchema.schema(of: $0, example: nil) }
        self.problem = name.isEmpty ? "a screen without a name" : nil
    }

    /// A screen with parameters.
    ///
    /// - Parameter content: the type that `Coordinator.content` encodes for it.
    public init<Parameters: ScreenParameters>(
        _ name: String, _ params: Parameters.Type, content: (any Decodable.Type)? = nil
    ) {
        let bare = ScreenType(name, content: content)
        let example = try? JSON(encoding: Parameters.example)
        self.name = name
        self.params = JSONSchema.schema(of: params, example: example)
        self.content = bare.content
        self.problem =
            bare.problem
            ?? (example?.object == nil ? "“\(name)” with parameters that are not encoded as an object" : nil)
    }
}

extension Screen {
    /// A screen with typed parameters.
    ///
    /// - Parameters:
    ///   - params: what is not encoded as an object of JSON is refused when the screen is shown.
    ///   - events: the events' names, `["select"]`, or controls with titles of their own, see `Control`.
    public init(
        _ name: String, _ params: some ScreenParameters, title: String? = nil, events: [Control]? = nil,
        rows: [Row] = [], back: BackRule = .allowed, link: LinkPattern? = nil, hidesNavigationBar: Bool = false,
        hasContent: Bool = false, roles: [DeviceRole] = []
    ) {
        self.init(
            name, title: title, params: (try? JSONObject(encoding: params)) ?? Screen.unencodable, events: events,
            rows: rows, back: back, link: link, hidesNavigationBar: hidesNavigationBar, hasContent: hasContent,
            roles: roles)
    }

    /// A screen with typed parameters, whose events are given as cases of its coordinator's `Event`.
    public init<Event: NavigationEvent>(
        _ name: String, _ params: some ScreenParameters, title: String? = nil, events: [Event], rows: [Row] = [],
        back: BackRule = .allowed, link: LinkPattern? = nil, hidesNavigationBar: Bool = false,
        hasContent: Bool = false, roles: [DeviceRole] = []
    ) {
        self.init(
            name, params, title: title, events: events.map { Control(form: $0) }, rows: rows, back: back, link: link,
            hidesNavigationBar: hidesNavigationBar, hasContent: hasContent, roles: roles)
    }

    /// The parameters as their type; `nil` if they do not fit it.
    public func params<Parameters: ScreenParameters>(as type: Parameters.Type) -> Parameters? {
        try? JSON.object(params).decode(as: type)
    }

    /// Replaces the parameters, as in `render`.
    ///
    /// - Parameter params: what is not encoded as an object of JSON is refused when the screen is drawn.
    public mutating func setParams(_ params: some ScreenParameters) {
        self.params = (try? JSONObject(encoding: params)) ?? Screen.unencodable
    }

    /// Parameters that no screen may have, so that the engine refuses the screen instead of showing it without them.
    private static let unencodable: JSONObject = ["params": .number(.nan)]
}
