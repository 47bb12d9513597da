/// One flow of an app: it shows screens, handles their events, starts children and finishes.
///
/// A coordinator is a value. Its stored properties are its state and are saved with the session; its mutating
/// functions are its behaviour. Each function works on a copy that replaces the original only when the whole
/// transition succeeds, so a function that throws has changed nothing.
public protocol Coordinator: Codable, Sendable {
    /// What the screens of this coordinator can tell it.
    associatedtype Event: NavigationEvent = NoEvent

    /// The name in JSON, in logs and in saved sessions: unique in an app. By default the type's name without
    /// “Coordinator”, its first letter in lower case. Declare it before renaming a type whose sessions are to live on.
    static var name: String { get }

    /// Shows the first screen, or starts the child that does.
    mutating func start(_ navigator: inout Navigator) async throws

    /// Answers an event of one of this coordinator's screens, or of a descendant that has no such event itself.
    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws

    /// A child asked to finish and is gone, with its descendants and all their screens. Its properties are its result.
    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) async throws

    /// A child is gone because its last screen was taken away, by back for one. No success: there is no result.
    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) async throws
}

extension Coordinator {
    public static var name: String {
        let type = String(describing: Self.self)
        let stem = type.hasSuffix("Coordinator") ? type.dropLast("Coordinator".count) : type[...]
        return stem.isEmpty ? "coordinator" : stem.prefix(1).lowercased() + stem.dropFirst()
    }

    public mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {}
    public mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {}
}

extension Coordinator where Event == NoEvent {
    public mutating func handle(_ event: NoEvent, _ navigator: inout Navigator) {}
}
