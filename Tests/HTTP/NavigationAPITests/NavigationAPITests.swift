import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Synchronization
import Testing
import TestSupport

/// Counts, fails and waits, as tests of the API need it.
struct CounterCoordinator: Coordinator {
    var count = 0

    enum Event: NavigationEvent {
        case add(Int)
        case rename(title: String)
        case nothing, fail, ask, stall
        static let examples: [Event] = [.add(1), .rename(title: "x"), .nothing, .fail, .ask, .stall]
    }

    struct Failure: Error {}

    func start(_ navigator: inout Navigator) { navigator.push(Screen("counter", params: ["secret": "canary"])) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .add(let number):
            let (sum, overflow) = count.addingReportingOverflow(number)
            guard !overflow else { throw Failure() }
            count = sum
            navigator.push(Screen("counter"))
        case .rename, .nothing: break
        case .fail: throw Failure()
        case .ask: navigator.alert(Alert("Sure?"))
        case .stall:
            try navigator.resolve(Stalls.self).count.add(1, ordering: .relaxed)
            try await Task.sleep(for: .seconds(3600))
        }
    }
}

/// The calls of a coordinator that will not end.
final class Stalls: Sendable {
    let count = Atomic(0)
}

/// A clock that stands still until a test moves it. It begins between two seconds.
final class TestClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down) + 0.75))

    var read: @Sendable () -> Date { { self.time.withLock { $0 } } }

    func advance(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// The clock of a stop: no time passes while it is held, and an hour when it is released.
private final class StopClock: Sendable {
    private let start = ContinuousClock.now
    let isHeld = Atomic(true)

    var now: ContinuousClock.Instant { isHeld.load(ordering: .relaxed) ? start : .now + .seconds(3600) }
}

/// The deadlines of a server's handlers: an hour, unless a test lets them pass.
final class Deadlines: Sendable {
    private let pending = Mutex<[@Sendable () -> Void]>([])

    /// How many calls have suspended since `pass`.
    var count: Int { pending.withLock { $0.count } }

    func add(_ pass: @escaping @Sendable () -> Void) { pending.withLock { $0.append(pass) } }

    /// Ends the calls that have not ended yet.
    func pass() {
        let all = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        for pass in all { pass() }
    }
}

extension HTTPServer.Settings {
    /// Any free port, and limits that no client exceeds, however slow the machine is.
    static var unhurried: HTTPServer.Settings {
        var settings = HTTPServer.Settings()
        settings.port = 0
        settings.idleTimeout = 3600
        (settings.limits.head, settings.limits.body, settings.limits.sending) = (3_600_000, 3_600_000, 3_600_000)
        return settings
    }
}

/// A server of its own, and one session on it. No limit in time is reached, however slow the machine is.
struct Client {
    let server: HTTPServer
    let host: SessionHost
    let handler: NavigationHandler
    let connection: Connection
    let clock = TestClock()
    let deadlines = Deadlines()
    let stalls: Stalls
    var id: String
    var token: String

    init(
        _ app: App? = nil, handler: NavigationHandler.Settings = .init(),
        origins: Set<String> = [], store: any SessionStore = MemoryStore(), retention: Retention = Retention(),
        reports: ServerFailureTests.Reports? = nil, basePath: String? = nil,
        receivingLimit: Int = 32 << 20, _ adjust: (inout SessionSettings) -> Void = { _ in }
    ) async throws {
        let stalls = Stalls()
        self.stalls = stalls
        var dependencies = Dependencies()
        dependencies.register(Stalls.self) { _ in stalls }
        let app = app ?? App("counter", root: { CounterCoordinator() }, dependencies: dependencies)
        var sessions = SessionSettings()
        sessions.handlerDeadline = .seconds(3600)
        sessions.effectDeadline = .seconds(3600)
        sessions.observeDeadline = { [deadlines] in deadlines.add($0) }
        sessions.waitingLimit = 1
        adjust(&sessions)
        var settings = HTTPServer.Settings.unhurried
        settings.limits.quiet = 500
        settings.receivingLimit = receivingLimit
        var handler = handler
        handler.now = clock.read
        handler.longestWait = 3600
        handler.basePath = basePath.flatMap(BasePath.init)
        settings.basePath = handler.basePath?.segments ?? []
        host = SessionHost(apps: [app], store: store, settings: sessions, retention: retention, now: clock.read)
        let navigation = NavigationHandler(host: host, settings: handler) { reports?.add($0) }
        self.handler = navigation
        var links = RequestChain.Links()
        links.origins = origins
        server = try HTTPServer(settings, handler: RequestChain.around(navigation, links))
        connection = try Connection(port: server.port)
        let created = try await connection.request("POST", "/v1/sessions")
        let body = try JSON(parsing: Array(created.body))
        id = try #require(body["session"]?["id"]?.string)
        token = try #require(body["token"]?.string)
    }

    var path: String { "/v1/sessions/\(id)" }

    func call(_ method: String, _ path: String, token: String? = nil, headers: [String: String] = [:]) async throws
        -> Answer
    {
        let authorization = ["Authorization": "Bearer \(token ?? self.token)"]
        return try await connection.request(method, path, headers: headers.merging(authorization) { $1 })
    }

    func post(_ body: Data, token: String? = nil, type: String? = "application/json") async throws -> Answer {
        var headers = ["Authorization": "Bearer \(token ?? self.token)"]
        headers["Content-Type"] = type
        return try await connection.request("POST", "\(path)/events", headers: headers, body: body)
    }

    func post(_ body: String) async throws -> Answer { try await post(Data(body.utf8)) }

    func version() async throws -> Int? {
        try JSON(parsing: Array(try await call("GET", path).body))["session"]?["version"]?.integer
    }

    /// Posts an event whose handler does not end, and lets its deadline pass once the handler has begun.
    func postLate() async throws -> Answer {
        let before = stalls.count.load(ordering: .relaxed)
        return try await late {
            try await post(Client.stall)
        } once: {
            stalls.count.load(ordering: .relaxed) > before
        }
    }

    static let stall = #"{"type":"stall"}"#

    /// Sends a request whose answer needs a call that does not end, and lets the call's deadline pass.
    ///
    /// - Parameter hasBegun: whether the call has begun.
    func late(
        _ request: @escaping @Sendable () async throws -> Answer, once hasBegun: () -> Bool = { true }
    ) async throws -> Answer {
        // Of earlier calls, which have ended.
        deadlines.pass()
        async let answer = request()
        try await eventually { deadlines.count > 0 && hasBegun() }
        deadlines.pass()
        return try await answer
    }

    /// Stops the server while a handler does not end.
    ///
    /// - Returns: the answer to the event that was sent.
    func answerAtStop() async throws -> Answer {
        try await eventually { stalls.count.load(ordering: .relaxed) == 1 }
        let clock = StopClock()
        async let end: Void = server.stop(within: .zero) { clock.now }
        let answer = try await connection.receive()
        clock.isHeld.store(false, ordering: .relaxed)
        await end
        return answer
    }

    /// Lets every deadline pass, until the task is cancelled.
    func passDeadlines() -> Task<Void, any Error> {
        Task {
            while true {
                deadlines.pass()
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Expects that problem as the answer, that version of the session, and a connection that still works.
    func expect(
        _ answer: Answer, _ status: Int, _ name: String, version: Int = 1,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        try answer.expect(status, name, at: location)
        #expect(try await self.version() == version, sourceLocation: location)
    }
}

extension Answer {
    /// Expects that the answer is that problem.
    func expect(_ status: Int, _ name: String, at location: SourceLocation = #_sourceLocation) throws {
        let body = try JSON(parsing: Array(self.body))
        #expect(self.status == status, sourceLocation: location)
        #expect(headers["content-type"] == "application/problem+json", sourceLocation: location)
        #expect(body["type"] == .string("urn:coordinatord:problem:\(name)"), sourceLocation: location)
        #expect(body["status"] == .integer(status), sourceLocation: location)
        #expect(
            body["title"]?.string?.isEmpty == false && body["detail"]?.string?.isEmpty == false,
            sourceLocation: location)
    }
}

@Suite struct BadInputTests {
    static let nested33 = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)

    @Test(arguments: [
        (#"{"type":"#, "invalid-json"), ("", "invalid-json"), ("not JSON", "invalid-json"),
        (#"{"type":"nothing"} x"#, "invalid-json"), (#"{"type":"nothing","type":"fail"}"#, "invalid-json"),
        (#"{"type":"add","payload":\#(nested33)}"#, "invalid-json"), (#"{"type":"\ud800"}"#, "invalid-json"),
        ("[]", "invalid-request"), ("7", "invalid-request"), ("{}", "invalid-request"),
        (#"{"type":7}"#, "invalid-request"), (#"{"type":"nothing","screen":7}"#, "invalid-request"),
        (#"{"type":"nothing","paylaod":7}"#, "invalid-request"),
    ])
    func `a body that is no event is a bad request`(body: String, problem: String) async throws {
        let client = try await Client()

        try await client.expect(try await client.post(body), 400, problem)
    }

    @Test func `bad UTF-8 is a bad request`() async throws {
        let client = try await Client()
        let body = Data(#"{"type":""#.utf8) + [0xC3, 0x28] + Data(#""}"#.utf8)

        try await client.expect(try await client.post(body), 400, "invalid-json")
    }

    @Test(arguments: [
        (#"{"type":"add","payload":"x"}"#, "/payload"), (#"{"type":"add"}"#, "/payload"),
        (#"{"type":"add","payload":1.5}"#, "/payload"), (#"{"type":"nothing","payload":1}"#, "/payload"),
        (#"{"type":"rename","payload":{"title":7}}"#, "/payload/title"),
        (#"{"type":"rename","payload":{}}"#, "/payload/title"),
    ])
    func `a payload that does not fit is refused with a pointer`(body: String, pointer: String) async throws {
        let client = try await Client()

        let answer = try await client.post(body)

        try await client.expect(answer, 422, "invalid-event")
        let body = try JSON(parsing: Array(answer.body))
        #expect(body["pointer"] == .string(pointer) && body["errors"]?.array?.count == 1)
        #expect(body["errors"]?.array?.first?["pointer"] == .string(pointer))
    }

    @Test func `an event that is not accepted now is refused with the state`() async throws {
        let client = try await Client()

        let answer = try await client.post(#"{"type":"selectTab","payload":{"index":0}}"#)

        try await client.expect(answer, 409, "event-not-accepted")
        let body = try JSON(parsing: Array(answer.body))
        #expect(body["events"] == ["add", "rename", "nothing", "fail", "ask", "stall", "relaunch", "describeClient"])
        #expect(body["state"]?["events"] == body["events"])
    }

    @Test func `an event that the app does not have is distinguished from one that is not accepted now`() async throws {
        let client = try await Client()

        let answer = try await client.post(#"{"type":"unheard of"}"#)

        try await client.expect(answer, 422, "unknown-event")
        #expect(try JSON(parsing: Array(answer.body))["pointer"] == "/type")
    }

    @Test func `null for an optional member is as if it were left out`() async throws {
        let client = try await Client()

        let created = try await client.create(
            #"{"app":null,"link":null,"client":null,"forkOf":null,"version":null}"#, [:])
        let posted = try await client.post(#"{"type":"nothing","payload":null,"screen":null}"#)

        #expect(created.status == 201 && posted.status == 200)
        try await client.expect(try await client.post(#"{"type":null}"#), 400, "invalid-request")
        try await client.expect(try await client.post(#"{"type":"nothing","unknown":null}"#), 400, "invalid-request")
    }

    @Test func `each problem has the id of its request`() async throws {
        let client = try await Client()

        let answer = try await client.call("GET", "/nowhere", headers: ["X-Request-Id": "mine-1"])
        let other = try await client.call("GET", "/nowhere")

        #expect(try JSON(parsing: Array(answer.body))["requestId"] == "mine-1")
        #expect(try JSON(parsing: Array(other.body))["requestId"]?.string == other.headers["x-request-id"])
    }

    @Test func `back without anything to go back to, and a stale screen, are refused with the state`() async throws {
        let client = try await Client()
        let back = try await client.post(#"{"type":"back"}"#)
        try await client.expect(back, 409, "nothing-to-go-back")
        #expect(try JSON(parsing: Array(back.body))["state"]?["session"]?["version"] == 1)

        let stale = try await client.post(#"{"type":"nothing","screen":"k9"}"#)

        try await client.expect(stale, 409, "stale-screen")
        #expect(try JSON(parsing: Array(stale.body))["state"]?["session"]?["version"] == 1)
    }

    @Test func `a body of 65 KiB is too large, and the connection stays open`() async throws {
        let client = try await Client()

        try await client.expect(try await client.post(Data(count: 65 * 1024)), 413, "content-too-large")
    }

    @Test(arguments: [nil, "text/plain", "application/jsonx", "application/x-www-form-urlencoded"])
    func `a body must say that it is JSON`(type: String?) async throws {
        let client = try await Client()

        try await client.expect(
            try await client.post(Data(#"{"type":"nothing"}"#.utf8), type: type), 415, "not-json-type")
    }

    @Test func `a page in a browser cannot make sessions unless it may ask for JSON`() async throws {
        let client = try await Client()
        let origin = ["Origin": "https://elsewhere.example"]
        func create(_ headers: [String: String]) async throws -> Answer {
            try await client.connection.request("POST", "/v1/sessions", headers: headers)
        }

        try await client.expect(try await create(origin), 415, "not-json-type")
        try await client.expect(try await create(["Origin": "null"]), 415, "not-json-type")
        #expect(try await create(origin.merging(["Content-Type": "application/json"]) { $1 }).status == 201)
        #expect(try await create([:]).status == 201)
    }

    @Test func `a body with a coding is refused as such`() async throws {
        let client = try await Client()
        let headers = [
            "Authorization": "Bearer \(client.token)", "Content-Type": "application/json", "Content-Encoding": "gzip",
        ]

        let answer = try await client.connection.request(
            "POST", "\(client.path)/events", headers: headers, body: Data([0x1F, 0x8B, 8]))

        try await client.expect(answer, 415, "not-json-type")
        #expect(answer.headers["accept-encoding"] == "identity" && answer.text.contains("Content-Encoding"))
    }

    @Test(arguments: ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"])
    func `JSON may have parameters`(type: String) async throws {
        let client = try await Client()

        #expect(try await client.post(Data(#"{"type":"nothing"}"#.utf8), type: type).status == 200)
    }

    @Test func `an event without a length, or in chunks, is refused`() async throws {
        let client = try await Client()
        let head =
            "POST \(client.path)/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(client.token)\r\nContent-Type: application/json\r\n"

        try await client.connection.send("\(head)\r\n")
        try await client.expect(try await client.connection.receive(), 411, "length-required")

        let chunked = try Connection(port: client.server.port)
        try await chunked.send("\(head)Transfer-Encoding: chunked\r\n\r\n")
        try await client.expect(try await chunked.receive(), 411, "length-required")
        #expect(try await chunked.isClosed())
    }

    @Test(arguments: [
        ("DELETE", "/v1/sessions", "POST, OPTIONS"), ("PUT", "/v1/sessions/x", "GET, HEAD, DELETE, OPTIONS"),
        ("GET", "/v1/sessions/x/events", "POST, OPTIONS"),
        ("POST", "/v1/sessions/x/coordinators", "GET, HEAD, OPTIONS"), ("POST", "/livez", "GET, HEAD, OPTIONS"),
    ])
    func `a wrong method is refused with the right ones`(method: String, path: String, allow: String) async throws {
        let client = try await Client()

        let answer = try await client.call(method, path)

        try await client.expect(answer, 405, "method-not-allowed")
        #expect(answer.headers["allow"] == allow)
    }

    @Test(arguments: [
        "/", "/v1", "/v2/sessions", "/v1/sessions/x/y", "/v1/sessions/x/events/y", "/livez/x", "/V1/apps", "/v1//apps",
        "//v1/apps", "//", "/v1/apps/", "/v1/sessions/", "/v1/sessions//", "/v1/sessions//events", "/livez/",
        "/problems/", "/v1/sessions/x/history/", "/*",
    ])
    func `an unknown path is not found`(path: String) async throws {
        let client = try await Client()

        try await client.expect(try await client.call("GET", path), 404, "unknown-path")
    }

    @Test(arguments: ["/v1/%00", "/v1%2Fapps", "/v1/../apps", "/v1/./apps", "/v1/%2e%2e/apps", "/v1//../apps", "*"])
    func `a target that could be read in two ways is refused`(path: String) async throws {
        let client = try await Client()

        try await client.expect(try await client.call("GET", path), 400, "invalid-target")
    }

    @Test(arguments: [
        ("/v1/sessions/x", "GET, HEAD, DELETE, OPTIONS"), ("/v1/sessions?x=y", "POST, OPTIONS"),
        ("*", "DELETE, GET, HEAD, OPTIONS, POST"),
    ])
    func `OPTIONS lists the methods`(target: String, allow: String) async throws {
        let client = try await Client()

        let answer = try await client.connection.request("OPTIONS", target)

        #expect(answer.status == 204 && answer.headers["allow"] == allow)
        #expect(answer.headers["content-length"] == nil && answer.headers["date"] != nil)
        try await client.connection.request("OPTIONS", "/v1/none").expect(404, "unknown-path")
    }

    @Test func `an unknown app is not found`() async throws {
        let client = try await Client()
        let json = ["Content-Type": "application/json"]

        let creation = try await client.connection.request(
            "POST", "/v1/sessions", headers: json, body: Data(#"{"app":"x"}"#.utf8))

        try await client.expect(creation, 404, "unknown-app")
        try await client.expect(try await client.call("GET", "/v1/apps/x"), 404, "unknown-app")
    }

    @Test func `an unknown expectation is refused`() async throws {
        let client = try await Client()
        let connection = try Connection(port: client.server.port)

        try await connection.send(
            "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n")

        try await client.expect(try await connection.receive(), 417, "expectation-failed")
    }
}

@Suite struct RightTests {
    @Test func `every request without a valid token gets the same answer`() async throws {
        let client = try await Client()
        let other = try await Client()
        let ended = try await client.connection.request("POST", "/v1/sessions")
        let endedBody = try JSON(parsing: Array(ended.body))
        let endedPath = "/v1/sessions/\(try #require(endedBody["session"]?["id"]?.string))"
        let endedToken = try #require(endedBody["token"]?.string)
        #expect(try await client.call("DELETE", endedPath, token: endedToken).status == 204)

        var answers = [
            try await client.connection.request("GET", client.path),
            try await client.connection.request(
                "GET", client.path, headers: ["Authorization": "Basic \(client.token)"]),
            try await client.connection.request("GET", client.path, headers: ["Authorization": "Bearer"]),
            try await client.connection.request("GET", client.path, headers: ["Authorization": client.token]),
            try await client.call("GET", client.path, token: ""),
            try await client.call("GET", client.path, token: "wrong"),
            try await client.call("GET", client.path, token: other.token),
            try await client.call("GET", client.path, token: client.token + " " + client.token),
            try await client.call("GET", "/v1/sessions/s_0000000000000"),
            try await client.call("GET", "/v1/sessions/no-such-form"),
            try await client.call("GET", endedPath),
            try await client.call("GET", "\(client.path)/coordinators", token: "wrong"),
            try await client.call("DELETE", client.path, token: "wrong"),
            try await client.post(Data("not even JSON".utf8), token: "wrong", type: nil),
        ]
        try await client.connection.send(
            "GET \(client.path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nAuthorization: Bearer \(client.token)\r\n\r\n"
        )
        answers.append(try await client.connection.receive())

        for answer in answers {
            try await client.expect(answer, 401, "unauthorized")
            #expect(try answer.withoutRequestID() == answers[0].withoutRequestID())
            #expect(answer.headers["www-authenticate"] == "Bearer")
        }
    }

    @Test func `an ended session is reported to its owner as ended`() async throws {
        let client = try await Client()
        #expect(try await client.call("DELETE", client.path).status == 204)

        for (method, path) in [("GET", client.path), ("DELETE", client.path), ("GET", "\(client.path)/coordinators")] {
            let answer = try await client.call(method, path)
            #expect(answer.status == 410)
            #expect(answer.text.contains("urn:coordinatord:problem:session-ended"))
        }
        #expect(try await client.post(#"{"type":"nothing"}"#).status == 410)
    }

    @Test func `the case of the authorization scheme does not matter, nor how many spaces follow it`() async throws {
        let client = try await Client()

        #expect(
            try await client.connection.request(
                "GET", client.path, headers: ["authorization": "bearer  \(client.token)"]
            ).status == 200)
    }
}

@Suite struct AnswerTests {
    @Test func `the answer to a creation contains the location of the session`() async throws {
        let client = try await Client()
        let json = ["Content-Type": "application/json"]

        for body in [nil, Data(), Data("{}".utf8), Data(#"{"app":"counter"}"#.utf8)] {
            let answer = try await client.connection.request(
                "POST", "/v1/sessions", headers: body?.isEmpty == false ? json : [:], body: body)
            let state = try JSON(parsing: Array(answer.body))
            #expect(answer.status == 201)
            #expect(answer.headers["etag"] == "\"1\"")
            #expect(answer.headers["location"] == "/v1/sessions/\(state["session"]?["id"]?.string ?? "")")
            #expect(answer.headers["cache-control"] == "no-store, no-transform")
            #expect(state["token"]?.string?.utf8.count == 43)
            #expect(state["transition"]?["operations"] == [["op": "push", "key": "k1", "stack": "main"]])
        }
    }

    @Test func `an unchanged state need not be sent again`() async throws {
        let client = try await Client()
        _ = try await client.post(#"{"type":"add","payload":1}"#)

        let first = try await client.call("GET", client.path)
        #expect(first.headers["etag"] == "\"2\"")
        for tag in ["\"2\"", "W/\"2\"", "*", "\"1\", \"2\""] {
            let again = try await client.call("GET", client.path, headers: ["If-None-Match": tag])
            #expect(again.status == 304)
            #expect(again.headers["etag"] == "\"2\"")
            #expect(again.headers["content-length"] == nil && again.headers["transfer-encoding"] == nil)
        }
        #expect(try await client.call("GET", client.path, headers: ["If-None-Match": "\"1\""]).status == 200)
    }

    @Test func `an answer contains the whole state`() async throws {
        let client = try await Client()
        _ = try await client.post(#"{"type":"add","payload":1}"#)

        let answer = try await client.post(#"{"type":"ask"}"#)

        var state = try JSON(parsing: Array(answer.body))
        let session = try #require(state["session"])
        #expect(session["id"] == .string(client.id))
        #expect(session["version"] == 3)
        #expect(session["expiresAt"]?.string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        state = .object(
            JSONObject(try #require(state.object).members.filter { $0.name != "session" }.map { ($0.name, $0.value) }))
        #expect(
            state == [
                "visible": ["key": "k2", "name": "counter", "coordinator": "counter"],
                "stack": [
                    ["key": "k1", "name": "counter", "params": ["secret": "canary"], "coordinator": "counter"],
                    ["key": "k2", "name": "counter", "coordinator": "counter"],
                ],
                "alert": ["key": "a3", "title": "Sure?", "buttons": [["id": "ok", "title": "OK", "role": "cancel"]]],
                "back": ["effect": "dismissAlert"], "events": ["back", "answer"],
                "transition": [
                    "event": "ask", "cause": "event", "operations": [["op": "alert", "key": "a3"]], "finished": [],
                    "dismissed": [],
                ],
            ])
    }

    @Test func `a failed handler is reported with the coordinator and the call, without the error or the request`()
        async throws
    {
        let client = try await Client()

        let answer = try await client.post(#"{"type":"fail"}"#)

        try await client.expect(answer, 500, "handler-failed")
        #expect(answer.text.contains("“counter”: handle(fail) threw an error; the server's log contains it."))
        #expect(!answer.text.contains("Failure"))
    }

    @Test func `a handler that does not end is cut off, and the next event has its turn`() async throws {
        let client = try await Client()

        try await client.expect(try await client.postLate(), 504, "handler-deadline")
        try await client.expect(try await client.postLate(), 504, "handler-deadline")

        #expect(try await client.post(#"{"type":"add","payload":1}"#).status == 200)
    }

    @Test func `few requests may wait behind a handler that does not end`() async throws {
        let client = try await Client()
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        let connections = try (1...3).map { _ in try Connection(port: client.server.port) }

        try await withThrowingTaskGroup(of: Answer.self) { group in
            for connection in connections {
                group.addTask {
                    try await connection.request(
                        "POST", "\(client.path)/events", headers: headers, body: Data(Client.stall.utf8))
                }
            }
            // One is being carried out, one waits, and there is no room for the third.
            let first = try await group.next()
            let refused = try #require(first)
            #expect(refused.headers["retry-after"] == "1")
            try await client.expect(refused, 429, "too-many-waiting")

            let passing = client.passDeadlines()
            defer { passing.cancel() }
            while let answer = try await group.next() { try answer.expect(504, "handler-deadline") }
        }
    }

    @Test func `the living coordinators, the apps and the API description can be read`() async throws {
        let client = try await Client()

        #expect(
            try await client.call("GET", "\(client.path)/coordinators").text
                == #"{"count":1,"tree":{"name":"counter","screens":["k1"]}}"#)
        #expect(
            try await client.call("GET", "/v1/apps").text == #"{"defaultApp":"counter","apps":[{"name":"counter"}]}"#)
        let app = try JSON(parsing: Array(try await client.call("GET", "/v1/apps/counter").body))
        #expect(
            app["coordinators"]?.array?[0]["events"]?.array?[0] == [
                "type": "add", "title": "Add", "schema": ["type": "integer"], "example": ["type": "add", "payload": 1],
            ])
        #expect(app["version"] == 1 && app["links"] == [] && app["origins"] == nil)
        #expect(
            app["builtInEvents"]?.array?.map { $0["type"]?.string }
                == [
                    "back", "backTo", "backToRoot", "selectTab", "dismiss", "answer", "open", "relaunch",
                    "describeClient",
                ])
        let description = try await client.call("GET", "/openapi.yaml")
        #expect(description.headers["content-type"] == "application/yaml")
        #expect(description.body == (try Data(contentsOf: repository.appending(path: "openapi.yaml"))))
    }

    @Test func `the server is alive, and ready until it drains`() async throws {
        let client = try await Client()

        #expect(try await client.call("GET", "/livez").text == #"{"status":"alive"}"#)
        #expect(try await client.call("GET", "/readyz").text == #"{"status":"ready","store":"memory"}"#)
        #expect(try await client.call("HEAD", "/readyz").status == 200)

        let handler = NavigationHandler(host: SessionHost(apps: [], store: MemoryStore()))
        handler.beginDraining()
        let request = HTTPRequest(method: "GET", target: try #require(HTTPTarget("/readyz")))
        let answer = await handler.respond(to: request)
        #expect(answer.status == 503)
        #expect(String(decoding: answer.bytes, as: UTF8.self).contains("urn:coordinatord:problem:draining"))
    }
}

extension HTTPResponse {
    /// The body; empty if it is a stream.
    var bytes: [UInt8] {
        if case .bytes(let bytes) = body { bytes } else { [] }
    }
}
