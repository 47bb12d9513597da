internal import Coordinators
internal import JSONCoding
public import MicroHTTP
public import Sessions

/// Why a request was not carried out, in the form of RFC 9457. Repeats nothing from the request except a plain name of
/// an unknown query parameter.
///
/// Its content is stored indirectly, so that a function that can throw a problem reserves only one word for it.
@dynamicMemberLookup
struct Problem: Error {
    struct Content {
        let status: Int
        /// The last part of `type`.
        let name: String
        let title: String
        let detail: String
        /// The place of the fault in the request's body, as a JSON Pointer; of the first one if there are several.
        var pointer: String?
        /// All faults of an event's payload.
        var errors: [PayloadFault] = []
        /// The events that are accepted now.
        var events: [String]?
        /// The state in which the event was refused.
        var state: SessionState?
        var request: RequestID?
        /// The app that the request was for; `nil` if that is not known.
        var app: String?
        /// The role of the device, which may not post the event.
        var role: String?
        /// The language of the session's client.
        var locale: String?
        /// The app's own words, in the user's language.
        var translation: Translation?
        var includesControls = false
        var headers: HTTPHeaders = [:]
        /// For the log alone, see `ServerFailure`.
        var details: [String: String] = [:]
    }

    private indirect enum Storage { case content(Content) }

    private var storage: Storage

    /// - Parameter seconds: after which the client may try again, if that helps.
    init(
        _ status: Int, _ name: String, _ title: String, _ detail: String, pointer: String? = nil,
        retryAfter seconds: Int? = nil, details: [String: String] = [:]
    ) {
        storage = .content(
            Content(status: status, name: name, title: title, detail: detail, pointer: pointer, details: details))
        if let seconds { self.headers.append("Retry-After", String(seconds)) }
        // RFC 9110, section 15.5.2, demands it.
        if status == 401 { self.headers.append("WWW-Authenticate", "Bearer") }
    }

    private var content: Content {
        get {
            switch storage {
            case .content(let content): content
            }
        }
        set { storage = .content(newValue) }
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<Content, Value>) -> Value {
        get { content[keyPath: path] }
        set { content[keyPath: path] = newValue }
    }

    subscript<Value>(dynamicMember path: KeyPath<Content, Value>) -> Value { content[keyPath: path] }

    /// - Parameter includesControls: whether the state has `controls`.
    func response(to request: RequestID, includesControls: Bool = false) -> HTTPResponse {
        let problem = with {
            $0.request = request
            $0.includesControls = includesControls
        }
        var response = HTTPResponse.json(problem, status: self.status, isProblem: true)
        response.headers.append(contentsOf: self.headers)
        if self.translation != nil { response.headers.append("Vary", "Accept-Language") }
        response.headers.append("Content-Language", languages.joined(separator: ", "))
        return response
    }

    /// The languages of what users read in it: of `detail`, then of the faults. Nobody knows that of an app's own words.
    private var languages: [String] {
        guard let translation = self.translation else { return ["en"] }
        let faults = self.errors.filter { $0.code != .refused }
        let phrases = [phrase(of: translation)] + faults.map { Phrase.fault($0.code, bound: $0.bound) }
        return phrases.reduce(into: []) { languages, phrase in
            let language = translation.text(phrase)?.language ?? "en"
            if !languages.contains(language) { languages.append(language) }
        }
    }

    /// What the app may have words for: for the device's role, or for the problem.
    private func phrase(of translation: Translation) -> Phrase {
        guard let role = self.role, translation.text(.notForRole(role)) != nil else { return .problem(self.name) }
        return .notForRole(role)
    }

    func with(_ change: (inout Problem) -> Void) -> Problem {
        var problem = self
        change(&problem)
        return problem
    }
}

/// An app's own words for problems, see `App.words`.
struct Translation: Sendable {
    private let words: Words
    private let languages: [String]

    /// - Parameter headers: `Accept-Language` says which languages the user understands. Without it, it is the one of
    ///   the session's client.
    /// - Returns: `nil` if no app has words of its own.
    init?(of problem: Problem, for headers: HTTPHeaders, _ apps: [App]) {
        let app = apps.first { $0.name == problem.app } ?? apps.first
        guard let words = app?.words else { return nil }
        self.words = words
        let accepted = headers.languages
        languages = accepted.isEmpty ? [problem.locale].compactMap(\.self) : accepted
    }

    func text(_ phrase: Phrase) -> (text: String, language: String)? { words.text(phrase, in: languages) }
}

extension Problem: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("type", "urn:coordinatord:problem:\(self.name)")
            writer.member("title", self.title)
            writer.member("status", self.status)
            writer.member("detail", self.translation.flatMap { $0.text(phrase(of: $0))?.text } ?? self.detail)
            writer.member("requestId", ifAny: self.request?.text)
            writer.member("pointer", ifAny: self.pointer)
            if !self.errors.isEmpty {
                writer.member("errors", objects: self.errors) { $0.fault($1, self.translation) }
            }
            writer.member("events", ifAny: self.events)
            writer.member(
                "state", ifAny: self.state.map { StateBody(state: $0, includesControls: self.includesControls) })
        }
    }
}

extension PayloadFault {
    var pointer: String { JSONDecodingError.pointer(path) }
}

extension JSONWriter {
    fileprivate mutating func fault(_ fault: PayloadFault, _ translation: Translation?) {
        let words =
            fault.code == .refused ? fault.reason : translation?.text(.fault(fault.code, bound: fault.bound))?.text
        member("pointer", fault.pointer)
        member("code", fault.code.rawValue)
        member("detail", words ?? "\(fault.reason.prefix(1).uppercased())\(fault.reason.dropFirst()).")
    }
}

// Problems without a session.
extension Problem {
    static let unknownPath = Problem(404, "unknown-path", "No such path", "The paths are listed in /openapi.yaml.")
    static let unknownApp = Problem(404, "unknown-app", "No such app", "GET /v1/apps lists the apps.")
    static let notCarriedOut = Problem(
        404, "not-carried-out", "Not carried out",
        "Nothing was carried out under this Idempotency-Key. DELETE the same path, so that nothing will be.")
    static let notJSONType = Problem(
        415, "not-json-type", "The body's type is not JSON",
        "Send Content-Type: application/json with the body; curl --json does.")
    static let codedBody = Problem(
        415, "not-json-type", "The body's type is not JSON",
        "Send the body as it is: Content-Encoding is not understood."
    )
    .with { $0.headers.append("Accept-Encoding", "identity") }
    static let draining = Problem(
        503, "draining", "The server is stopping", "Try another server, or this one again when it has restarted.",
        retryAfter: 1)

    static func storeUnavailable(_ reason: String) -> Problem {
        Problem(
            503, "store-unavailable", "The store is not available", "Nothing can be committed now: \(reason).",
            retryAfter: 1, details: ["cause": reason])
    }

    static func tooManyCreations(retryAfter seconds: Int) -> Problem {
        Problem(
            429, "too-many-creations", "Too many sessions from one address", "Wait as long as Retry-After says.",
            retryAfter: seconds)
    }

    /// - Parameters:
    ///   - title: what was tried: codes or tokens.
    ///   - subject: one of them.
    static func tooManyTries(
        _ title: String = "Too many pairing codes were tried", of subject: String = "code", retryAfter seconds: Int
    ) -> Problem {
        Problem(
            429, "too-many-tries", title, "The \(subject) was not looked at. Wait as long as Retry-After says.",
            retryAfter: seconds)
    }

    static func methodNotAllowed(_ allowed: [String]) -> Problem {
        let list = allowed.joined(separator: ", ")
        return Problem(405, "method-not-allowed", "Method not allowed", "This path supports \(list).")
            .with { $0.headers.append("Allow", list) }
    }

    static func malformed(_ detail: String, pointer: String? = nil) -> Problem {
        Problem(400, "invalid-request", "Malformed request", detail, pointer: pointer)
    }

    static func invalidRequest(_ pointer: String, _ reason: String) -> Problem {
        malformed("\(pointer.isEmpty ? "The body" : "The value at \(pointer)") \(reason).", pointer: pointer)
    }

    init(_ error: JSONSyntaxError) {
        self.init(400, "invalid-json", "Not acceptable JSON", "The body \(error.reason), at byte \(error.offset).")
    }

    init(_ refusal: HTTPRefusal) {
        switch refusal {
        case .invalidTarget:
            self.init(
                400, "invalid-target", "Malformed target",
                "Dot segments, encoded slashes, NUL and bytes that are not UTF-8 are refused.")
        case .lengthRequired:
            self.init(411, "length-required", "Length required", "Send the body with Content-Length, not in chunks.")
        case .contentTooLarge(let limit):
            self.init(413, "content-too-large", "Body too large", "A body may have at most \(limit) bytes.")
        case .tooManyBytes:
            self.init(
                503, "too-many-bytes", "Too many bytes under way",
                "The server receives as much as it may, or as it may from one address. Nothing has changed; try again.",
                retryAfter: 2)
        case .expectationFailed:
            self.init(
                417, "expectation-failed", "Unknown expectation", "The only known value of Expect is 100-continue.")
        case .headTooLarge(let limit):
            self.init(
                431, "head-too-large", "Head too large",
                """
                Request line and header fields may have at most \(limit) bytes; each field, parameter and cookie \
                counts for 64 more.
                """)
        case .malformedHead:
            self.init(
                400, "malformed-head", "Malformed request",
                "The request line or a header field does not conform to RFC 9112; the connection is closed.")
        case .unknownMethod:
            self.init(501, "unknown-method", "Unknown method", "HTTP has no such method; the connection is closed.")
        case .unknownCoding:
            self.init(
                501, "unknown-coding", "Unknown transfer coding",
                "Send the body with Content-Length and without a transfer coding; the connection is closed.")
        case .stopping:
            // The handler was running, and may still have committed.
            self.init(SessionError.unknownOutcome(reason: "the server stopped before the request was finished"))
        }
    }
}

/// A 5xx answer, for the log: what the client receives, and the cause, which it does not.
public struct ServerFailure: Sendable {
    public let status: Int
    /// The last part of the problem's `type`.
    public let problem: String
    public let request: RequestID
    /// `nil` if the request's path names none.
    public let session: SessionID?
    /// Where it happened and why: `app`, `event`, `coordinator`, `call`, `error`, `limit`, `cause`, as far as known.
    /// Contains no value from a request, from a state or from an error that an app threw.
    public let details: [String: String]

    init(_ problem: Problem, to request: RequestID, _ target: HTTPTarget?) {
        self.status = problem.status
        self.problem = problem.name
        self.request = request
        self.session = target.flatMap { Route.of($0.segments)?.session(in: $0.segments) }
        self.details = problem.details.isEmpty ? ["cause": problem.title] : problem.details
    }
}
