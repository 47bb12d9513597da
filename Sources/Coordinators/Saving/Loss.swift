/// Something of a saved session that the app's new declaration cannot keep.
public enum Loss: Equatable, Sendable {
    /// A coordinator; `reason` is a sentence that says why, `nil` if it went with another one.
    case coordinator(name: String, reason: String?)
    case screen(name: String)
    /// A property of a coordinator that the same version of the app has saved. A higher version may leave it out.
    case property(name: String, coordinator: String)
    case tab(id: String)
    /// An alert: one of its buttons sends `event`, which no longer exists, or its coordinator has gone.
    case alert(lacking: String?)
    /// A control of a screen: its event no longer exists.
    case control(event: String, screen: String)
    case shared(name: String)
    /// A link that a coordinator kept for later.
    case pendingLink
}

extension Loss: CustomStringConvertible {
    /// What is lost, in words. It contains nothing that a user has typed.
    public var description: String {
        switch self {
        case .coordinator(let name, let reason): "coordinator “\(name)”" + (reason.map { " (\($0))" } ?? "")
        case .property(let name, let coordinator): "property “\(name)” of coordinator “\(coordinator)”"
        case .screen(let name): "screen “\(name)”"
        case .tab(let id): "tab “\(id)”"
        case .alert(let event): "the alert" + (event.map { ", whose button sends “\($0)”" } ?? "")
        case .control(let event, let screen): "event “\(event)” of screen “\(screen)”"
        case .shared(let name): "shared state “\(name)”"
        case .pendingLink: "the pending link"
        }
    }
}
