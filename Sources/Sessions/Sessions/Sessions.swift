// Sessions: the life of a client session. It is created, handles events one at a time in their order of arrival, and
// expires or is ended; every change is committed to a `SessionStore` before anyone sees it.
//
// This target knows transitions from `Coordinators`, and nothing of HTTP. Stores know nothing of coordinators: to them
// a session is an id, versions, times and texts. Start reading at `AuthorizedSession.apply`.

public import Coordinators

/// Why a request to a session was not carried out. Nothing has changed, unless said otherwise. A `reason` is for the
/// log: it contains no data of a request or a session.
public enum SessionError: Error, Equatable, Sendable {
    /// No such app.
    case unknownApp
    /// No token, the wrong one, another session's, or no such session: reported alike.
    case unauthorized
    /// The caller's token was the session's when the request began to wait, and was replaced or revoked meanwhile.
    case tokenReplaced, tokenRevoked
    /// No such session. Only the operator learns this.
    case unknownSession
    /// The session has ended: by its client, its app or the operator.
    case ended
    /// Not used for too long, or too old.
    case expired
    /// `SessionSettings.waitingLimit` events already wait for this session's turn.
    case tooManyWaiting
    /// More events a second than `SessionSettings.eventRate`, which is `rate`; retry after that many seconds.
    case tooManyEvents(rate: Int, retryAfter: Int)
    /// The session has asked for as many pairing codes as it may in a minute; retry after that many seconds.
    case tooManyCodeRequests(rate: Int, retryAfter: Int)
    /// There are already `SessionSettings.watchersOfSession` watches of this session.
    case tooManyWatchers
    /// There are already `SessionSettings.watcherLimit` watches.
    case noWatcherFree
    /// There are already `SessionSettings.sessionLimit` sessions.
    case tooManySessions
    /// A handler took longer than `SessionSettings.handlerDeadline`.
    indirect case deadlineExceeded(SlowTransition)
    /// Another server has changed the session meanwhile, or the store cannot commit now: try again.
    case notApplied(reason: String)
    /// The store is full.
    case storageFull
    /// The store's data of this session is damaged.
    case damaged(reason: String)
    /// The store may or may not have committed the change.
    case unknownOutcome(reason: String)
    /// This version of the app cannot restore the saved state.
    case incompatible
    /// A newer build saved the state, or one with another app: only that build may change it.
    case newerApp(reason: String)
    /// The state has no screen of that key, or the screen has no content.
    case unknownScreen
    /// The version never existed, or is no longer kept.
    case unknownVersion
    /// The role of the caller's device, of that name, does not allow it.
    case notForRole(String)
    /// The app has no such role, or the pairing code does not give it.
    case unknownRole
    /// The session has no token of that number.
    case unknownToken
    /// The session has no other token: without it, no client could use the session.
    case lastToken
    /// The session has `AccessToken.limit` tokens already.
    case tooManyTokens
    /// No open pairing code: it was never given out, was used, has expired, or its session or the token that asked for
    /// it is gone. Reported alike.
    case unknownCode
    /// Too many wrong pairing codes were sent, by whomever; retry after that many seconds. The code was not looked at.
    case tooManyTries(retryAfter: Int)
    /// As many pairing codes are open as may be.
    case tooManyCodes
    /// The `Idempotency-Key` was used before for another request.
    case keyReused
    /// The client has withdrawn the `Idempotency-Key`: nothing is carried out under it.
    case keyWithdrawn
    /// The `Idempotency-Key` was used before, and its answer is no longer kept. The state is the current one; `nil` if
    /// the caller may not read it.
    indirect case answerForgotten(SessionState?)
    /// The session's version does not meet the request's condition. The state is the current one.
    indirect case stale(SessionState)
    /// The event was refused; `state` is the state that it was refused in.
    indirect case refused(NavigationError, state: SessionState)
    /// The app's first transition failed, so there is no session.
    indirect case cannotLaunch(NavigationError, app: String)
}
