internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

// Problems for the errors of a session.
extension Problem {
    /// - Parameter event: the posted event. Its type is logged only if the app was called for it: then the app declares
    ///   it.
    init(_ error: SessionError, to event: PostedEvent) {
        self.init(error)
        if self.details["app"] != nil { self.details["event"] = event.type }
        if case .refused(.unknownLink, _) = error, event.type == BuiltInEvent.open.rawValue {
            self.pointer = "/payload/path"
        }
    }

    init(_ error: SessionError) {
        switch error {
        case .unknownApp: self = .unknownApp
        case .unauthorized:
            self.init(
                401, "unauthorized", "No right to this session",
                "Send Authorization: Bearer with the session's token, from the latest answer that contained one.")
        case .tokenReplaced:
            self.init(
                401, "token-replaced", "The token was replaced",
                "An event has given its client another token; send that one.")
        case .tokenRevoked:
            self.init(
                401, "token-revoked", "The token was revoked", "The session goes on without this device; pair it again."
            )
        case .unknownSession:
            self.init(404, "unknown-session", "No such session", "It never existed, or is forgotten since it is over.")
        case .ended: self.init(410, "session-ended", "The session has ended", "Create another session.")
        case .expired: self.init(410, "session-expired", "The session has expired", "Create another session.")
        case .tooManyWaiting:
            self.init(
                429, "too-many-waiting", "Too many events are waiting", "Wait for the answers to earlier ones.",
                retryAfter: 1)
        case .tooManyEvents(let rate, let seconds):
            self.init(
                429, "too-many-events", "Too many events", "Nothing has changed; wait as long as Retry-After says.",
                retryAfter: seconds)
            self.headers.append(contentsOf: .rateLimit("events", rate: rate, remaining: 0, seconds: seconds))
        case .tooManyCodeRequests(let rate, let seconds):
            self.init(
                429, "too-many-events", "Too many requests for a code", "Wait as long as Retry-After says.",
                retryAfter: seconds)
            self.headers.append(contentsOf: .rateLimit("codes", rate: rate, in: 60, remaining: 0, seconds: seconds))
        case .tooManyWatchers:
            self.init(
                429, "too-many-watchers", "Too many watch the session",
                "The session has as many streams and waiting requests as it may. Read it without “Prefer”.",
                retryAfter: 5)
        case .noWatcherFree:
            self.init(
                503, "too-many-watchers-in-all", "Too many watch sessions",
                "The server has as many streams and waiting requests as it may. Read the session without “Prefer”.",
                retryAfter: 5)
        case .tooManySessions:
            self.init(
                503, "too-many-sessions", "Too many sessions",
                "The server has reached its limit on sessions; try again later.", retryAfter: 60)
        case .deadlineExceeded(let slow):
            self.init(
                504, "handler-deadline", "The app took too long", "Nothing has changed.",
                details: ["app": slow.app, "limit": "\(slow.limit)"])
            self.details["coordinator"] = slow.coordinator
            self.details["call"] = slow.call
        case .notApplied(let reason):
            self.init(
                503, "not-applied", "Not applied", "Nothing has changed; try again.", retryAfter: 1,
                details: ["cause": reason])
        case .storageFull:
            self.init(
                503, "storage-full", "The storage is full", "Nothing has changed; try again when there is room.",
                retryAfter: 10)
        case .unknownVersion:
            self.init(404, "unknown-version", "No such version", "GET …/history lists the versions that are kept.")
        case .notForRole(let role):
            self.init(
                403, "not-for-role", "Not for this device", "The role of this device, “\(role)”, does not allow it.")
        case .unknownRole:
            self.init(
                422, "unknown-role", "The device cannot get that role",
                "The app does not declare it, or the device that has asked for the code may not give it.",
                pointer: "/role")
        case .unknownToken:
            self.init(404, "unknown-token", "No such token", "GET …/tokens lists the session's tokens.")
        case .lastToken:
            self.init(
                409, "last-token", "The session's only token",
                "Without it nobody could use the session. DELETE the session to end it.")
        case .tooManyTokens:
            self.init(
                409, "too-many-tokens", "Too many devices",
                "The session has \(AccessToken.limit) tokens, which is the most. Revoke one of them first.")
        case .unknownCode:
            self.init(
                404, "unknown-code", "No such pairing code",
                "The code is wrong, was used, or has expired. Ask for another one on the first device.")
        case .tooManyTries(let seconds): self = .tooManyTries(retryAfter: seconds)
        case .tooManyCodes:
            self.init(
                503, "too-many-codes", "Too many pairing codes",
                "As many codes as may wait for their devices already do; try again later.", retryAfter: 10)
        case .keyReused:
            self.init(
                422, "key-reused", "Idempotency-Key used before",
                "The key was used for another request; use a new key for each request.")
        case .keyWithdrawn:
            self.init(
                409, "key-withdrawn", "Idempotency-Key withdrawn",
                "The client has withdrawn the key: nothing is carried out under it.")
        case .answerForgotten(let state):
            self.init(
                409, "answer-forgotten", "The answer is not kept any more",
                "The request with this key was carried out before; it is not carried out again.")
            self.state = state
            self.app = state?.identity.app
            self.locale = state?.navigation.client.locale
            if let state { self.headers.append("ETag", state.entityTag) }
        case .damaged(let reason):
            self.init(
                503, "session-damaged", "The session is damaged",
                """
                The stored data of this session is damaged and stays as it is; nothing has changed. Only the server's \
                operator can remove it, with “sessions purge”.
                """, retryAfter: 60, details: ["cause": reason])
        case .stale(let state):
            self.init(412, "version-mismatch", "The session has another version", "“state” is the current state.")
            self.app = state.identity.app
            self.locale = state.navigation.client.locale
            self.state = state
            self.headers.append("ETag", state.entityTag)
        case .unknownOutcome(let reason):
            self.init(
                503, "unknown", "Outcome unknown",
                """
                It is unknown whether the request was carried out: read the session, or repeat the request with the \
                same Idempotency-Key.
                """, retryAfter: 1, details: ["cause": reason])
        case .incompatible:
            self.init(
                409, "session-incompatible", "The session is of another version of its app",
                "Create another session.")
        case .unknownScreen:
            self.init(
                404, "unknown-screen", "No such content", "The state has no screen of that key with “hasContent”.")
        case .newerApp(let reason):
            self.init(
                503, "newer-app", "The session is of a newer version of its app",
                """
                A newer version of the app has saved the session, and this server may not change it. Try again when a \
                server with that version is back.
                """, retryAfter: 60, details: ["cause": reason])
        case .cannotLaunch(let error, let app):
            self.init(error)
            self.details["app"] = app
            self.app = app
            if case .unknownLink = error { self.pointer = "/link" }
        case .refused(let error, let state):
            self.init(error)
            self.app = state.identity.app
            self.locale = state.navigation.client.locale
            if self.status >= 500 { self.details["app"] = state.identity.app }
            switch error {
            case .eventNotAccepted, .payloadNotOffered, .notForRole, .answerFirst, .nothingToGoBack:
                self.events = state.navigation.acceptedEvents
                self.state = state
            case .staleScreen: self.state = state
            default: break
            }
        }
    }

    private init(_ error: NavigationError) {
        switch error {
        case .eventNotAccepted:
            self.init(409, "event-not-accepted", "Event not accepted now", "“events” lists what is accepted.")
        case .payloadNotOffered:
            self.init(
                409, "event-not-accepted", "Event not accepted now",
                "The screen offers the event with other payloads: those in “rows” and “buttons” of “visible” in “state”."
            )
        case .notForRole(let role):
            self.init(
                409, "event-not-for-role", "Event not for this device",
                "Devices of the role “\(role)” may not post the event here; “events” lists what they may.")
            self.role = role
        case .answerFirst:
            self.init(
                409, "answer-first", "The alert comes first",
                "The event was not carried out. Answer the alert of “state”, then post the event again.")
        case .unknownEvent:
            self.init(
                422, "unknown-event", "Unknown event", "GET /v1/apps/{app} lists the app's events.", pointer: "/type")
        case .signalNotAccepted:
            self.init(
                409, "signal-not-accepted", "Signal not accepted now",
                "No living coordinator of the session accepts the signal.")
        case .signalRefused(let names):
            self.init(
                409, "signal-not-accepted", "Signal not accepted now",
                "\(names.map { "“\($0)”" }.joined(separator: ", ")) of the session refuses this signal.")
        case .unknownSignal:
            self.init(
                422, "unknown-signal", "Unknown signal", "GET /v1/apps/{app} lists the signals that the app accepts.",
                pointer: "/type")
        case .invalidEvent(let event):
            let first =
                event.faults.first.map { fault in
                    let place = "The value at \(fault.pointer)"
                    return fault.code == .refused ? "\(place) is refused by the app." : "\(place) \(fault.reason)."
                } ?? ""
            let others = event.faults.count > 1 ? " “errors” lists \(event.faults.count) faults." : ""
            self.init(
                422, "invalid-event", "The event does not fit", first + others, pointer: event.faults.first?.pointer)
            self.errors = event.faults
        case .staleScreen:
            self.init(
                409, "stale-screen", "The screen or alert is not visible any more",
                "“state” is what the user should see.")
        case .nothingToGoBack:
            self.init(409, "nothing-to-go-back", "Nothing to go back to", "“events” lists what is accepted.")
        case .unknownLink(let reason):
            self.init(422, "unknown-link", "Unknown link", "\(reason) GET /v1/apps/{app} lists the app's links.")
        case .linkNotTaken:
            self.init(
                409, "link-not-taken", "The link cannot be opened now",
                "No living coordinator of the app accepts the link.")
        case .overloaded(let seconds):
            self.init(
                429, "overloaded", "Try again later",
                "The app does not accept this now. Wait as long as Retry-After says; nothing has changed.",
                retryAfter: seconds)
        case .stackLimit(let name):
            self = .fullStack("“\(name)” asked for more than \(NavigationState.stackLimit) screens on one stack.")
        case .depthLimit(let name):
            self = .fullStack("“\(name)” asked for more than \(NavigationState.depthLimit) flows over each other.")
        case .nestingLimit(let name):
            let limit = NavigationState.nestingLimit
            self = .fullStack("“\(name)” asked for a screen more than \(limit) screens deep in tabs.")
        case .linkLimit: self = .fullStack("The link takes more than \(TransitionRun.stepLimit) steps.")
        case .workLimit(let name):
            self.init(
                409, "state-limit", "The session is too large",
                "“\(name)” asked for more than \(NavigationState.pendingLimit) effects and timers, or left too much to clean up; some has to end first."
            )
        case .stateLimit(let bytes):
            self.init(
                409, "state-limit", "The session is too large",
                "The session's state would take more than \(bytes) bytes.")
        case .handlerFailed(let name, let call, let error):
            self.init(
                500, "handler-failed", "The app failed",
                "“\(name)”: \(call) threw an error; the server's log contains it.",
                details: ["coordinator": name, "call": call, "error": "\(error)"])
        case .impossibleRequest(let name, let request, let reason):
            self.init(500, "impossible-request", "The app failed", "“\(name)” asked for \(request): \(reason).")
            self.details = ["coordinator": name, "cause": self.detail]
        case .runawayTransition(let name):
            self.init(
                500, "runaway-transition", "The app failed",
                "The transition does not end; “\(name)” was the last coordinator that was called.")
            self.details = ["coordinator": name, "cause": self.detail]
        case .invariantViolated(let violation):
            self.init(
                500, "invariant-violated", "The app failed", violation.explanation,
                details: ["cause": violation.explanation])
        }
    }

    private static func fullStack(_ detail: String) -> Problem {
        Problem(409, "stack-limit", "The stack is full", detail)
    }
}

extension InvariantViolation {
    fileprivate var explanation: String {
        switch self {
        case .nothingVisible: "No screen would be visible."
        case .emptyTab(let screen, let tab): "Tab “\(tab)” of “\(screen)” would have no screen."
        case .emptyFlow(let key, let name): "The presented flow of “\(name)”, \(key), would have no screen."
        case .idleCoordinator(let name): "“\(name)” would live without a screen and without a child."
        case .strayCoordinator(let name): "“\(name)” would live without its parent."
        case .orphanedScreen(let key): "Screen \(key) would belong to no coordinator."
        case .repeatedKey(let key): "Two screens would have the key \(key)."
        case .strayWork(let id):
            "The effect or timer “\(id)” would have no coordinator, or not be the only one of that id."
        }
    }
}
