public import Foundation

/// What became of an event.
public enum Outcome: Sendable {
    /// The server carried it out. The state is the one that it led to; a newer one may be drawn already.
    case done(NavigationState)
    /// 422: the payload, the event or the link does not fit. Show `errors` at the fields of the form, or the title.
    case invalid(Problem)
    /// 409: the app asks the user first; the alert is drawn. The event is kept, and sent again under the same key when
    /// the user answers with another button than the one that cancels: that answer's outcome is then this event's.
    case answerFirst(Problem)
    /// 409: not possible on the screen that the app shows now, which is drawn.
    case notNow(Problem)
    /// 412: the session has another version than the one that the event was for, which is drawn. Let the user decide.
    case outdated(Problem)
    /// 401, 410, and a session that the server can no longer read: start again.
    case ended(SessionEnd)
    /// The deadline has passed, or the task was cancelled, without an answer.
    case withdrawn(Withdrawal)
    /// Anything else: the app failed (500), a mistake in the client (400).
    case failed(SessionError)
}

/// What the server said about an event that was given up.
public enum Withdrawal: Sendable {
    /// It had been carried out; its state is drawn.
    case carriedOut
    /// It was not carried out, or never sent.
    case notCarriedOut
    /// The server could not be asked. It is asked as soon as it is heard again, at the latest before the next event is
    /// sent; `SessionUpdate.settled` reports the result.
    case unknown
}

/// Why a session is over.
public enum SessionEnd: String, OpenEnum {
    case ended = "session-ended"
    case expired = "session-expired"
    /// Another device has signed in or out; this one's token is invalid.
    case tokenReplaced = "token-replaced"
    /// Another device, or the operator, has removed this one.
    case tokenRevoked = "token-revoked"
    /// The server knows no session with this token.
    case unauthorized
    /// The server cannot read the session.
    case damaged = "session-damaged"
    /// The app has changed so much that the session means nothing any more.
    case incompatible = "session-incompatible"
    /// This client has opened another session, or takes part in another one.
    case replaced
    case unknown
}

/// Why a session could not be opened, resumed or asked.
public enum SessionError: Error, Sendable {
    /// `open`, `redeem` or `resume` comes first.
    case notOpen
    /// The server's address is not an `http` or `https` URL with a host.
    case badAddress(URL)
    case ended(SessionEnd)
    /// The server's answer. `problem.kind` says why.
    case refused(Problem)
    /// No answer that is the server's own, until the deadline.
    case unreachable
    /// The storage could not be read.
    case storage(any Error)
    /// The payload cannot be written as JSON.
    case payload(String)
}

/// An answer of the server that says why a request was not carried out (RFC 9457).
public struct Problem: Decodable, Error, Sendable, Equatable {
    /// Such as `stale-screen`: what a program decides by. https://…/problems lists them.
    public let kind: String
    /// For people, in English.
    public let title: String
    public let status: Int
    /// What to do, for the client's developer, in English; or the app's own words for the user.
    public let detail: String?
    /// Names the request in the server's log.
    public let requestId: String?
    /// What does not fit, for the fields of a form.
    public let errors: [Fault]
    /// Where the app is now.
    public let state: NavigationState?
    /// How long to wait.
    var retryAfter: Duration?
    /// The language of `detail`.
    var language = "en"

    /// For the user: the app's own words, if it has some in the user's language, otherwise the title.
    public var words: String { language == "en" ? title : detail ?? title }

    /// A value that does not fit.
    public struct Fault: Decodable, Sendable, Equatable {
        /// Where in the request, such as `/payload/email`.
        public let pointer: String
        /// What is wrong, for programs, such as `type`.
        public let code: String
        /// What is wrong, for the user.
        public let detail: String

        /// The name of the form's field; `nil` if the payload itself is the value.
        public var field: String? {
            let parts = pointer.split(separator: "/")
            guard parts.count > 1, parts[0] == "payload" else { return nil }
            return String(parts[1]).replacing("~1", with: "/").replacing("~0", with: "~")
        }
    }

    private enum Members: CodingKey { case type, title, status, detail, requestId, errors, state }

    /// Decodes the server's own problems only: one of a gateway, or a page, says nothing about what the server did.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Members.self)
        let type = try members.decode(String.self, forKey: .type)
        let prefix = "urn:coordinatord:problem:"
        guard type.hasPrefix(prefix) else {
            throw DecodingError.dataCorruptedError(forKey: .type, in: members, debugDescription: "from a gateway")
        }
        kind = String(type.dropFirst(prefix.count))
        title = try members.decode(String.self, forKey: .title)
        status = try members.decode(Int.self, forKey: .status)
        detail = try members.decodeIfPresent(String.self, forKey: .detail)
        requestId = try members.decodeIfPresent(String.self, forKey: .requestId)
        errors = try members.decodeIfPresent([Fault].self, forKey: .errors) ?? []
        state = try? members.decodeIfPresent(NavigationState.self, forKey: .state)
    }

    /// Why the session is over, if it is.
    var end: SessionEnd? {
        let isOver = status == 401 || status == 410 || ["session-damaged", "session-incompatible"].contains(kind)
        return isOver ? SessionEnd(rawValue: kind) ?? .unknown : nil
    }

    /// Whether the same request may succeed later.
    var isTemporary: Bool { status == 429 || status == 503 && kind != "session-damaged" }
}
