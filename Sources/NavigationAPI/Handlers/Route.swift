internal import MicroHTTP

/// A path of the API, and the functions that answer its methods.
struct Route: Sendable {
    typealias Action = @Sendable (NavigationHandler) -> (HTTPRequest) async throws(Problem) -> HTTPResponse

    /// `{…}` matches any one segment.
    private static let all = [
        Route("v1/sessions/{id}/events", takesQuery: true, .post(NavigationHandler.postEvent)),
        Route("v1/sessions/{id}", .get(NavigationHandler.readState), .delete(NavigationHandler.endSession)),
        Route("v1/sessions", .post(NavigationHandler.createSession)),
        Route("v1/sessions/{id}/coordinators", .get(NavigationHandler.readCoordinators)),
        Route("v1/sessions/{id}/history", takesQuery: true, .get(NavigationHandler.readHistory)),
        Route("v1/sessions/{id}/history/{version}", .get(NavigationHandler.readVersion)),
        Route("v1/apps", .get(NavigationHandler.listApps)),
        Route("v1/apps/{name}", .get(NavigationHandler.describeApp)),
        Route("livez", .get(NavigationHandler.tellAlive)),
        Route("readyz", .get(NavigationHandler.tellReady)),
        Route("openapi.yaml", .get(NavigationHandler.sendDescription)),
        Route("problems", .get(NavigationHandler.sendProblems)),
        Route("problems/{name}", .get(NavigationHandler.sendProblem)),
    ]

    /// A method that a path supports, and the function that answers it.
    private struct Method: Sendable {
        let name: String
        let action: Action

        static func get(_ action: @escaping Action) -> Method { Method(name: "GET", action: action) }
        static func post(_ action: @escaping Action) -> Method { Method(name: "POST", action: action) }
        static func delete(_ action: @escaping Action) -> Method { Method(name: "DELETE", action: action) }
    }

    /// `nil` matches any segment.
    private let segments: [String?]
    let takesQuery: Bool
    private let supported: [Method]
    /// For `Allow`. HEAD is answered wherever GET is.
    let methods: [String]
    /// Whether the path names a session.
    private let hasSession: Bool

    private init(_ path: String, takesQuery: Bool = false, _ methods: Method...) {
        segments = path.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) }
        self.takesQuery = takesQuery
        supported = methods
        self.methods = methods.flatMap { $0.name == "GET" ? ["GET", "HEAD"] : [$0.name] }
        hasSession = path.contains("sessions/{id}")
    }

    /// The route of a path, if there is one.
    static func of(_ segments: [String]) -> Route? { all.first { $0.matches(segments) } }

    private func matches(_ path: [String]) -> Bool {
        guard path.count == segments.count else { return false }
        for (segment, actual) in zip(segments, path) where segment != nil && segment != actual { return false }
        return true
    }

    /// - Returns: `nil` if the path does not support the method.
    func action(for method: String) -> Action? {
        let wanted = method == "HEAD" ? "GET" : method
        return supported.first { $0.name == wanted }?.action
    }

    /// The session's id, as it stands in the path.
    static func session(in path: [String]) -> String? {
        of(path)?.hasSession == true ? path[2] : nil
    }
}

extension HTTPRequest {
    /// The segment after `/v1/sessions/` or `/v1/apps/` in the path.
    var name: String { target.segments[2] }
}
