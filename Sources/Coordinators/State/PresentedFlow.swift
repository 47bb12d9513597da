/// A flow that is shown over everything below it, with a stack and a coordinator of its own.
public struct PresentedFlow: Sendable, Equatable {
    /// How much of what lies below it the flow covers.
    public enum Style: String, Sendable, Codable {
        case sheet, fullScreen
    }

    /// Unique in the session, never reused.
    public let key: String
    public let style: Style
    public internal(set) var stack: ScreenStack
    /// The id of the coordinator that was presented; the flow ends with it.
    let coordinator: Int
}
