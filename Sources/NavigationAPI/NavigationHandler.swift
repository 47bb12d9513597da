internal import Coordinators
internal import JSONCoding
public import MicroHTTP
public import Sessions
internal import Synchronization

/// Answers the requests of DESIGN.md, section 5.
public final class NavigationHandler: HTTPHandler {
    private let host: SessionHost
    private let report: @Sendable (String) -> Void
    private let draining = Atomic(false)

    /// - Parameter report: is told what went wrong on the server's side, in words that hold nothing of a request.
    public init(host: SessionHost, report: @escaping @Sendable (String) -> Void = { _ in }) {
        self.host = host
        self.report = report
    }

    /// From now on `/readyz` says that the server is about to stop.
    public func beginDraining() {
        draining.store(true, ordering: .relaxed)
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        do throws(Problem) {
            guard let route = Route(request.target.segments) else { throw .unknownPath }
            guard route.methods.contains(request.method) else { throw .methodNotAllowed(route.methods) }
            guard request.target.query.isEmpty else { throw .unknownQuery }
            switch route {
            case .events(let id): return try await apply(request, to: id)
            case .sessions: return try await create(request)
            case .session(let id):
                return request.method == "DELETE" ? try await end(id, request) : try await read(id, request)
            case .coordinators(let id): return .json(CoordinatorsBody(try await state(id, request).navigation))
            case .apps, .app, .livez, .readyz, .openAPI: return try describe(route)
            }
        } catch {
            if error.status == 500 { report(error.detail) }
            return error.response
        }
    }

    public func response(for refusal: HTTPRefusal) -> HTTPResponse {
        Problem(refusal).response
    }

    /// What is there without any session.
    private func describe(_ route: Route) throws(Problem) -> HTTPResponse {
        switch route {
        case .apps: return .json(AppsBody(host.apps))
        case .app(let name):
            guard let app = host.apps.first(where: { $0.name == name }) else { throw .unknownApp }
            return .json(AppBody(app))
        case .livez: return .json(HealthBody(status: "alive"))
        case .readyz:
            if draining.load(ordering: .relaxed) { throw .draining }
            return .json(HealthBody(status: "ready", store: host.store.name))
        case .openAPI:
            return HTTPResponse(status: 200, headers: ["Content-Type": "application/yaml"], body: OpenAPI.yaml)
        case .sessions, .session, .events, .coordinators: throw .unknownPath
        }
    }
}

// Sessions.
extension NavigationHandler {
    private func create(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let body = try CreationRequest(request)
        let created: CreatedSession
        do { created = try await host.create(app: body.app) } catch { throw Problem(error) }
        var response = HTTPResponse.json(
            StateBody(created.state, transition: created.transition, token: created.token), status: 201)
        response.headers.append("ETag", created.state.entityTag)
        response.headers.append("Location", "/v1/sessions/\(created.state.id.text)")
        return response
    }

    private func read(_ id: String, _ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let state = try await state(id, request)
        let tag = state.entityTag
        // A 304 has the headers of the 200, its Content-Length among them; the body is not sent.
        let isKnown = EntityTag.matches(request.headers.values("If-None-Match"), tag)
        var response = HTTPResponse.json(StateBody(state), status: isKnown ? 304 : 200)
        response.headers.append("ETag", tag)
        return response
    }

    /// Who has no right to the session learns nothing from how a body is judged: the token comes first.
    private func apply(_ request: HTTPRequest, to id: String) async throws(Problem) -> HTTPResponse {
        let session = try await session(id, request)
        let event = try PostedEvent(request)
        let applied: AppliedEvent
        do { applied = try await session.apply(event) } catch { throw Problem(error) }
        var response = HTTPResponse.json(StateBody(applied.state, transition: applied.transition))
        response.headers.append("ETag", applied.state.entityTag)
        return response
    }

    private func end(_ id: String, _ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(id, request)
        do { try await session.end() } catch { throw Problem(error) }
        return HTTPResponse(status: 204)
    }

    private func state(_ id: String, _ request: HTTPRequest) async throws(Problem) -> SessionState {
        let session = try await session(id, request)
        do { return try session.state() } catch { throw Problem(error) }
    }

    /// Whatever is missing or malformed: the answer is that of a wrong token.
    private func session(_ id: String, _ request: HTTPRequest) async throws(Problem) -> AuthorizedSession {
        guard let id = SessionID(id), let token = BearerToken(request.headers.only("Authorization")) else {
            throw Problem(SessionError.unauthorized)
        }
        do {
            if let session = try host.liveSession(id, token: token.text) { return session }
            return try await host.session(id, token: token.text)
        } catch { throw Problem(error) }
    }
}
