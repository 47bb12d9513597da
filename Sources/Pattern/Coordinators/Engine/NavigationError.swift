internal import JSONCoding

/// Why a transition did not happen. The state is unchanged.
public enum NavigationError: Error, Equatable, Sendable {
    /// No coordinator accepts this event now.
    case eventNotAccepted
    /// The visible screen offers this event with certain payloads, and the posted one is none of them.
    case payloadNotOffered
    /// The event is for devices of other roles than this one: the name of that of the device.
    case notForRole(String)
    /// An alert has to be answered first; then the client may post the event again.
    case answerFirst
    /// No coordinator of the app has an event of that name.
    case unknownEvent
    /// No living coordinator accepts this signal of another system now.
    case signalNotAccepted
    /// The living coordinators of these names have this signal of another system, and refuse it.
    case signalRefused(by: [String])
    /// No coordinator of the app accepts a signal of that name from other systems.
    case unknownSignal
    /// The event or signal exists, but its payload does not fit.
    case invalidEvent(InvalidEvent)
    /// The screen or the alert that the user acted on is no longer visible.
    case staleScreen
    /// `back`, `backTo` or `backToRoot` was posted, and there is nothing to go back to.
    case nothingToGoBack
    /// No coordinator of the app knows the link. `reason` is a sentence that says what does not fit, and contains
    /// nothing of the link.
    case unknownLink(reason: String)
    /// A pattern matches the link, but no living coordinator takes or keeps it now, or one declines it.
    case linkNotTaken
    /// A handler threw `Overloaded`: it has no capacity now. The client may try again after `retryAfter` seconds.
    case overloaded(retryAfter: Int)
    /// The coordinator's function, `call`, threw.
    case handlerFailed(coordinator: String, call: String, error: ThrownError)
    /// The coordinator made a request that cannot be performed.
    case impossibleRequest(coordinator: String, request: String, reason: String)
    /// A stack would hold more than `NavigationState.stackLimit` screens.
    case stackLimit(coordinator: String)
    /// More than `NavigationState.depthLimit` flows would lie over each other.
    case depthLimit(coordinator: String)
    /// A screen would be more than `NavigationState.nestingLimit` screens deep, each in a tab of the one before.
    case nestingLimit(coordinator: String)
    /// The session would have more than `NavigationState.pendingLimit` effects and timers, or too much to clean up.
    case workLimit(coordinator: String)
    /// The saved state would take more than `bytes`, the app's `sizeLimit`.
    case stateLimit(bytes: Int)
    /// Opening the link took more than `TransitionRun.stepLimit` steps.
    case linkLimit
    /// The transition took more than `TransitionRun.stepLimit` steps, or presented most of the flows that became too
    /// many.
    case runawayTransition(coordinator: String)
    /// The transition would lead to a state that violates an invariant.
    case invariantViolated(InvariantViolation)

    /// Where and why a posted event does not fit.
    public struct InvalidEvent: Equatable, Sendable {
        /// All faults found, at least one.
        public let faults: [PayloadFault]

        public init(_ faults: [PayloadFault]) {
            self.faults = faults
        }

        public init(path: [String], reason: String, code: PayloadFault.Code = .invalid) {
            self.init([PayloadFault(path: path, reason: reason, code: code)])
        }
    }
}

extension NavigationError {
    /// The coordinator, or a value that it has assigned, holds something that JSON cannot hold.
    ///
    /// - Parameter whole: the assigned value, such as `defaults`; `nil` for the coordinator itself.
    static func unsavable(
        _ error: JSONEncodingError, of whole: String? = nil, by coordinator: String
    ) -> NavigationError {
        let place = ([whole].compactMap(\.self) + error.path).joined(separator: "/")
        return .impossibleRequest(
            coordinator: coordinator, request: "“\(place)” to be saved", reason: "the value \(error.reason)")
    }
}

/// The error that an author's function threw: its type and, for an enum, its case. Never its values, which may be
/// secret.
public struct ThrownError: Equatable, Sendable, CustomStringConvertible {
    /// The name of the type.
    public let type: String
    /// `nil` if the error is not an enum.
    public let caseName: String?

    public init(type: String, caseName: String? = nil) {
        self.type = type
        self.caseName = caseName
    }

    package init(_ error: any Error) {
        // Its description names types, and no values.
        if let error = error as? DependencyError {
            type = "DependencyError"
            caseName = error.description
            return
        }
        type = String(describing: Swift.type(of: error))
        let mirror = Mirror(reflecting: error)
        // A mirror that the author wrote may hold anything.
        if mirror.displayStyle != .enum || error is any CustomReflectable {
            caseName = nil
        } else if let payload = mirror.children.first {
            caseName = payload.label
        } else {
            // Without a payload, there is no value that the text could reveal.
            caseName = String(describing: error)
        }
    }

    public var description: String {
        guard let caseName else { return type }
        return caseName.contains(" ") ? "\(type): \(caseName)" : "\(type).\(caseName)"
    }
}
