#if Complete
internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import MicroHTTP
internal import Sessions
internal import Synchronization

extension Route {
    static let console = [
        Route("", .get(NavigationHandler.sendStartPage, query: .ignored)),
        Route("console", .get(NavigationHandler.sendConsolePage, query: .ignored)),
        Route("console/", .get(NavigationHandler.sendConsolePage, query: .ignored)),
        Route("console/config", .get(NavigationHandler.describeConsole)),
        Route("console/server", .get(NavigationHandler.sendConsolePage, query: .ignored)),
        Route("console/sessions/{id}", .get(NavigationHandler.sendConsolePage, query: .ignored)),
        Route("console/apps/{name}", .get(NavigationHandler.sendConsolePage, query: .ignored)),
        Route(
            "console/api/apps/{name}/map",
            .get(NavigationHandler.sendMap, for: OperatorRight(act: nil, inDevelopment: .everybody))),
        Route("console/api/server", .get(NavigationHandler.describeServer, for: .figures)),
        Route(
            "console/api/sessions",
            .get(
                NavigationHandler.listSessions,
                query: .only(["app", "screen", "version", "user", "after", "limit"]), for: .act("list-sessions")),
            .delete(
                NavigationHandler.endSessionsOfUser, query: .only(["user"]),
                for: .act("end-sessions-of-user", countsEnded: true))),
        Route(
            "console/api/sessions/{id}",
            .get(NavigationHandler.readState, query: .only(["include"]), for: .act("read-session")),
            .delete(NavigationHandler.endSession, for: .act("end-session"))),
        Route(
            "console/api/sessions/{id}/signals",
            .post(
                NavigationHandler.postSignalFromConsole,
                for: .act("send-signal", inDevelopment: .sessionsClient))),
        Route(
            "console/api/sessions/{id}/updates",
            .get(NavigationHandler.sendUpdates, query: .only(["include"]), for: .act("watch-session"))),
        Route(
            "console/api/sessions/{id}/coordinators",
            .get(NavigationHandler.readCoordinators, for: .act("read-coordinators"))),
        Route(
            "console/api/sessions/{id}/drawings",
            .get(
                NavigationHandler.readDrawings, query: .only(["include"]),
                for: .act("read-drawings", inDevelopment: .sessionsClient))),
        Route(
            "console/api/sessions/{id}/history",
            .get(
                NavigationHandler.readHistory, query: .only(["limit", "before"]), for: .act("read-history"))),
        Route(
            "console/api/sessions/{id}/history/{version}",
            .get(NavigationHandler.readVersion, for: .act("read-version"))),
        Route("console/{file}", .get(NavigationHandler.sendConsoleFile, query: .ignored)),
    ]
}

// The console: its files, the requests that it makes without a token, and those that it makes with the operator's.
extension NavigationHandler {
    func sendConsolePage(_ request: HTTPRequest) -> HTTPResponse {
        ConsoleFiles.page(depth: request.target.segments.count).response(to: request)
    }

    /// The page of a development server, which says what runs there and what to do with it.
    func sendStartPage(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard try requireConsole().settings.isDevelopment, basePath.isEmpty else { throw .unknownPath }
        return sendConsolePage(request)
    }

    func sendConsoleFile(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        guard let file = ConsoleFiles.all[request.target.segments[1]] else { throw .unknownPath }
        return file.response(to: request)
    }

    func describeConsole(_ request: HTTPRequest) throws(Problem) -> HTTPResponse {
        let console = try requireConsole()
        return .json { writer in
            writer.member("development", console.settings.isDevelopment)
            writer.member("operator", console.settings.operators != nil)
            writer.member("server", console.settings.server)
        }
    }

    func sendMap(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let console = try requireConsole()
        let app = request.target.segments[3]
        guard host.apps.contains(where: { $0.name == app }), let map = await console.map(of: app) else {
            throw .unknownPath
        }
        return .json(Array(map.utf8), status: 200)
    }

    /// - Throws: an unknown path if there is no console.
    private func requireConsole() throws(Problem) -> Console {
        guard let console else { throw .unknownPath }
        return console
    }

    /// Whoever asks is an operator: each method of the console's API that reaches a session has a right.
    func sessionForOperator(_ id: String, _ request: HTTPRequest) async throws(SessionError) -> AuthorizedSession {
        guard let id = SessionID(id) else { throw .unknownSession }
        let (token, operators) = (request.headers.bearerToken, console?.settings.operators)
        return try await host.sessionForOperator(id) { token.flatMap { operators?.name(ofKey: $0) } != nil }
    }

    /// The state as each of the session's devices sees it. Only for operators, and in development: one device learns nothing of
    /// what another one is shown.
    func readDrawings(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        let drawings = try await translatingErrors { () async throws(SessionError) in
            try await sessionForOperator(request.name, request).drawings()
        }
        return .json { $0.member("drawings", objects: drawings) { $0.drawing($1, includesControls) } }
    }

    /// From a session's page. No service has a name with a space.
    func postSignalFromConsole(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await receiveSignal(request, from: "the console")
    }
}

// Who is an operator.
extension NavigationHandler {
    /// Carries out what is the operator's, and tells the audit log.
    func respond(
        to request: HTTPRequest, with right: OperatorRight, by action: Route.Action
    ) async throws(Problem) -> HTTPResponse {
        let console = try requireConsole()
        guard let name = try await operatorName(request, right, console) else { return try await action(self)(request) }
        do throws(Problem) {
            let response = try await action(self)(request)
            let ended = right.countsEnded ? NavigationHandler.ended(in: response) : nil
            audit(right.act, by: name, request, outcome: "done", ended: ended)
            return response
        } catch {
            audit(right.act, by: name, request, outcome: error.name)
            throw error
        }
    }

    /// - Returns: `nil` if whoever asks needs no key.
    private func operatorName(
        _ request: HTTPRequest, _ right: OperatorRight, _ console: Console
    ) async throws(Problem) -> String? {
        if console.settings.isDevelopment, right.inDevelopment == .everybody { return nil }
        guard let token = request.headers.bearerToken else { throw Problem(.unauthorized) }
        if console.settings.isDevelopment, right.inDevelopment == .sessionsClient, let id = SessionID(request.name) {
            do throws(SessionError) {
                _ = try await host.session(id, token: token)
                return nil
            } catch {
                guard case .unauthorized = error else { throw Problem(error) }
            }
        }
        switch console.caller(token, from: operatorAddress(of: request)) {
        case .named(let name): return name
        case .nobody:
            wrongOperatorTokens.wrappingAdd(1, ordering: .relaxed)
            let problem = Problem(.unauthorized)
            audit("wrong-token", by: nil, request, outcome: problem.name)
            throw problem
        case .unheard(let wait):
            throw .tooManyTries("Too many tokens were tried", of: "token", retryAfter: wait)
        }
    }

    /// On the admin port there is no proxy in between: whoever reaches it could write any address into the header.
    private func operatorAddress(of request: HTTPRequest) -> IPAddress? {
        request.client(behind: console?.settings.isPublic == true ? settings.proxies : [])
    }

    private static func ended(in response: HTTPResponse) -> Int? {
        guard case .bytes(let bytes) = response.body else { return nil }
        return try? JSON(parsing: bytes)["ended"]?.integer
    }

    /// - Parameter act: `nil` for what says nothing of a session, which is not audited.
    private func audit(
        _ act: StaticString?, by name: String?, _ request: HTTPRequest, outcome: String, ended: Int? = nil
    ) {
        guard let act else { return }
        let path = request.target.segments
        console?.settings.audit(
            AuditEntry(
                act: act.description, operatorName: name, session: Route.of(path)?.session(in: path),
                user: request.parameter("user"), app: request.parameter("app"), screen: request.parameter("screen"),
                ended: ended, address: operatorAddress(of: request), request: request.id, outcome: outcome))
    }
}

// What operators do.
extension NavigationHandler {
    /// How many sessions in memory are read for one answer; if there are more, a sample of them is.
    private static let (listedSize, countedSize) = (100_000, 10_000)

    func listSessions(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let console = try requireConsole()
        let limit = try request.integer("limit", in: 1...1000) ?? 50
        let known: [SessionState]?
        if let user = request.parameter("user") { known = try await states(ofUser: user) } else { known = nil }
        return await console.inTurn { [host] in
            let states = known ?? host.liveStates(limit: NavigationHandler.listedSize)
            let found = NavigationHandler.filtered(states, by: request, host).sorted { $0.id.text < $1.id.text }
            let page = found.prefix(limit)
            return .json { writer in
                writer.member("sessions", objects: page) { $0.overview(of: $1) }
                writer.member("next", ifAny: found.count > limit ? page.last?.id.text : nil)
                writer.member("sampled", known == nil && states.count < host.store.sessionCount)
            }
        }
    }

    private static func filtered(
        _ states: [SessionState], by request: HTTPRequest, _ host: SessionHost
    ) -> [SessionState] {
        let (app, screen) = (request.parameter("app"), request.parameter("screen"))
        let (version, after) = (request.parameter("version"), request.parameter("after") ?? "")
        return states.filter { state in
            (app == nil || state.app == app) && (screen == nil || state.navigation.visible?.screen.name == screen)
                && (version == nil || version == host.version(of: state.app).map(String.init)) && state.id.text > after
        }
    }

    func endSessionsOfUser(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        guard let user = request.parameter("user"), !user.isEmpty else {
            throw .malformed("user must name the user whose sessions are to end.")
        }
        let ended = try await translatingErrors { () async throws(SessionError) in
            try await host.endSessions(ofUser: user)
        }
        return .json { writer in writer.member("ended", ended) }
    }

    private func states(ofUser user: String) async throws(Problem) -> [SessionState] {
        try await translatingErrors { () async throws(SessionError) in
            var states: [SessionState] = []
            for found in try await host.sessions(ofUser: user, limit: 1000) {
                guard let id = SessionID(found.id) else { continue }
                // The session may have ended meanwhile.
                if let state = try? await host.sessionForOperator(id).state() { states.append(state) }
            }
            return states
        }
    }

    func describeServer(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let console = try requireConsole()
        return await console.inTurn { [host] in NavigationHandler.description(of: host, console) }
    }

    private static func description(of host: SessionHost, _ console: Console) -> HTTPResponse {
        let states = host.liveStates(limit: countedSize)
        let (store, condition) = (host.store, host.condition)
        return .json { writer in
            writer.member("server", console.settings.server)
            writer.member("uptimeSeconds", Int((ContinuousClock.now - console.start) / .seconds(1)))
            writer.name("store")
            writer.object { writer in
                writer.member("name", store.name)
                writer.member("condition", condition.failure ?? condition.remarks.first ?? "good")
            }
            writer.name("sessions")
            writer.object { writer in
                writer.member("total", store.sessionCount)
                writer.member("live", host.liveCount)
                writer.census(of: states, versions: host.version(of:))
                writer.member("sampled", states.count < store.sessionCount)
                writer.member("sample", states.count)
            }
            writer.name("rates")
            writer.object { writer in
                writer.member("eventsPerSecond", JSON.number(console.events.perSecond))
                writer.member("creationsPerSecond", JSON.number(console.creations.perSecond))
                writer.member("problemsPerSecond", JSON.number(console.problems.perSecond))
            }
            writer.member("watchers", host.watcherCount)
            writer.member("slowest", objects: host.timings?.slowest(20) ?? []) { $0.timing($1) }
        }
    }
}

/// The page's files, compiled in.
enum ConsoleFiles {
    static let all = Dictionary(
        uniqueKeysWithValues: [
            "console.css", "devices.js", "dom.js", "form.js", "history.js", "json.js", "main.js", "map.js", "phone.js",
            "server.js", "session.js", "state.js", "tree.js",
        ].map {
            (
                $0,
                Document(
                    file: "Console/\($0)", type: $0.hasSuffix(".css") ? "text/css; charset=utf-8" : Document.script)
            )
        })

    /// - Parameter depth: the number of segments in the request's path, which the page's links are relative to.
    static func page(depth: Int) -> Document { pages[min(max(depth, 1), pages.count) - 1] }

    private static let pages = ["console/", "./", "../"].map { base in
        let text = StaticBytes(file: "Console/console.html").text
            .replacing(#"<base href="./">"#, with: #"<base href="\#(base)">"#)
        return Document(
            Array(text.utf8), type: "text/html; charset=utf-8",
            more: ["Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"])
    }

    /// Allows nothing from other origins, nothing inline, and no embedding in frames.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'self'; form-action 'none'; frame-ancestors 'none'
        """
}

// What the operator sees of sessions and handlers.
extension JSONWriter {
    mutating func overview(of state: SessionState) {
        member("id", state.id.text)
        member("app", state.app)
        member("version", state.version)
        member("screen", ifAny: state.navigation.visible?.screen.name)
        member("createdAt", Timestamp.text(of: state.identity.createdAt))
        member("usedAt", Timestamp.text(of: state.usedAt))
        member("expiresAt", Timestamp.text(of: state.expiresAt))
        member("user", ifAny: state.identity.user)
    }

    mutating func drawing(_ drawing: Drawing, _ includesControls: Bool) {
        member("devices", objects: drawing.devices) { writer, device in
            writer.member("number", device.number)
            writer.member("label", ifAny: device.label)
            writer.member("role", ifAny: device.role?.name)
            writer.member("client", device.client.values)
        }
        switch drawing.state {
        case .success(let state): member("state", StateBody(state: state, includesControls: includesControls))
        case .failure(let error): problem(Problem(error))
        }
    }

    mutating func timing(_ entry: HandlerTimings.Entry) {
        func rounded(_ milliseconds: Double) -> JSON { .number((milliseconds * 100).rounded() / 100) }
        member("app", entry.app)
        member("event", entry.event)
        member("count", entry.count)
        member("p50Ms", rounded(entry.percentile(0.5)))
        member("p99Ms", rounded(entry.percentile(0.99)))
        member("maxMs", rounded(entry.longest))
    }

    /// How many sessions there are of each app, on each screen, and of each age.
    mutating func census(of states: [SessionState], versions: (String) -> Int?) {
        let byApp = Dictionary(grouping: states, by: \.app).sorted { $0.key < $1.key }
        member("byApp", objects: byApp) { writer, group in
            let (app, states) = group
            writer.member("app", app)
            writer.member("count", states.count)
            let byScreen = Dictionary(grouping: states) { $0.navigation.visible?.screen.name ?? "" }
                .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
            writer.member("screens", objects: byScreen) { writer, group in
                writer.member("screen", group.key)
                writer.member("count", group.value.count)
            }
            // Sessions in memory have been brought to the app's version.
            writer.member("versions", objects: [versions(app) ?? 1]) { writer, version in
                writer.member("version", version)
                writer.member("count", states.count)
            }
        }
        let now = Date()
        let ages = states.map { now.timeIntervalSince($0.usedAt) }
        var least = -Double.infinity
        member("ages", objects: [60, 600, 3600, 86_400, 30 * 86_400]) { writer, limit in
            writer.member("upTo", limit)
            writer.member("count", ages.count { $0 > least && $0 <= Double(limit) })
            least = Double(limit)
        }
    }
}
#else
internal import MicroHTTP
internal import Sessions

// The small server has no console.
extension Route { static let console: [Route] = [] }

extension NavigationHandler {
    func sessionForOperator(_ id: String, _ request: HTTPRequest) async throws(SessionError) -> AuthorizedSession {
        throw .unauthorized
    }

    func respond(
        to request: HTTPRequest, with right: OperatorRight, by action: Route.Action
    ) async throws(Problem) -> HTTPResponse {
        throw .unknownPath
    }
}
#endif
