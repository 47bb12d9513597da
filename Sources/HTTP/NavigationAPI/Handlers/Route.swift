internal import ByteText
internal import MicroHTTP
internal import Sessions

/// A path of the API, and the functions that answer its methods.
struct Route: Sendable {
    typealias Action = @Sendable (NavigationHandler) -> (HTTPRequest) async throws(Problem) -> HTTPResponse

    static let all = (api + console).enumerated().map { number, route in
        var route = route
        route.number = number
        return route
    }

    /// `{…}` matches any one segment.
    private static let api = [
        Route("v1/sessions/{id}/events", .post(NavigationHandler.postEvent, query: .only(["dryRun", "include"]))),
        Route(
            "v1/sessions/{id}", .get(NavigationHandler.readState, query: .only(["include"])),
            .delete(NavigationHandler.endSession)),
        Route("v1/sessions", .post(NavigationHandler.createSession, query: .only(["include"]))),
        Route(
            "v1/sessions/{id}/outcomes/{key}", .get(NavigationHandler.readOutcome),
            .delete(NavigationHandler.withdrawKey)),
        Route("v1/sessions/{id}/signals", isForServices: true, .post(NavigationHandler.postSignal)),
        Route("v1/users/{user}/signals", isForServices: true, .post(NavigationHandler.postSignalToUser)),
        Route("v1/sessions/{id}/updates", .get(NavigationHandler.sendUpdates, query: .only(["include"]))),
        Route("v1/sessions/{id}/pairings", .post(NavigationHandler.openPairing)),
        Route("v1/sessions/{id}/tokens", .get(NavigationHandler.listTokens)),
        Route("v1/sessions/{id}/tokens/{number}", .delete(NavigationHandler.revokeToken)),
        Route("v1/pairings", .post(NavigationHandler.pair, query: .only(["include"]))),
        Route("v1/sessions/{id}/coordinators", .get(NavigationHandler.readCoordinators)),
        Route("v1/sessions/{id}/screens/{key}/content", .get(NavigationHandler.readContent)),
        Route("v1/sessions/{id}/history", .get(NavigationHandler.readHistory, query: .only(["limit", "before"]))),
        Route("v1/sessions/{id}/history/{version}", .get(NavigationHandler.readVersion)),
        Route("client.js", .get({ _ in Document.clientModule.response(to:) }, query: .ignored)),
        Route("v1/apps", .get(NavigationHandler.listApps, query: .ignored)),
        Route("v1/apps/{name}", .get(NavigationHandler.describeApp, query: .ignored)),
        Route("livez", .get(NavigationHandler.reportLiveness, query: .ignored)),
        Route("readyz", .get(NavigationHandler.reportReadiness, query: .ignored)),
        Route("openapi.yaml", .get({ _ in Document.openAPI.response(to:) }, query: .ignored)),
        Route("problems", .get({ _ in Document.problems.response(to:) }, query: .ignored)),
        Route("problems/{name}", .get(NavigationHandler.sendProblem, query: .ignored)),
    ]

    /// A method that a path supports, and the function that answers it.
    struct Method: Sendable {
        fileprivate let name: String
        let query: AcceptedQuery
        /// `nil` for what is not the operator's.
        let right: OperatorRight?
        let action: Action

        static func get(
            _ action: @escaping Action, query: AcceptedQuery = .only([]), for right: OperatorRight? = nil
        ) -> Method {
            Method(name: "GET", query: query, right: right, action: action)
        }

        static func post(
            _ action: @escaping Action, query: AcceptedQuery = .only([]), for right: OperatorRight? = nil
        ) -> Method {
            Method(name: "POST", query: query, right: right, action: action)
        }

        static func delete(
            _ action: @escaping Action, query: AcceptedQuery = .only([]), for right: OperatorRight? = nil
        ) -> Method {
            Method(name: "DELETE", query: query, right: right, action: action)
        }
    }

    /// The path, as in this table.
    let pattern: String
    /// The position in the table.
    private(set) var number = 0
    /// `nil` matches any segment that is not empty.
    private let segments: [String?]
    private let supported: [Method]
    /// The methods for `Allow`. HEAD is answered wherever GET is, OPTIONS everywhere.
    let methods: [String]
    /// The methods for `Allow` of the server as a whole.
    static let allMethods = Set(all.flatMap(\.methods)).sorted()
    /// Which segment of the path names a session; `nil` if none does.
    private let sessionPlace: Int?
    /// Whether requests have the key of a service.
    let isForServices: Bool

    init(_ path: String, isForServices: Bool = false, _ methods: Method...) {
        self.isForServices = isForServices
        pattern = "/" + path
        let segments = path.isEmpty ? [] : path.parts(at: "/").map { $0.begins(with: "{") ? nil : String($0) }
        self.segments = segments
        supported = methods
        self.methods = methods.flatMap { $0.name == "GET" ? ["GET", "HEAD"] : [$0.name] } + ["OPTIONS"]
        let sessions = segments.firstIndex(of: "sessions")
        sessionPlace = sessions.flatMap { $0 + 1 < segments.count && segments[$0 + 1] == nil ? $0 + 1 : nil }
    }

    /// The route of a path, if there is one.
    static func of(_ path: [String]) -> Route? {
        all.first { $0.segments.count == path.count && $0.begins(with: path) }
    }

    /// Whether a path of the API could begin with these segments.
    static func hasPath(beginningWith path: [String]) -> Bool {
        all.contains { $0.segments.count >= path.count && $0.begins(with: path) }
    }

    private func begins(with path: [String]) -> Bool {
        for (segment, actual) in zip(segments, path) {
            guard segment.map({ $0 == actual }) ?? !actual.isEmpty else { return false }
        }
        return true
    }

    /// - Returns: `nil` if the path does not support the method.
    func method(_ name: String) -> Method? {
        let wanted = name == "HEAD" ? "GET" : name
        return supported.first { $0.name == wanted }
    }

    /// The session that the path names; `nil` if it names none, or its id is malformed.
    func session(in path: [String]) -> SessionID? { sessionPlace.flatMap { SessionID(path[$0]) } }
}

extension HTTPRequest {
    /// Whether the path is `/` or begins with `/console`: it asks for a part of the console, or uses the operator's token.
    var isBelowConsole: Bool { target.segments.isEmpty || target.segments.first == "console" }

    /// The segment after `/v1/sessions/` or `/v1/apps/` in the path, or after `/console/api/sessions/`.
    var name: String { target.segments[isBelowConsole ? 3 : 2] }

    /// The number that the path ends with; `nil` if it does not, or the number is written in another way than usual.
    var lastNumber: Int? {
        guard let text = target.segments.last, let number = Int(text), number > 0, String(number) == text else {
            return nil
        }
        return number
    }
}
