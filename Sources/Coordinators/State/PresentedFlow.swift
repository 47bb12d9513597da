/// A flow that is shown over everything below it, with a stack and a coordinator of its own.
public struct PresentedFlow: Sendable, Equatable {
    /// How much of what lies below it the flow covers.
    public enum Style: String, Sendable, Codable {
        case sheet, fullScreen
    }

    /// How high a sheet opens.
    public enum Detent: String, Sendable, Codable {
        case medium, large
    }

    /// Unique in the session, never reused.
    public let key: String
    let presentation: Presentation
    public internal(set) var stack: ScreenStack
    /// The id of the coordinator that was presented; the flow ends with it.
    let coordinator: Int

    public var style: Style { presentation.style }
    /// `nil` if that is left to the client.
    public var detent: Detent? { presentation.detent }
    /// Whether the user may dismiss the flow.
    public var isDismissable: Bool { presentation.isDismissable }
}

/// How a flow is presented.
struct Presentation: Sendable, Equatable {
    var style = PresentedFlow.Style.sheet
    var detent: PresentedFlow.Detent?
    var isDismissable = true
}
