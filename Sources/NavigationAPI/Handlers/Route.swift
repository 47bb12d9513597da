internal import MicroHTTP

/// A path that is answered, and what answers it.
struct Route: Sendable {
    typealias Action = @Sendable (NavigationHandler) -> (HTTPRequest) async throws(Problem) -> HTTPResponse

    /// `{…}` stands for any one segment.
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
    ]

    /// A method that a path takes, and what it does there.
    private struct Method: Sendable {
        let name: String
        let action: Action

        static func get(_ action: @escaping Action) -> Method { Method(name: "GET", action: action) }
        static func post(_ action: @escaping Action) -> Method { Method(name: "POST", action: action) }
        static func delete(_ action: @escaping Action) -> Method { Method(name: "DELETE", action: action) }
    }

    /// `nil` for any.
    private let segments: [String?]
    let takesQuery: Bool
    private let taken: [Method]
    /// For `Allow`. HEAD is answered wherever GET is.
    let methods: [String]
    /// Whether the path names a session.
    private let hasSession: Bool

    private init(_ path: String, takesQuery: Bool = false, _ methods: Method...) {
        segments = path.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) }
        self.takesQuery = takesQuery
        taken = methods
        self.methods = methods.flatMap { $0.name == "GET" ? ["GET", "HEAD"] : [$0.name] }
        hasSession = path.contains("sessions/{id}")
    }

    /// The one of a path, where there is any.
    static func of(_ segments: [String]) -> Route? { all.first { $0.matches(segments) } }

    private func matches(_ path: [String]) -> Bool {
        guard path.count == segments.count else { return false }
        for (segment, actual) in zip(segments, path) where segment != nil && segment != actual { return false }
        return true
    }

    /// - Returns: `nil` where the path does not take the method.
    func action(for method: String) -> Action? {
        let wanted = method == "HEAD" ? "GET" : method
        return taken.first { $0.name == wanted }?.action
    }

    /// The session's id, as it stands in the path.
    static func session(in path: [String]) -> String? {
        of(path)?.hasSession == true ? path[2] : nil
    }
}

extension HTTPRequest {
    /// What stands in the path behind `/v1/sessions/` or `/v1/apps/`.
    var name: String { target.segments[2] }
}
