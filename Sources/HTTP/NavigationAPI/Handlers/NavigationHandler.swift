internal import Coordinators
package import FoundationEssentials
internal import JSONCoding
internal import Measures
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
        /// Begins the paths in answers. The HTTP server removes it from the paths of requests.
        public var basePath: BasePath?
        /// Whether answers are compressed for clients that accept it.
        public var compresses = false
        /// The console; `nil` for none.
        public var console: ConsoleSettings?
        /// The keys with which other systems send signals; `nil` if none may.
        public var serviceKeys: (any NamedKeys)?
        /// Called with what became of each signal of a service, in words without any of its data.
        public var reportSignal: @Sendable (String) -> Void = { _ in }
        /// The clock of the rates that addresses are held to, which nobody sets.
        package var now: @Sendable () -> Date = {
            Date(timeIntervalSince1970: TimeInterval(MonotonicTime.nanosecondsOfUptime) / 1e9)
        }
        /// See `Preference.wait`, in seconds.
        package var longestWait = Preference.longestWait

        public init() {}
    }

    let host: SessionHost
    let settings: Settings
    private let creationRates: AddressRates?
    let pairingRates: AddressRates?
    /// What the paths in answers begin with.
    var basePath: String { settings.basePath?.text ?? "" }
    private let apps: Document
    /// Descriptions of the apps, by name.
    private let descriptions: [String: Document]
    let report: @Sendable (ServerFailure) -> Void
    let console: Console?
    let draining = Atomic(false)
    let wrongOperatorTokens = Atomic(0)
    let wrongServiceKeys = Atomic(0)

    /// - Parameter report: called with every 5xx answer.
    public init(
        host: SessionHost, settings: Settings = Settings(),
        report: @escaping @Sendable (ServerFailure) -> Void = { _ in }
    ) {
        self.host = host
        self.settings = settings
        self.creationRates = RateLimit(perSecond: settings.creationRate).map(AddressRates.init)
        self.pairingRates = RateLimit(5, in: 60).map(AddressRates.init)
        self.apps = Document(AppsBody(apps: host.apps))
        self.descriptions = Dictionary(host.apps.map { ($0.name, Document(AppDescription($0))) }) { first, _ in first }
        self.report = report
        self.console = settings.console.map { Console($0, now: settings.now) }
    }

    /// Tokens for operators and keys of services that were tried, and are nobody's.
    public var wrongTokens: (operators: Int, services: Int) {
        (wrongOperatorTokens.load(ordering: .relaxed), wrongServiceKeys.load(ordering: .relaxed))
    }

    /// From now on `/readyz` answers that the server is stopping, and no request waits for a session to change.
    public func beginDraining() {
        draining.store(true, ordering: .relaxed)
        host.endWatching()
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        await respond(to: request, on: Route.of(request.target.segments))
    }

    /// Answers a request on the operator's own port, where the console is.
    public func respondToOperator(_ request: HTTPRequest) async -> HTTPResponse {
        await respond(to: request, on: Route.of(request.target.segments), hasConsole: true)
    }

    /// - Parameters:
    ///   - route: of the request's path; `nil` if the API has no such path.
    ///   - hasConsole: whether the request may be for a console that is not public.
    func respond(to request: HTTPRequest, on route: Route?, hasConsole: Bool = false) async -> HTTPResponse {
        do throws(Problem) {
            if request.target.isServerWide { return .allowing(Route.allMethods) }
            guard let route else { throw .unknownPath }
            if request.isBelowConsole {
                guard let console, hasConsole || console.settings.isPublic else { throw .unknownPath }
            }
            guard let method = route.method(request.method) else {
                if request.method == "OPTIONS" { return .allowing(route.methods) }
                throw .methodNotAllowed(route.methods)
            }
            try method.query.check(request.target.query)
            let response =
                if let right = method.right { try await respond(to: request, with: right, by: method.action) } else {
                    try await method.action(self)(request)
                }
            return settings.compresses ? await response.compressed(for: request) : response
        } catch {
            console?.problems.count()
            if error.status >= 500 { report(ServerFailure(error, to: request.id, request.target)) }
            let response = translated(error, for: request.headers)
                .response(to: request.id, includesControls: (try? request.includesControls()) ?? false)
            return settings.compresses ? await response.compressed(for: request) : response
        }
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        let problem = Problem(refusal)
        if problem.status >= 500 { report(ServerFailure(problem, to: request.id, request.target)) }
        return translated(problem, for: request.headers).response(to: request.id)
    }

    private func translated(_ problem: Problem, for headers: HTTPHeaders) -> Problem {
        guard let translation = Translation(of: problem, for: headers, host.apps) else { return problem }
        return problem.with { $0.translation = translation }
    }

    /// Whether the request has a token of a session that is in memory, or a service's key.
    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool {
        let route = Route.of(target.segments)
        if route?.isForServices == true { return service(headers) != nil }
        guard let id = route?.session(in: target.segments), let token = headers.bearerToken else { return false }
        return host.isOpen(id, to: token)
    }
}

// Requests without a session.
extension NavigationHandler {
    func listApps(_ request: HTTPRequest) -> HTTPResponse { apps.response(to: request) }

    func describeApp(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard let description = descriptions[request.name] else { throw .unknownApp }
        return description.response(to: request)
    }

    func reportLiveness(_ request: HTTPRequest) -> HTTPResponse { .json { $0.member("status", word: "alive") } }

    func reportReadiness(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        if draining.load(ordering: .relaxed) { throw .draining }
        let condition = host.condition
        if let failure = condition.failure { throw .storeUnavailable(failure) }
        return .json { writer in
            writer.member("status", word: "ready")
            writer.member("store", host.store.name)
            if !condition.remarks.isEmpty { writer.member("remarks", condition.remarks) }
        }
    }

    func sendProblem(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard let section = Document.sections[request.target.segments[1]] else { throw .unknownPath }
        return section.response(to: request)
    }
}

// Sessions.
extension NavigationHandler {
    func createSession(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let limit = try count(request, in: creationRates, "creations") { .tooManyCreations(retryAfter: $0) }
        let includesControls = try request.includesControls()
        let body = try RequestBody(request, CreationRequest.members, isOptional: true)
        let wanted = try CreationRequest(body)
        let once = try IdempotentRequest(request, body, leastCharacters: RequestKey.leastSecretBytes)
        let created = try await translatingErrors { () async throws(SessionError) in
            switch wanted {
            case .session(let wanted): try await host.create(wanted, once: once)
            case .fork(let id, let version):
                try await host.fork(session(id, request), version: version, once: once)
            }
        }
        console?.creations.count()
        var response = created.response(includesControls: includesControls, below: basePath)
        response.headers.append(contentsOf: limit)
        return response
    }

    /// Counts a request by its client's address, whatever will become of it.
    ///
    /// - Parameters:
    ///   - name: the limit's, a plain word.
    ///   - problem: of a request beyond the limit, with the seconds to wait.
    /// - Returns: the fields that describe the limit; none if there is no limit.
    func count(
        _ request: HTTPRequest, in rates: AddressRates?, _ name: String, problem: (Int) -> Problem
    ) throws(Problem) -> HTTPHeaders {
        guard let rates, let client = request.client(behind: settings.proxies) else { return [:] }
        let (wait, remaining) = rates.take(client, at: settings.now())
        let limit = HTTPHeaders.rateLimit(name, rate: rates.limit.rate, in: rates.limit.seconds, remaining: remaining)
        if let wait { throw problem(wait).with { $0.headers.append(contentsOf: limit) } }
        return limit
    }

    func readCoordinators(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        .json(CoordinatorsBody(try await state(request).navigation))
    }

    func readContent(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await translatingErrors { () async throws(SessionError) in
            let session = try await session(request.name, request)
            let (text, state) = try await session.content(of: request.target.segments[4])
            var response = Document(text, type: "application/json", isPrivate: true).response(to: request)
            response.headers.append("Session-Version", String(state.version))
            return response
        }
    }

    func readHistory(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let page = try HistoryPage(request)
        return try await translatingErrors { () async throws(SessionError) in
            let session = try await session(request.name, request)
            // Reads one more than requested, to find out whether there is another page.
            let entries = try await session.history(
                from: page.newest, limit: page.limit + 1, bytes: HistoryPage.byteLimit)
            var continues = entries.count > page.limit
            if !continues, let oldest = entries.last?.version, oldest > 1 {
                // Either there are no more entries, or no more fit into `bytes`.
                continues = try await !session.history(from: oldest - 1, limit: 1, bytes: 0).isEmpty
            }
            return .json(
                HistoryBody(
                    entries: entries.prefix(page.limit), continues: continues, page: page, session: session.id,
                    basePath: basePath))
        }
    }

    func readVersion(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await translatingErrors { () async throws(SessionError) in
            let session = try await session(request.name, request)
            guard let version = request.lastNumber else { throw .unknownVersion }
            return .json(StateBody(state: try await session.past(version)))
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
        let isDryRun = try request.flag("dryRun") ?? false
        let includesControls = try request.includesControls()
        let session: AuthorizedSession
        do throws(SessionError) {
            session = try await self.session(request.name, request, isConfirmed: isDryRun)
        } catch {
            guard case .unauthorized = error, !isDryRun else { throw Problem(error) }
            return try await repeatedAnswer(request)
        }
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        let body = try RequestBody(request, PostedEvent.members)
        let once = try IdempotentRequest(request, body)
        let address = request.client(behind: settings.proxies)?.subscriber
        let client = address.map { ClientAddress(bits: $0.bits) } ?? ClientAddress(session.id.text)
        let event = try PostedEvent(body, from: client)
        do throws(SessionError) {
            guard isDryRun else {
                let preferences = request.headers.values("Prefer")
                let before = preferences.isEmpty ? nil : try session.state()
                let outcome = try await session.apply(event, if: condition, once: once)
                console?.events.count()
                guard let before, !outcome.isReplay else {
                    return outcome.response(includesControls: includesControls)
                }
                return await preferredAnswer(
                    to: request, preferences, outcome, of: session, after: before, includesControls: includesControls)
            }
            // Without an entity tag: the state in this answer is not a version of the session.
            let applied = try await session.preview(event, if: condition)
            return .json(
                StateBody(state: applied.state, transition: applied.transition, includesControls: includesControls))
        } catch {
            throw Problem(error, to: event)
        }
    }

    /// The first answer to an event whose client has preferences. The event is committed: what goes wrong here must not
    /// make its answer a refusal.
    ///
    /// - Parameter before: a state from before the event.
    private func preferredAnswer(
        to request: HTTPRequest, _ preferences: [String], _ outcome: Outcome, of session: AuthorizedSession,
        after before: SessionState, includesControls: Bool
    ) async -> HTTPResponse {
        var response = outcome.response(includesControls: includesControls)
        guard let wait = Preference.wait(preferences, atMost: settings.longestWait) else { return response }
        let settled = try? await session.settled(outcome, after: before, within: .seconds(wait)) { request.hasHungUp }
        if let settled {
            response = HTTPResponse(
                StateBody(
                    state: settled.state, joined: settled.transition, token: outcome.token, pairing: outcome.pairing,
                    includesControls: includesControls))
        }
        response.applied(wait: wait)
        return response
    }

    /// Repeats the answer to an event that replaced the token: a client that lost the answer posts the event again with
    /// the old token.
    private func repeatedAnswer(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await translatingErrors { () async throws(SessionError) in
            guard let id = SessionID(request.name), let token = request.headers.bearerToken,
                let body = try? RequestBody(request, PostedEvent.members),
                let once = try? IdempotentRequest(request, body, leastCharacters: RequestKey.leastSecretBytes)
            else { throw .unauthorized }
            return try await host.answer(to: once, of: id, replacedToken: token).response(includesControls: false)
        }
    }
}

// The outcome of an event whose client did not receive the answer.
extension NavigationHandler {
    func readOutcome(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let outcome = try await outcome(request) { (session, key) async throws(SessionError) in
            try await session.answer(to: key)
        }
        guard let outcome else { throw .notCarriedOut }
        return outcome.response(includesControls: false)
    }

    func withdrawKey(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let outcome = try await outcome(request) { (session, key) async throws(SessionError) in
            try await session.withdraw(key)
        }
        return outcome?.response(includesControls: false) ?? HTTPResponse(status: 204)
    }

    /// - Parameter ask: is not called for a client that has only the token which the event has replaced.
    private func outcome(
        _ request: HTTPRequest, _ ask: (AuthorizedSession, RequestKey) async throws(SessionError) -> Outcome?
    ) async throws(Problem) -> Outcome? {
        let key = IdempotencyKey(segment: request.target.segments[4]).map { RequestKey($0.text) }
        let session: AuthorizedSession
        do throws(SessionError) {
            session = try await self.session(request.name, request, isConfirmed: false)
        } catch {
            guard case .unauthorized = error, let key, let id = SessionID(request.name),
                let token = request.headers.bearerToken
            else { throw Problem(error) }
            return try await translatingErrors { () async throws(SessionError) in
                try await host.answer(to: key, of: id, replacedToken: token)
            }
        }
        guard let key else {
            throw .malformed("The key in the path must be one of 1 to \(IdempotencyKey.limit) ASCII characters.")
        }
        return try await translatingErrors { () async throws(SessionError) in try await ask(session, key) }
    }
}

// Finding a session.
extension NavigationHandler {
    /// The session that the request has a right to. A missing or malformed id or token throws the error of a wrong
    /// token.
    ///
    /// - Parameter isConfirmed: see `SessionHost.session`.
    func session(
        _ id: String, _ request: HTTPRequest, isConfirmed: Bool = true
    ) async throws(SessionError) -> AuthorizedSession {
        if request.isBelowConsole { return try await sessionForOperator(id, request) }
        guard let id = SessionID(id), let token = request.headers.bearerToken else { throw .unauthorized }
        if let live = try host.liveSession(id, token: token) { return live }
        return try await host.session(id, token: token, isConfirmed: isConfirmed)
    }

    func session(_ request: HTTPRequest) async throws(Problem) -> AuthorizedSession {
        do throws(SessionError) { return try await session(request.name, request) } catch { throw Problem(error) }
    }

    func state(_ request: HTTPRequest) async throws(Problem) -> SessionState {
        let session = try await session(request)
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        do throws(SessionError) { return try session.state(if: condition) } catch { throw Problem(error) }
    }

    func translatingErrors<Value>(
        _ work: () async throws(SessionError) -> Value
    ) async throws(Problem) -> Value {
        do throws(SessionError) { return try await work() } catch { throw Problem(error) }
    }
}
