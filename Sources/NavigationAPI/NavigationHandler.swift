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

    public func respond(to request: HTTPRequest, _ reply: @escaping Reply) {
        do throws(Problem) {
            guard let route = Route(request.target.segments) else { throw .unknownPath }
            guard route.methods.contains(request.method) else { throw .methodNotAllowed(route.methods) }
            if case .events(let id) = route, request.target.query.first?.name == "dryRun" {
                return try preview(request, on: id, reply)
            }
            guard request.target.query.isEmpty else { throw .unknownQuery }
            switch route {
            case .events(let id): try apply(request, to: id, reply)
            case .sessions: create(request, reply)
            case .session(let id) where request.method == "DELETE": try end(id, request, reply)
            case .session(let id): try read(id, request, reply)
            case .coordinators(let id): try readCoordinators(id, request, reply)
            case .apps, .app, .livez, .readyz, .openAPI: reply(try describe(route))
            }
        } catch {
            reply(response(for: error))
        }
    }

    private func response(for problem: Problem) -> HTTPResponse {
        if problem.status == 500 { report(problem.detail) }
        return problem.response
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
    private func create(_ request: HTTPRequest, _ reply: @escaping Reply) {
        replyLater(reply) { () async throws(Problem) in
            let body = try CreationRequest(request)
            let created: CreatedSession
            do throws(SessionError) { created = try await self.host.create(app: body.app, link: body.link) } catch {
                throw Problem(error)
            }
            var response = HTTPResponse.json(
                StateBody(created.state, transition: created.transition, token: created.token), status: 201)
            response.headers.append("ETag", created.state.entityTag)
            response.headers.append("Location", "/v1/sessions/\(created.state.id.text)")
            return response
        }
    }

    private func read(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withState(of: id, request, reply) { state in
            let tag = state.entityTag
            // A 304 has the headers of the 200, its Content-Length among them; the body is not sent.
            let isKnown = EntityTag.matches(request.headers.values("If-None-Match"), tag)
            var response = HTTPResponse.json(StateBody(state), status: isKnown ? 304 : 200)
            response.headers.append("ETag", tag)
            return response
        }
    }

    private func readCoordinators(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withState(of: id, request, reply) { .json(CoordinatorsBody($0.navigation)) }
    }

    /// Who has no right to the session learns nothing from how a body is judged: the token comes first.
    private func apply(_ request: HTTPRequest, to id: String, _ reply: @escaping Reply) throws(Problem) {
        try withSession(id, request, reply) { session throws(Problem) in
            session.apply(try PostedEvent(request)) { [self] result in
                switch result {
                case .success(let applied):
                    var response = HTTPResponse.json(StateBody(applied.state, transition: applied.transition))
                    response.headers.append("ETag", applied.state.entityTag)
                    reply(response)
                case .failure(let error): reply(response(for: Problem(error)))
                }
            }
        }
    }

    /// Answers what an event would do. It has no entity tag, for it is the state of no version.
    private func preview(_ request: HTTPRequest, on id: String, _ reply: @escaping Reply) throws(Problem) {
        guard request.target.query.count == 1, let value = request.target.query.first?.value,
            value == "true" || value == "false"
        else { throw .unknownQuery }
        guard value == "true" else { return try apply(request, to: id, reply) }
        try withSession(id, request, reply) { session throws(Problem) in
            let event = try PostedEvent(request)
            self.replyLater(reply) { () async throws(Problem) in
                let applied: AppliedEvent
                do throws(SessionError) { applied = try await session.preview(event) } catch { throw Problem(error) }
                return .json(StateBody(applied.state, transition: applied.transition))
            }
        }
    }

    private func end(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withSession(id, request, reply) { session in
            self.replyLater(reply) { () async throws(Problem) in
                do throws(SessionError) { try await session.end() } catch { throw Problem(error) }
                return HTTPResponse(status: 204)
            }
        }
    }
}

// Finding a session.
extension NavigationHandler {
    private func withState(
        of id: String, _ request: HTTPRequest, _ reply: @escaping Reply,
        _ response: @escaping @Sendable (SessionState) -> HTTPResponse
    ) throws(Problem) {
        try withSession(id, request, reply) { session throws(Problem) in
            let state: SessionState
            do throws(SessionError) { state = try session.state() } catch { throw Problem(error) }
            reply(response(state))
        }
    }

    /// Goes on with the session that the request has a right to: at once where it is in memory, else when it is there.
    /// Whatever is missing or malformed: the answer is that of a wrong token.
    private func withSession(
        _ id: String, _ request: HTTPRequest, _ reply: @escaping Reply,
        _ body: @escaping @Sendable (AuthorizedSession) throws(Problem) -> Void
    ) throws(Problem) {
        guard let id = SessionID(id), let token = BearerToken(request.headers.only("Authorization")) else {
            throw Problem(SessionError.unauthorized)
        }
        let live: AuthorizedSession?
        do { live = try host.liveSession(id, token: token.text) } catch { throw Problem(error) }
        if let live { return try body(live) }
        Task.immediate {
            do throws(Problem) {
                let session: AuthorizedSession
                do throws(SessionError) { session = try await host.session(id, token: token.text) } catch {
                    throw Problem(error)
                }
                try body(session)
            } catch {
                reply(response(for: error))
            }
        }
    }

    private func replyLater(
        _ reply: @escaping Reply, _ work: @escaping @Sendable () async throws(Problem) -> HTTPResponse
    ) {
        Task.immediate {
            do throws(Problem) {
                reply(try await work())
            } catch {
                reply(response(for: error))
            }
        }
    }
}
