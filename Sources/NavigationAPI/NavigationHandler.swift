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
        /// Proxies that tell the addresses of their clients, in `X-Forwarded-For`.
        public var proxies: [IPNetwork] = []

        public init() {}
    }

    private let host: SessionHost
    private let proxies: [IPNetwork]
    private let creationRates: AddressRates?
    let report: @Sendable (ServerFailure) -> Void
    private let draining = Atomic(false)

    /// - Parameter report: is given every answer of 5xx.
    public init(
        host: SessionHost, settings: Settings = Settings(),
        report: @escaping @Sendable (ServerFailure) -> Void = { _ in }
    ) {
        self.host = host
        self.proxies = settings.proxies
        self.creationRates = RateLimit(perSecond: settings.creationRate).map(AddressRates.init)
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
            switch route {
            case .events(let id): return try post(request, to: id, reply)
            case .history(let id): return try readHistory(id, request, reply)
            default: break
            }
            guard request.target.query.isEmpty else { throw .unknownQuery }
            switch route {
            case .sessions: try create(request, reply)
            case .session(let id) where request.method == "DELETE": try end(id, request, reply)
            case .session(let id): try read(id, request, reply)
            case .coordinators(let id): try readCoordinators(id, request, reply)
            case .version(let id, let version): try readVersion(version, of: id, request, reply)
            case .events, .history, .apps, .app, .livez, .readyz, .openAPI:
                let response = try describe(route)
                reply { response }
            }
        } catch {
            refuse(error, of: request, reply)
        }
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
            let condition = host.store.condition
            if let failure = condition.failure { throw .storeUnavailable(failure) }
            return .json(HealthBody(status: "ready", store: host.store.name, remarks: condition.remarks))
        case .openAPI:
            return .openAPI
        case .sessions, .session, .events, .coordinators, .history, .version: throw .unknownPath
        }
    }
}

// Sessions.
extension NavigationHandler {
    private func create(_ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        if let creationRates, let client = request.client(behind: proxies), let wait = creationRates.take(client) {
            throw .tooManyCreations(retryAfter: wait)
        }
        let once = try IdempotentRequest(request, leastCharacters: IdempotentRequest.leastTellingCharacters)
        switch try CreationRequest(request) {
        case .session(let wanted):
            replyLater(to: request, reply) { () async throws(SessionError) in
                try await self.host.create(wanted, once: once).response
            }
        case .fork(let id, let version):
            try withSession(id, request, reply) { session in
                self.replyLater(to: request, reply) { () async throws(SessionError) in
                    try await self.host.fork(session, version: version, once: once).response
                }
            }
        }
    }

    private func read(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withState(of: id, request, reply) { state in
            let tag = state.entityTag
            let isKnown = EntityTag.matches(request.headers.values("If-None-Match"), tag)
            var response = isKnown ? HTTPResponse.notModified : .json(StateBody(state))
            response.headers.append("ETag", tag)
            return response
        }
    }

    private func readCoordinators(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withState(of: id, request, reply) { .json(CoordinatorsBody($0.navigation)) }
    }

    private func readHistory(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        let page = try HistoryPage(request.target.query)
        try withSession(id, request, reply) { session in
            self.replyLater(to: request, reply) { () async throws(SessionError) in
                // One more than asked for tells whether there is another page.
                let entries = try await session.history(
                    from: page.newest, limit: page.limit + 1, bytes: HistoryPage.byteLimit)
                var continues = entries.count > page.limit
                if !continues, let oldest = entries.last?.version, oldest > 1 {
                    // They are all there are, or all that fit.
                    continues = try await !session.history(from: oldest - 1, limit: 1, bytes: 0).isEmpty
                }
                return .json(HistoryBody(entries.prefix(page.limit), continues, page: page, of: session.id))
            }
        }
    }

    private func readVersion(
        _ version: String, of id: String, _ request: HTTPRequest, _ reply: @escaping Reply
    ) throws(Problem) {
        try withSession(id, request, reply) { session in
            self.replyLater(to: request, reply) { () async throws(SessionError) in
                guard let number = Int(version), number > 0, String(number) == version else { throw .unknownVersion }
                return .json(StateBody(try await session.past(number)))
            }
        }
    }

    private func end(_ id: String, _ request: HTTPRequest, _ reply: @escaping Reply) throws(Problem) {
        try withSession(id, request, reply) { session throws(Problem) in
            let condition = try EntityTag.condition(request.headers.values("If-Match"))
            self.replyLater(to: request, reply) { () async throws(SessionError) in
                try await session.end(if: condition)
                return HTTPResponse(status: 204)
            }
        }
    }
}

// Events. Who has no right to the session learns nothing from how a body is judged: the token comes first.
extension NavigationHandler {
    private func post(_ request: HTTPRequest, to id: String, _ reply: @escaping Reply) throws(Problem) {
        let isDryRun = try NavigationHandler.isDryRun(request.target.query)
        try withSession(id, request, reply, repeatsAnswers: !isDryRun) { session throws(Problem) in
            let condition = try EntityTag.condition(request.headers.values("If-Match"))
            let once = try IdempotentRequest(request)
            let address = request.client(behind: self.proxies)?.subscriber
            let client = address.map { ClientAddress(bits: $0.bits) } ?? ClientAddress(session.id.text)
            let event = try PostedEvent(request, from: client)
            guard isDryRun else {
                return session.apply(event, if: condition, once: once) { result in
                    switch result {
                    case .success(let outcome): reply { outcome.response }
                    case .failure(let error): self.refuse(error, of: request, event: event, reply)
                    }
                }
            }
            // It has no entity tag, for what it answers is the state of no version.
            self.replyLater(to: request, event: event, reply) { () async throws(SessionError) in
                let applied = try await session.preview(event, if: condition)
                return .json(StateBody(applied.state, transition: applied.transition))
            }
        }
    }

    private static func isDryRun(_ query: [HTTPTarget.QueryItem]) throws(Problem) -> Bool {
        guard let item = query.first else { return false }
        guard query.count == 1, item.name == "dryRun", item.value == "true" || item.value == "false" else {
            throw .unknownQuery
        }
        return item.value == "true"
    }
}

// Finding a session.
extension NavigationHandler {
    private func withState(
        of id: String, _ request: HTTPRequest, _ reply: @escaping Reply,
        _ response: @escaping @Sendable (SessionState) -> HTTPResponse
    ) throws(Problem) {
        try withSession(id, request, reply) { session throws(Problem) in
            let condition = try EntityTag.condition(request.headers.values("If-Match"))
            let state: SessionState
            do throws(SessionError) { state = try session.state(if: condition) } catch { throw Problem(error) }
            reply { response(state) }
        }
    }

    /// Goes on with the session that the request has a right to: at once where it is in memory, else when it is there.
    /// Whatever is missing or malformed: the answer is that of a wrong token.
    ///
    /// - Parameter repeatsAnswers: whether the request may be an event that has replaced the token, posted again.
    private func withSession(
        _ id: String, _ request: HTTPRequest, _ reply: @escaping Reply, repeatsAnswers: Bool = false,
        _ body: @escaping @Sendable (AuthorizedSession) throws(Problem) -> Void
    ) throws(Problem) {
        guard let id = SessionID(id), let token = BearerToken(request.headers.only("Authorization")) else {
            throw Problem(SessionError.unauthorized)
        }
        let live: AuthorizedSession?
        do {
            live = try host.liveSession(id, token: token.text)
        } catch {
            guard repeatsAnswers else { throw Problem(error) }
            return repeatAnswer(to: request, of: id, replacedToken: token, reply)
        }
        if let live { return try body(live) }
        Task.immediate {
            let session: AuthorizedSession
            do throws(SessionError) {
                session = try await host.session(id, token: token.text)
            } catch {
                guard case .unauthorized = error, repeatsAnswers else {
                    return refuse(error, of: request, reply)
                }
                return repeatAnswer(to: request, of: id, replacedToken: token, reply)
            }
            do throws(Problem) { try body(session) } catch { refuse(error, of: request, reply) }
        }
    }

    private func repeatAnswer(
        to request: HTTPRequest, of id: SessionID, replacedToken token: BearerToken, _ reply: @escaping Reply
    ) {
        let least = IdempotentRequest.leastTellingCharacters
        guard let once = try? IdempotentRequest(request, leastCharacters: least) else {
            return refuse(.unauthorized, of: request, reply)
        }
        replyLater(to: request, reply) { () async throws(SessionError) in
            try await self.host.answer(to: once, of: id, replacedToken: token.text).response
        }
    }

    private func replyLater(
        to request: HTTPRequest, event: PostedEvent? = nil, _ reply: @escaping Reply,
        _ work: @escaping @Sendable () async throws(SessionError) -> HTTPResponse
    ) {
        Task.immediate {
            do throws(SessionError) {
                let response = try await work()
                reply { response }
            } catch {
                refuse(error, of: request, event: event, reply)
            }
        }
    }
}
