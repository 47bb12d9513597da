internal import Coordinators
internal import JSONCoding
internal import MicroHTTP

// Members that are not known are refused: a mistyped name is a mistake, not a wish to leave the member out.

/// The body of `POST /v1/sessions`, which may be missing.
struct CreationRequest {
    private(set) var app: String?
    /// A link to open right away.
    private(set) var link: String?

    init(_ request: HTTPRequest) throws(Problem) {
        guard !request.body.isEmpty else { return }
        for member in try request.jsonMembers() {
            switch member.name {
            case "app": app = try member.string()
            case "link": link = try member.string()
            default: throw .unknownMember("“app”, “link”")
            }
        }
    }
}

extension PostedEvent {
    /// The body of `POST /v1/sessions/{id}/events`.
    init(_ request: HTTPRequest) throws(Problem) {
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
        self.init(type, payload: payload, screen: screen)
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

    /// Whether the one `Content-Type` is `application/json`, with whatever parameters.
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
}

extension Problem {
    fileprivate static func unknownMember(_ known: String) -> Problem {
        .invalidRequest("", "has a member that is not one of \(known)")
    }
}
