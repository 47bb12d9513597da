internal import Coordinators
internal import JSONCoding
public import MicroHTTP
public import Sessions
internal import Synchronization

/// Answers the requests that `openapi.yaml` describes.
public final class NavigationHandler: HTTPHandler {
    public struct Settings: Sendable {
        /// Sessions that one client may create in a second; 0 for any number.
        public var creationRate = 0
        /// Proxies that are trusted to send their clients' addresses in `X-Forwarded-For`.
        public var proxies: [IPNetwork] = []

        public init() {}
    }

    private let host: SessionHost
    private let proxies: [IPNetwork]
    private let creationRates: AddressRates?
    let report: @Sendable (ServerFailure) -> Void
    private let draining = Atomic(false)

    /// - Parameter report: is called with every 5xx answer.
    public init(
        host: SessionHost, settings: Settings = Settings(),
        report: @escaping @Sendable (ServerFailure) -> Void = { _ in }
    ) {
        self.host = host
        self.proxies = settings.proxies
        self.creationRates = RateLimit(perSecond: settings.creationRate).map(AddressRates.init)
        self.report = report
    }

    /// From now on `/readyz` answers that the server is stopping.
    public func beginDraining() {
        draining.store(true, ordering: .relaxed)
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        do throws(Problem) {
            guard let route = Route.of(request.target.segments) else { throw .unknownPath }
            guard let action = route.action(for: request.method) else { throw .methodNotAllowed(route.methods) }
            guard route.takesQuery || request.target.query.isEmpty else { throw .unknownQuery }
            return try await action(self)(request)
        } catch {
            if error.status >= 500 { report(ServerFailure(error, to: request.id, request.target)) }
            return error.response(to: request.id)
        }
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        let problem = Problem(refusal)
        if problem.status >= 500 { report(ServerFailure(problem, to: request.id, request.target)) }
        return problem.response(to: request.id)
    }
}

// Requests without a session.
extension NavigationHandler {
    func listApps(_ request: HTTPRequest) -> HTTPResponse { .json(AppsBody(host.apps)) }

    func describeApp(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard let app = host.apps.first(where: { $0.name == request.name }) else { throw .unknownApp }
        return .json(AppBody(app))
    }

    func tellAlive(_ request: HTTPRequest) -> HTTPResponse { .json(HealthBody(status: "alive")) }

    func tellReady(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        if draining.load(ordering: .relaxed) { throw .draining }
        let condition = host.store.condition
        if let failure = condition.failure { throw .storeUnavailable(failure) }
        return .json(HealthBody(status: "ready", store: host.store.name, remarks: condition.remarks))
    }

    func sendDescription(_ request: HTTPRequest) -> HTTPResponse { Document.openAPI }

    func sendProblems(_ request: HTTPRequest) -> HTTPResponse { Document.problems }

    func sendProblem(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard let problem = Document.problem(request.target.segments[1]) else { throw .unknownPath }
        return problem
    }
}

// Sessions.
extension NavigationHandler {
    func createSession(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        if let creationRates, let client = request.client(behind: proxies), let wait = creationRates.take(client) {
            throw .tooManyCreations(retryAfter: wait)
        }
        let body = try RequestBody(request, CreationRequest.members, isOptional: true)
        let wanted = try CreationRequest(body)
        let least = IdempotentRequest.leastSecretKeyBytes
        let once = try IdempotentRequest(request.headers, body, leastCharacters: least)
        return try await translatingErrors { () async throws(SessionError) in
            switch wanted {
            case .session(let wanted): try await host.create(wanted, once: once).response
            case .fork(let id, let version):
                try await host.fork(session(id, request), version: version, once: once).response
            }
        }
    }

    func readState(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let state = try await state(request)
        let tag = state.entityTag
        let isKnown = EntityTag.matches(request.headers.values("If-None-Match"), tag)
        var response = isKnown ? HTTPResponse.notModified : .json(StateBody(state))
        response.headers.append("ETag", tag)
        return response
    }

    func readCoordinators(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        .json(CoordinatorsBody(try await state(request).navigation))
    }

    func readHistory(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let page = try HistoryPage(request.target.query)
        return try await translatingErrors { () async throws(SessionError) in
            let session = try await session(request.name, request)
            // Reads one more than asked for, to find out whether there is another page.
            let entries = try await session.history(
                from: page.newest, limit: page.limit + 1, bytes: HistoryPage.byteLimit)
            var continues = entries.count > page.limit
            if !continues, let oldest = entries.last?.version, oldest > 1 {
                // There are no more, or no more fit into `bytes`.
                continues = try await !session.history(from: oldest - 1, limit: 1, bytes: 0).isEmpty
            }
            return .json(HistoryBody(entries.prefix(page.limit), continues, page: page, of: session.id))
        }
    }

    func readVersion(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await translatingErrors { () async throws(SessionError) in
            let session = try await session(request.name, request)
            let version = request.target.segments[4]
            guard let number = Int(version), number > 0, String(number) == version else { throw .unknownVersion }
            return .json(StateBody(try await session.past(number)))
        }
    }

    func endSession(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        return try await translatingErrors { () async throws(SessionError) in
            try await session.end(if: condition)
            return HTTPResponse(status: 204)
        }
    }
}

// Events. The token is checked before the body: without a right to the session, a client learns nothing from a body's
// errors.
extension NavigationHandler {
    func postEvent(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let isDryRun = try NavigationHandler.isDryRun(request.target.query)
        let session: AuthorizedSession
        do throws(SessionError) {
            session = try await self.session(request.name, request)
        } catch {
            guard case .unauthorized = error, !isDryRun else { throw Problem(error) }
            return try await repeatedAnswer(request)
        }
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        let body = try RequestBody(request, PostedEvent.members)
        let once = try IdempotentRequest(request.headers, body)
        let address = request.client(behind: proxies)?.subscriber
        let client = address.map { ClientAddress(bits: $0.bits) } ?? ClientAddress(session.id.text)
        let event = try PostedEvent(body, from: client)
        do throws(SessionError) {
            guard isDryRun else { return try await session.apply(event, if: condition, once: once).response }
            // Without an entity tag: the state in this answer is not a version of the session.
            let applied = try await session.preview(event, if: condition)
            return .json(StateBody(applied.state, transition: applied.transition))
        } catch {
            throw Problem(error, to: event)
        }
    }

    private static func isDryRun(_ query: [HTTPTarget.QueryItem]) throws(Problem) -> Bool {
        guard let item = query.first else { return false }
        guard query.count == 1, item.name == "dryRun", item.value == "true" || item.value == "false" else {
            throw .unknownQuery
        }
        return item.value == "true"
    }

    /// The kept answer to an event that replaced the token: its client may post the event again with the old token.
    private func repeatedAnswer(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let least = IdempotentRequest.leastSecretKeyBytes
        return try await translatingErrors { () async throws(SessionError) in
            guard let id = SessionID(request.name), let token = BearerToken(request.headers.only("Authorization")),
                let body = try? RequestBody(request, PostedEvent.members),
                let once = try? IdempotentRequest(request.headers, body, leastCharacters: least)
            else { throw .unauthorized }
            return try await host.answer(to: once, of: id, replacedToken: token.text).response
        }
    }
}

// Finding a session.
extension NavigationHandler {
    /// The session that the request has a right to. Anything missing or malformed throws the error of a wrong token.
    private func session(_ id: String, _ request: HTTPRequest) async throws(SessionError) -> AuthorizedSession {
        guard let id = SessionID(id), let token = BearerToken(request.headers.only("Authorization")) else {
            throw .unauthorized
        }
        if let live = try host.liveSession(id, token: token.text) { return live }
        return try await host.session(id, token: token.text)
    }

    private func session(_ request: HTTPRequest) async throws(Problem) -> AuthorizedSession {
        do throws(SessionError) { return try await session(request.name, request) } catch { throw Problem(error) }
    }

    private func state(_ request: HTTPRequest) async throws(Problem) -> SessionState {
        let session = try await session(request)
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        do throws(SessionError) { return try session.state(if: condition) } catch { throw Problem(error) }
    }

    private func translatingErrors<Value>(
        _ work: () async throws(SessionError) -> Value
    ) async throws(Problem) -> Value {
        do throws(SessionError) { return try await work() } catch { throw Problem(error) }
    }
}
