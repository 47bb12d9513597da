// Sessions: a client session's life. It is opened, takes events one at a time in the order of their arrival, expires or
// is ended; every change is committed to a `SessionStore` before it is told to anyone.
//
// It knows what a transition is from `Coordinators`, and nothing of HTTP. Stores know nothing of coordinators: to them
// a session is an id, a version and bytes.

public import Coordinators

/// Why a request to a session was not carried out. Nothing has changed, unless said otherwise. A `reason` is for the log:
/// it holds nothing of a request or of a session.
public enum SessionError: Error, Equatable, Sendable {
    /// No such app.
    case unknownApp
    /// No token, the wrong one, another session's, or no such session: not told apart.
    case unauthorized
    /// Ended by its client.
    case ended
    /// Not used for too long, or too old.
    case expired
    /// As many events as `SessionSettings.waitingLimit` wait for this session already.
    case tooManyWaiting
    /// More events than `SessionSettings.eventRate`; worth another try after that many seconds.
    case tooManyEvents(retryAfter: Int)
    /// There are as many sessions as `SessionSettings.sessionLimit`.
    case tooManySessions
    /// A handler took longer than `SessionSettings.handlerDeadline`.
    indirect case deadlineExceeded(SlowTransition)
    /// Another server has changed the session meanwhile, or the store cannot take it now: try again.
    case notApplied(reason: String)
    /// The store has no room for it.
    case storageFull
    /// What the store has of this session is damaged.
    case damaged(reason: String)
    /// The store may have taken it, or not.
    case unknownOutcome(reason: String)
    /// The saved state is of no use to this build.
    case incompatible
    /// There is no such version, or none any more.
    case unknownVersion
    /// The `Idempotency-Key` was used before for another request.
    case keyReused
    /// The `Idempotency-Key` was used before, and its answer is not kept any more. The state is the current one, for who
    /// may read it.
    indirect case answerForgotten(SessionState?)
    /// The session is of another version than was asked for.
    indirect case stale(SessionState)
    /// The event was refused; `state` is what it was refused in.
    indirect case refused(NavigationError, state: SessionState)
    /// The app's first transition failed, so there is no session.
    indirect case cannotLaunch(NavigationError, app: String)
}
