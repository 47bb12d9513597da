internal import Coordinators
internal import JSONCoding
internal import MicroHTTP

/// The body of `POST /v1/sessions`, which may be missing.
struct CreationRequest {
    let app: String?

    init(_ request: HTTPRequest) throws(Problem) {
        guard !request.body.isEmpty else {
            app = nil
            return
        }
        app = try MemberReader(request, members: ["app"]).string("app")
    }
}

extension PostedEvent {
    /// The body of `POST /v1/sessions/{id}/events`.
    init(_ request: HTTPRequest) throws(Problem) {
        guard request.headers["Content-Length"] != nil else { throw Problem(HTTPRefusal.lengthRequired) }
        let body = try MemberReader(request, members: ["type", "payload", "screen"])
        guard let type = try body.string("type") else { throw .invalidRequest("", "lacks “type”") }
        self.init(type, payload: body["payload"], screen: try body.string("screen"))
    }
}

/// Reads the members of a request's body, and refuses those that are not known: a mistyped name is a mistake, not a
/// wish to leave the member out.
private struct MemberReader {
    private let object: JSONObject

    init(_ request: HTTPRequest, members: [String]) throws(Problem) {
        guard MemberReader.isJSON(request.headers.values("Content-Type")) else { throw .notJSONType }
        let json: JSON
        do {
            json = try JSON(parsing: request.body)
        } catch {
            throw Problem(error)
        }
        guard case .object(let object) = json else { throw .invalidRequest("", "must be an object") }
        for member in object.members where !members.contains(member.name) {
            let known = members.map { "“\($0)”" }.joined(separator: ", ")
            throw .invalidRequest("", "has a member that is not one of \(known)")
        }
        self.object = object
    }

    subscript(name: String) -> JSON? { object[name] }

    func string(_ name: String) throws(Problem) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw .invalidRequest("/\(name)", "must be a string") }
        return text
    }

    /// Whether the one `Content-Type` is `application/json`, with whatever parameters.
    private static func isJSON(_ fields: [String]) -> Bool {
        guard fields.count == 1 else { return false }
        if fields[0] == "application/json" { return true }
        let end = fields[0].utf8.firstIndex(of: UInt8(ascii: ";")) ?? fields[0].endIndex
        return fields[0][..<end].trimmed.isSame("application/json")
    }
}
