public import JSONCoding

/// One flow of an app: it shows screens, handles their events, starts children and finishes.
///
/// A coordinator is a value: a struct or an enum, of values; a server refuses to start with a class. Its stored
/// properties are its state and are saved with the session; its mutating functions are its behaviour. Each function
/// works on a copy that replaces the original only when the whole transition succeeds, so a function that throws has
/// changed nothing.
public protocol Coordinator: Codable, Sendable {
    /// What the screens of this coordinator can tell it.
    associatedtype Event: NavigationEvent = NoEvent

    /// The name in JSON, in logs and in saved sessions: unique in an app. By default the type's name without
    /// “Coordinator”, its first letter in lower case. Declare it before renaming a type whose sessions are to live on.
    static var name: String { get }

    /// The types that handlers resolve with `Navigator.resolve`. A server refuses to start when one is not registered.
    static var dependencies: [any Any.Type] { get }

    /// The paths that `open` knows, of this coordinator's own screens.
    static var links: [LinkPattern] { get }

    /// Shows the first screen, or starts the child that does.
    mutating func start(_ navigator: inout Navigator) async throws

    /// Answers an event of one of this coordinator's screens, or of a descendant that has no such event itself.
    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws

    /// A child asked to finish and is gone, with its descendants and all their screens. Its properties are its result.
    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) async throws

    /// A child is gone because its last screen was taken away, by back for one, or its flow was dismissed. No success:
    /// there is no result.
    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) async throws

    /// Whether an event may be sent now: one that is switched off is neither listed nor accepted.
    ///
    /// - Parameter event: the event's example, for its payload does not exist yet.
    func isEnabled(_ event: Event) -> Bool

    /// Whether a screen of this coordinator may be left now: by the user, by a link, or because a coordinator further up
    /// ends this one. What this coordinator does itself is not asked about, nor what follows an event with a payload: it
    /// would have to be kept until the user has answered, and payloads are never kept.
    ///
    /// - Returns: `nil`, or an alert that asks first; its `AlertButton.leave` goes on, every other button stays.
    func shouldLeave(_ screen: Screen) -> Alert?

    /// Opens a link, or helps it on its way: it is offered to the root first, then down the tree, until one takes it.
    mutating func open(_ link: Link, _ navigator: inout Navigator) async throws -> LinkDecision

    /// Turns what an older version of the app saved of this coordinator into what this version saves.
    ///
    /// - Parameter version: the app's version that saved it.
    static func migrate(_ saved: JSON, from version: Int) throws -> JSON
}

/// What a coordinator does with a link.
public enum LinkDecision: Sendable, Equatable {
    /// What it asked the navigator for shows what the link leads to.
    case taken
    /// Its children are asked next, after what it asked the navigator for is done.
    case passedOn
    /// It cannot be opened yet: it is offered to this coordinator again after each of the next transitions.
    case pending
}

extension Coordinator {
    public static var name: String {
        let type = String(describing: Self.self)
        let stem = type.hasSuffix("Coordinator") ? type.dropLast("Coordinator".count) : type[...]
        return stem.isEmpty ? "coordinator" : stem.prefix(1).lowercased() + stem.dropFirst()
    }

    public static var dependencies: [any Any.Type] { [] }
    public static var links: [LinkPattern] { [] }
    public static func migrate(_ saved: JSON, from version: Int) throws -> JSON { saved }

    public func isEnabled(_ event: Event) -> Bool { true }
    public func shouldLeave(_ screen: Screen) -> Alert? { nil }
    public mutating func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .passedOn }
    public mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {}
    public mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {}
}

extension Coordinator where Event == NoEvent {
    public mutating func handle(_ event: NoEvent, _ navigator: inout Navigator) {}
}
