/// Why a transition did not happen. The state is as it was.
public enum NavigationError: Error, Equatable, Sendable {
    /// No coordinator accepts this event now.
    case eventNotAccepted
    /// The event exists; its payload does not fit.
    case invalidEvent(InvalidEvent)
    /// The screen that the user acted on is not the visible one any more.
    case staleScreen
    /// `back` or `backToRoot`, and nowhere to go.
    case nothingToGoBack
    /// No coordinator of the app knows the link.
    case unknownLink
    /// The link is known, but none of the living coordinators takes it now.
    case linkNotTaken
    /// A handler threw `Overloaded`: it can do no more now; try again after so many seconds.
    case overloaded(retryAfter: Int)
    /// The coordinator's function, `call`, threw.
    case handlerFailed(coordinator: String, call: String, error: ThrownError)
    /// The coordinator asked for what cannot be.
    case impossibleRequest(coordinator: String, request: String, reason: String)
    /// A stack would hold more than `NavigationState.stackLimit` screens.
    case stackLimit(coordinator: String)
    /// The tree would be more than `NavigationState.depthLimit` coordinators deep.
    case depthLimit(coordinator: String)
    /// The saved state would take more than `NavigationState.sizeLimit` bytes.
    case stateLimit
    /// The transition took more than `TransitionRun.stepLimit` steps, or has started coordinators below each other without
    /// an end.
    case runawayTransition(coordinator: String)
    /// The transition would leave a state that cannot be.
    case invariantViolated(InvariantViolation)

    /// Where a posted event does not fit.
    public struct InvalidEvent: Equatable, Sendable {
        /// The members that lead to the fault, from the posted event on: `["payload", "email"]`.
        public let path: [String]
        /// What was expected there. Holds nothing of what was posted.
        public let reason: String

        public init(path: [String], reason: String) {
            self.path = path
            self.reason = reason
        }
    }
}
