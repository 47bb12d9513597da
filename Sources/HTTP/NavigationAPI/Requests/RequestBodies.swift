internal import ByteText
internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// The body of a request, a JSON object.
struct RequestBody {
    private let object: JSONObject

    /// Unknown members are refused: a mistyped name is a mistake, not a member left out on purpose.
    ///
    /// - Parameters:
    ///   - known: the names that a member may have.
    ///   - isOptional: whether the body may be missing, which means the same as `{}`. Not without a token from a page in a
    ///     browser, which must send the type: it has to ask the server before it sends that to one of another origin.
    init(_ request: HTTPRequest, _ known: [String], isOptional: Bool = false) throws(Problem) {
        if isOptional, request.body.isEmpty {
            guard request.headers["Origin"] == nil || request.headers["Authorization"] != nil || request.hasJSONType
            else { throw .notJSONType }
            object = [:]
            return
        }
        guard isOptional || request.headers["Content-Length"] != nil else { throw Problem(HTTPRefusal.lengthRequired) }
        guard request.hasJSONType else { throw .notJSONType }
        guard request.headers["Content-Encoding"].map({ $0.isSame(as: "identity") }) ?? true else { throw .codedBody }
        let json: JSON
        do {
            json = try JSON(parsing: request.body)
        } catch {
            throw Problem(error)
        }
        guard case .object(let object) = json else { throw .invalidRequest("", "must be an object") }
        for member in object.members where !known.contains(member.name) {
            let list = known.map { "“\($0)”" }.joined(separator: ", ")
            throw .invalidRequest("", "has a member that is not one of \(list)")
        }
        self.object = object
    }

    /// - Returns: `nil` if the member is left out, or `null`, which means the same.
    subscript(name: String) -> JSON? {
        // There are few members: comparing their short names is faster than a lookup in the object.
        for member in object.members where member.name == name && member.value != .null { return member.value }
        return nil
    }

    func string(_ name: String) throws(Problem) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .invalidRequest("/\(name)", "must be a string") }
        return text
    }

    func requiredString(_ name: String) throws(Problem) -> String {
        guard let text = try string(name) else { throw .invalidRequest("", "lacks “\(name)”") }
        return text
    }

    func positiveInteger(_ name: String) throws(Problem) -> Int? {
        guard let value = self[name] else { return nil }
        guard let number = value.integer, number > 0 else {
            throw .invalidRequest("/\(name)", "must be an integer from 1")
        }
        return number
    }

    /// The client's description of itself; `nil` if there is none.
    var client: ClientInfo? {
        get throws(Problem) {
            guard let json = self["client"] else { return nil }
            do {
                return try ClientInfo(json)
            } catch {
                throw .invalidRequest("/client\(error.pointer)", error.reason)
            }
        }
    }

    /// What a user calls another device; `nil` if it has no name.
    var label: String? {
        get throws(Problem) {
            let label = try string("label")
            guard label.map(AccessToken.isLabel) ?? true else {
                throw .invalidRequest("/label", "must have 1 to 64 characters, none of them a control character")
            }
            return label
        }
    }

    /// Equal for all bodies with the same meaning: the order of members, white space, the spelling of numbers and
    /// members that are `null` make no difference.
    var canonicalBytes: [UInt8] {
        JSON.object(JSONObject(object.members.filter { $0.value != .null }.map { ($0.name, $0.value) })).canonical.bytes
    }
}

extension JSON {
    fileprivate var canonical: JSON {
        switch self {
        case .number: integer.map(JSON.integer) ?? self
        case .array(let elements): .array(elements.map(\.canonical))
        case .object(let object):
            .object(
                JSONObject(
                    object.members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
                        .map { ($0.name, $0.value.canonical) }))
        default: self
        }
    }
}

/// What `POST /v1/sessions` asks for.
enum CreationRequest {
    case session(SessionRequest)
    /// Starts at another session's current state, or at its state of a version.
    case fork(of: String, version: Int?)

    static let members = ["app", "link", "client", "forkOf", "version"]

    init(_ body: RequestBody) throws(Problem) {
        let session = SessionRequest(
            app: try body.string("app"), link: try body.string("link"), client: try body.client)
        let version = try body.positiveInteger("version")
        guard let origin = try body.string("forkOf") else {
            guard version == nil else { throw .invalidRequest("", "has a “version” without “forkOf”") }
            self = .session(session)
            return
        }
        guard session.app == nil, session.link == nil, session.client == nil else {
            throw .invalidRequest("", "has “forkOf” together with “app”, “link” or “client”")
        }
        self = .fork(of: origin, version: version)
    }
}

extension PostedEvent {
    static let members = ["type", "payload", "screen"]

    /// - Parameter body: of an event, or of a signal.
    init(_ body: RequestBody, from address: ClientAddress? = nil) throws(Problem) {
        self.init(
            try body.requiredString("type"), payload: body["payload"], screen: try body.string("screen"),
            address: address)
    }
}

extension HTTPRequest {
    /// Whether there is one `Content-Type`, and it is `application/json`, with any parameters.
    fileprivate var hasJSONType: Bool {
        guard let field = headers.only("Content-Type") else { return false }
        return field == "application/json" || field.parts(at: ";")[0].trimmed.isSame(as: "application/json")
    }
}

/// The query parameters that a method accepts on a path.
enum AcceptedQuery: Sendable {
    /// Every parameter is ignored: probes, caches and browsers add some.
    case ignored
    /// Any other parameter is refused, because a mistyped name is a mistake.
    case only([String])

    func check(_ query: [HTTPTarget.QueryItem]) throws(Problem) {
        guard !query.isEmpty, case .only(let names) = self else { return }
        for (index, item) in query.enumerated() {
            guard names.contains(item.name) else { throw .unknownParameter(item.name, known: names) }
            guard !query[..<index].contains(where: { $0.name == item.name }) else {
                throw .malformed("\(item.name) must be given once.")
            }
        }
    }
}

/// The values of query parameters; `nil` where the query does not have the parameter.
extension HTTPRequest {
    func parameter(_ name: String) -> String? { target.query.first { $0.name == name }?.value }

    func flag(_ name: String) throws(Problem) -> Bool? {
        try parameter(name, "true or false") { Bool($0) }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
        return try parameter(name, "an integer from \(range.lowerBound)\(end)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Whether the answer is to have `controls`.
    func includesControls() throws(Problem) -> Bool {
        try parameter("include", "controls") { $0 == "controls" ? true : nil } ?? false
    }

    /// - Parameters:
    ///   - form: what the value must be.
    ///   - parse: returns `nil` for a value of another form.
    private func parameter<Value>(
        _ name: String, _ form: String, parse: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = parameter(name) else { return nil }
        guard let value = parse(text) else { throw .malformed("\(name) must be \(form).") }
        return value
    }
}

extension Problem {
    /// - Parameter name: repeated only if it is short and plain, so that the answer contains no secret and no markup.
    fileprivate static func unknownParameter(_ name: String, known: [String]) -> Problem {
        let isPlain =
            (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_.-".utf8.contains($0) }
        let subject = isPlain ? "The query parameter “\(name)”" : "A query parameter"
        let list = known.isEmpty ? "none" : known.joined(separator: ", ")
        return malformed("\(subject) is unknown; this request takes \(list).")
    }
}

/// The path below which a proxy offers the API: `/nav`.
public struct BasePath: Sendable {
    /// What the paths in answers begin with.
    public let text: String
    /// What the paths of requests may begin with.
    public let segments: [String]

    /// - Returns: `nil` unless the text consists of a slash and a segment, once or several times. A segment consists of
    ///   characters that need no escape in a path: letters, digits, `-._~`. None of the API's paths may begin with the
    ///   text, because then the server could not know whether a proxy has removed it.
    public init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._~/".utf8.contains($0) }
        guard isPlain, let target = HTTPTarget(text),
            !target.segments.isEmpty, !target.segments.contains(""),
            !Route.hasPath(beginningWith: target.segments)
        else { return nil }
        self.text = text
        self.segments = target.segments
    }
}
