internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

// Unknown members are refused: a mistyped name is a mistake, not a member left out on purpose.

/// The body of `POST /v1/sessions`, which may be missing.
enum CreationRequest {
    case session(SessionRequest)
    /// Starts at another session's current state, or at its state of a version.
    case fork(of: String, version: Int?)

    init(_ request: HTTPRequest) throws(Problem) {
        var session = SessionRequest()
        var origin: String?
        var version: Int?
        for member in try request.body.isEmpty ? [] : request.jsonMembers() {
            switch member.name {
            case "app": session.app = try member.string()
            case "link": session.link = try member.string()
            case "forkOf": origin = try member.string()
            case "version": version = try member.positiveInteger()
            default: throw .unknownMember("“app”, “link”, “forkOf”, “version”")
            }
        }
        guard let origin else {
            guard version == nil else { throw .invalidRequest("", "has a “version” without “forkOf”") }
            self = .session(session)
            return
        }
        guard session.app == nil, session.link == nil else {
            throw .invalidRequest("", "has “forkOf” together with “app” or “link”")
        }
        self = .fork(of: origin, version: version)
    }
}

extension PostedEvent {
    /// The body of `POST /v1/sessions/{id}/events`.
    init(_ request: HTTPRequest, from client: ClientAddress? = nil) throws(Problem) {
        guard request.headers["Content-Length"] != nil else { throw Problem(HTTPRefusal.lengthRequired) }
        var type: String?
        var payload: JSON?
        var screen: String?
        for member in try request.jsonMembers() {
            switch member.name {
            case "type": type = try member.string()
            case "payload": payload = member.value
            case "screen": screen = try member.string()
            default: throw .unknownMember("“type”, “payload”, “screen”")
            }
        }
        guard let type else { throw .invalidRequest("", "lacks “type”") }
        self.init(type, payload: payload, screen: screen, client: client)
    }
}

extension HTTPRequest {
    /// The members of the body, a JSON object.
    fileprivate func jsonMembers() throws(Problem) -> [JSONObject.Member] {
        guard hasJSONType else { throw .notJSONType }
        let json: JSON
        do {
            json = try JSON(parsing: body)
        } catch {
            throw Problem(error)
        }
        guard case .object(let object) = json else { throw .invalidRequest("", "must be an object") }
        return object.members
    }

    /// Whether there is one `Content-Type`, and it is `application/json`, with any parameters.
    private var hasJSONType: Bool {
        guard let field = headers.only("Content-Type") else { return false }
        if field == "application/json" { return true }
        let end = field.utf8.firstIndex(of: UInt8(ascii: ";")) ?? field.endIndex
        return field[..<end].trimmed.isSame("application/json")
    }
}

extension JSONObject.Member {
    fileprivate func string() throws(Problem) -> String {
        guard let text = value.string else { throw .invalidRequest("/\(name)", "must be a string") }
        return text
    }

    fileprivate func positiveInteger() throws(Problem) -> Int {
        guard let number = value.integer, number > 0 else {
            throw .invalidRequest("/\(name)", "must be an integer from 1")
        }
        return number
    }
}

extension Problem {
    fileprivate static func unknownMember(_ known: String) -> Problem {
        .invalidRequest("", "has a member that is not one of \(known)")
    }
}
