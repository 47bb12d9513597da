/// The events that every session understands. Their names are reserved: no coordinator's event may bear one.
public enum BuiltInEvent: String, CaseIterable, Sendable {
    /// Does what the state's `back` foretells.
    case back
    /// Pops the innermost stack in sight that has more than one screen to its first.
    case backToRoot
    /// Selects a tab by `{"tab": id}` or `{"index": position}`; the selected one is popped to its first screen.
    case selectTab
    /// Answers the alert by `{"button": id}`.
    case answer
    /// Starts the tree anew; `defaults` are kept.
    case relaunch

    /// Names that later versions give a meaning to; reserved so that no app has to change then.
    static let reservedNames = Set(allCases.map(\.rawValue)).union(["backTo", "dismiss", "open"])
}
