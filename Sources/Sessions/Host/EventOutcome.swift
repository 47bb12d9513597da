internal import Coordinators

/// What became of a posted event.
public enum EventOutcome: Int, CaseIterable, Sendable {
    case applied
    /// It had been applied under the same `Idempotency-Key`; the first answer was sent again.
    case replayed
    /// The state does not accept it now.
    case refused
    /// It, or its payload, does not fit the app.
    case invalid
    /// The session's version does not meet its condition.
    case stale
    /// Its `Idempotency-Key` was used for something else, or the answer is no longer kept.
    case keyReused
    /// Too many events, or an app without capacity: to be posted again later.
    case limited
    /// A handler failed.
    case failed
    /// A handler took too long.
    case late
    /// The store could not commit it.
    case notStored
    /// The session has ended, has expired, or cannot be used here, or the token is no longer its.
    case gone

    init(_ error: SessionError) {
        switch error {
        case .refused(let error, _): self.init(error)
        case .stale: self = .stale
        case .keyReused, .answerForgotten: self = .keyReused
        case .tooManyWaiting, .tooManyEvents, .tooManyCodeRequests: self = .limited
        case .deadlineExceeded: self = .late
        case .notApplied, .storageFull, .damaged, .unknownOutcome: self = .notStored
        default: self = .gone
        }
    }

    private init(_ error: NavigationError) {
        switch error {
        case .unknownEvent, .invalidEvent: self = .invalid
        case .eventNotAccepted, .staleScreen, .nothingToGoBack, .unknownLink, .linkNotTaken: self = .refused
        case .overloaded: self = .limited
        case .handlerFailed, .impossibleRequest, .stackLimit, .depthLimit, .stateLimit, .runawayTransition,
            .invariantViolated:
            self = .failed
        }
    }
}

extension Outcome {
    /// Whether it is the answer to an earlier request.
    var isReplay: Bool {
        if case .answered(_, _, .some, _) = self { true } else { false }
    }
}
