import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import Sessions
import Synchronization
import TestSupport
import Testing

@testable import NavigationAPI

/// The page for people: who may see what. What it shows is tested in a browser, see `scripts/test-console`.
@Suite(.enabled(if: isComplete)) struct ConsoleTests {
    private static let token = "the operator's token of this test"

    private static func client(
        _ app: App? = nil, isDevelopment: Bool = false, isPublic: Bool = true, _ audit: AuditEntries? = nil,
        operators: any NamedKeys = KeyTable([token: "bob", "another token of this test": "eve"])
    ) async throws -> Client {
        var settings = NavigationHandler.Settings()
        settings.proxies = [IPNetwork("127.0.0.0/8")].compactMap(\.self)
        settings.console = ConsoleSettings(
            server: "test/1", isDevelopment: isDevelopment, isPublic: isPublic,
            operators: operators, audit: { audit?.add($0) },
            map: { $0 == "counter" && isDevelopment ? #"{"nodes":[]}"# : nil })
        return try await Client(app ?? App("counter", root: { CounterCoordinator() }), handler: settings) {
            $0.measuresHandlers = true
        }
    }

    private static func ask(_ client: Client, _ path: String, token: String = token) async throws -> JSON {
        let answer = try await client.call("GET", "/console/api/" + path, token: token)
        #expect(answer.status == 200)
        return try JSON(parsing: Array(answer.body))
    }

    @Test(arguments: [
        "/console", "/console/config", "/console/main.js", "/console/server", "/console/sessions/x", "/console/apps/x",
        "/console/api/server", "/console/api/sessions", "/console/api/sessions/x", "/console/api/apps/counter/map",
    ])
    func `without settings there is no console`(path: String) async throws {
        let client = try await Client()
        let answer = try await client.call("GET", path)
        try answer.expect(404, "unknown-path")
        #expect(try await client.call("GET", "/client.js").status == 200)
    }

    @Test(arguments: [
        ("/console", "console/"), ("/console/", "./"), ("/console/server", "./"), ("/console/sessions/s_x", "../"),
        ("/console/apps/counter", "../"),
    ])
    func `every page is the same, but for where its files are`(path: String, base: String) async throws {
        let client = try await ConsoleTests.client()
        let answer = try await client.connection.request("GET", path)
        #expect(answer.status == 200 && answer.headers["content-type"] == "text/html; charset=utf-8")
        #expect(answer.text.contains(#"<base href="\#(base)">"#))
        let policy = answer.headers["content-security-policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"))
    }

    @Test(arguments: [true, false])
    func `a development server has its page at the root, and no other does`(isDevelopment: Bool) async throws {
        let client = try await ConsoleTests.client(isDevelopment: isDevelopment)
        let answer = try await client.call("GET", "/")
        guard isDevelopment else { return try answer.expect(404, "unknown-path") }
        #expect(answer.status == 200 && answer.text.contains(#"<base href="console/">"#))
    }

    @Test func `the files are sent with their types, and no others`() async throws {
        let client = try await ConsoleTests.client()
        for file in try FileManager.default.contentsOfDirectory(
            atPath: repository.appending(path: "Sources/C/CFiles/Console").path)
        where file != "console.html" {
            let answer = try await client.connection.request("GET", "/console/\(file)")
            #expect(answer.status == 200, "\(file)")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(
                answer.headers["content-type"]?.hasPrefix(file.hasSuffix("css") ? "text/css" : "text/javascript")
                    == true)
        }
        for path in ["/console/console.html", "/console/x.js", "/console/a/b/c"] {
            #expect(try await client.connection.request("GET", path).status == 404, "\(path)")
        }
    }

    @Test func `the operator's token opens every session to look at, and to end`() async throws {
        let client = try await ConsoleTests.client()
        for token in [client.token, "wrong"] {
            for path in ["server", "sessions", "sessions/\(client.id)", "sessions/\(client.id)/updates"] {
                #expect(try await client.call("GET", "/console/api/\(path)", token: token).status == 401)
            }
        }
        #expect(try await client.call("GET", client.path, token: ConsoleTests.token).status == 401)

        #expect(try await ConsoleTests.ask(client, "sessions/\(client.id)")["session"]?["id"]?.string == client.id)
        #expect(try await ConsoleTests.ask(client, "sessions/\(client.id)/coordinators")["count"] == 1)
        #expect(try await ConsoleTests.ask(client, "sessions/\(client.id)/history")["history"] != nil)
        #expect(try await ConsoleTests.ask(client, "sessions/\(client.id)/history/1")["session"] != nil)
        let unknown = try await client.call("GET", "/console/api/sessions/s_0000000000000", token: ConsoleTests.token)
        try unknown.expect(404, "unknown-session")
        let posted = try await client.connection.request(
            "POST", "/console/api/sessions/\(client.id)/events",
            headers: ["Authorization": "Bearer \(ConsoleTests.token)", "Content-Type": "application/json"],
            body: Data(#"{"type":"add","payload":1}"#.utf8))
        #expect(posted.status == 404)

        let path = "/console/api/sessions/\(client.id)"
        #expect(try await client.call("DELETE", path, token: client.token).status == 401)
        #expect(try await client.call("DELETE", path, token: ConsoleTests.token).status == 204)
        #expect(try await client.call("GET", client.path).status == 410)
    }

    @Test func `a new token does not end what the operator watches`() async throws {
        let client = try await ConsoleTests.client(TokenRotationTests.app)
        let connection = try Connection(port: client.server.port)
        let headers = ["Authorization": "Bearer \(ConsoleTests.token)"]
        try await connection.send(
            Connection.bytes("GET", "/console/api/sessions/\(client.id)/updates", headers: headers))
        #expect(try await connection.receive(bodyless: true).status == 200)
        _ = try await client.post(TokenRotationTests.enter)
        var received = ""
        while !received.contains(#"id: "2""#) {
            received += String(decoding: try #require(try await connection.receiveChunk()), as: UTF8.self)
        }
        #expect(!received.contains("event: end") && !received.contains(#""token""#))
    }

    @Test(arguments: [true, false])
    func `what each device sees is the operator's to know, and in development the client's`(
        isDevelopment: Bool
    ) async throws {
        let client = try await ConsoleTests.client(DeviceRoleRequestTests.app, isDevelopment: isDevelopment)
        for role in ["guest", "board", "guest"] { _ = try await DeviceRoleRequestTests.token(role, in: client) }

        let path = "sessions/\(client.id)/drawings"
        let drawings = try #require(try await ConsoleTests.ask(client, path + "?include=controls")["drawings"]?.array)
        #expect(drawings.map { $0["devices"]?.array?.map { $0["number"] } } == [[1], [2, 4], [3]])
        #expect(drawings.map { $0["devices"]?.array?[0]["role"] } == ["owner", "guest", "board"])
        #expect(drawings[1]["devices"]?.array?[0]["client"]?["locale"] == "de")
        let events = drawings.map { Set($0["state"]?["events"]?.array?.compactMap(\.string) ?? []) }
        #expect(events[0].subtracting(events[1]) == ["unlock"] && events[2] == ["describeClient"])
        #expect(drawings.allSatisfy { $0["state"]?["controls"] != nil && $0["state"]?["token"] == nil })

        let own = try await client.call("GET", "/console/api/" + path, token: client.token)
        #expect(own.status == (isDevelopment ? 200 : 401))
        #expect(try await client.call("GET", "/console/api/" + path, token: "wrong").status == 401)
    }

    /// Keys that can be taken away.
    private final class RevocableKeys: NamedKeys {
        private let table = Mutex(KeyTable([token: "bob"]))
        func name(ofKey key: String) -> String? { table.withLock { $0 }.name(ofKey: key) }
        func revoke() { table.withLock { $0 = KeyTable() } }
    }

    @Test func `an operator whose token is taken away watches nothing any longer`() async throws {
        let keys = RevocableKeys()
        let client = try await ConsoleTests.client(operators: keys)
        let path = "/console/api/sessions/\(client.id)"
        let headers = ["Authorization": "Bearer \(ConsoleTests.token)"]
        let (stream, waiting) = (try Connection(port: client.server.port), try Connection(port: client.server.port))
        try await stream.send(Connection.bytes("GET", path + "/updates", headers: headers))
        #expect(try await stream.receive(bodyless: true).status == 200)
        try await waiting.send(
            Connection.bytes(
                "GET", path, headers: headers.merging(["If-None-Match": "\"1\"", "Prefer": "wait=3600"]) { $1 }))
        try await eventually { client.host.watcherCount == 2 }

        keys.revoke()
        _ = try await client.post(Data(#"{"type":"add","payload":1}"#.utf8))

        try await waiting.receive().expect(401, "token-revoked")
        var received = ""
        while !received.contains("event: end") {
            received += String(decoding: try #require(try await stream.receiveChunk()), as: UTF8.self)
        }
        #expect(received.contains("token-revoked") && !received.contains(#"id: "2""#))
    }

    @Test func `sessions are listed in pages, and found by what they show`() async throws {
        let client = try await ConsoleTests.client()
        for _ in 0..<6 { _ = try await client.connection.request("POST", "/v1/sessions") }
        var ids: [String] = []
        var after = ""
        for _ in 0..<4 {
            let page = try await ConsoleTests.ask(client, "sessions?limit=2\(after)")
            ids += page["sessions"]?.array?.compactMap { $0["id"]?.string } ?? []
            guard let next = page["next"]?.string else { break }
            after = "&after=\(next)"
        }
        #expect(ids.count == 7 && Set(ids).count == 7 && ids.contains(client.id))
        for (query, count) in [
            ("app=counter", 7), ("app=other", 0), ("screen=counter", 7), ("screen=x", 0), ("version=1", 7),
        ] {
            let found = try await ConsoleTests.ask(client, "sessions?\(query)")
            #expect(found["sessions"]?.array?.count == count, "\(query)")
        }
        let text = try await client.call("GET", "/console/api/sessions", token: ConsoleTests.token).text
        #expect(!text.contains(client.token) && !text.contains("canary"))
    }

    @Test func `the sessions of a user are listed, and ended together`() async throws {
        let client = try await ConsoleTests.client(App("member", root: { MemberCoordinator() }))
        _ = try await client.connection.request("POST", "/v1/sessions")
        _ = try await client.post(#"{"type":"enter"}"#)
        let found = try await ConsoleTests.ask(client, "sessions?user=ann")
        #expect(found["sessions"]?.array?.compactMap { $0["id"]?.string } == [client.id])
        #expect(found["sessions"]?.array?.first?["user"]?.string == "ann")

        let path = "/console/api/sessions"
        #expect(try await client.call("DELETE", path + "?user=ann", token: client.token).status == 401)
        for query in ["", "?user="] {
            #expect(try await client.call("DELETE", path + query, token: ConsoleTests.token).status == 400)
        }
        #expect(try await client.call("DELETE", path + "?user=bob", token: ConsoleTests.token).text == #"{"ended":0}"#)
        #expect(try await client.call("DELETE", path + "?user=ann", token: ConsoleTests.token).text == #"{"ended":1}"#)
        #expect(try await client.call("GET", client.path).status == 410)
    }

    @Test func `the server's figures`() async throws {
        let client = try await ConsoleTests.client()
        for _ in 0..<5 { _ = try await client.post(#"{"type":"add","payload":1}"#) }
        _ = try await client.post(#"{"type":"add","payload":"x"}"#)

        let figures = try await ConsoleTests.ask(client, "server")
        #expect(figures["server"]?.string == "test/1" && figures["store"]?["name"]?.string == "memory")
        #expect(figures["sessions"]?["total"]?.integer == 1)
        #expect(figures["sessions"]?["byApp"]?.array?.first?["screens"]?.array?.first?["screen"]?.string == "counter")
        let slowest = try #require(figures["slowest"]?.array?.first)
        #expect(slowest["event"]?.string == "add" && slowest["count"]?.integer ?? 0 >= 5)
        try await eventually {
            // Those of the last seconds count.
            _ = try await client.post(#"{"type":"add","payload":1}"#)
            _ = try await client.post(#"{"type":"add","payload":"x"}"#)
            let rates = try await ConsoleTests.ask(client, "server")["rates"]
            return rates?["eventsPerSecond"] != .number(0) && rates?["problemsPerSecond"] != .number(0)
        }
    }

    @Test func `only the apps that there are are explored`() async throws {
        let asked = Mutex<[String]>([])
        var settings = NavigationHandler.Settings()
        settings.console = ConsoleSettings(server: "test/1", isDevelopment: true, operators: nil) { app in
            asked.withLock { $0.append(app) }
            return "{}"
        }
        let client = try await Client(handler: settings)

        for number in 0..<100 {
            #expect(try await client.call("GET", "/console/api/apps/x\(number)/map").status == 404)
        }

        #expect(try await client.call("GET", "/console/api/apps/counter/map", token: "").status == 200)
        #expect(asked.withLock { $0 } == ["counter"])
    }

    @Test func `a map is drawn only for development`() async throws {
        let client = try await ConsoleTests.client(isDevelopment: true)
        #expect(try await client.call("GET", "/console/api/apps/counter/map", token: "").text == #"{"nodes":[]}"#)
        #expect(try await client.call("GET", "/console/api/apps/x/map").status == 404)
        let other = try await ConsoleTests.client()
        #expect(try await other.call("GET", "/console/api/apps/counter/map").status == 401)
        #expect(try await other.call("GET", "/console/api/apps/counter/map", token: ConsoleTests.token).status == 404)
    }
}

/// Who an operator is, how often a token may be tried, and what is written down.
@Suite(.enabled(if: isComplete)) struct OperatorKeyTests {
    private static let tokens = ["bob": "the token of bob in this test", "eve": "the token of eve in this test"]
    private static let path = "/console/api/sessions"

    private let client: Client
    private let entries = AuditEntries()

    init() async throws {
        client = try await OperatorKeyTests.client(entries)
    }

    private static func client(
        _ entries: AuditEntries, isPublic: Bool = true, _ tokens: [String: String] = OperatorKeyTests.tokens
    ) async throws -> Client {
        var settings = NavigationHandler.Settings()
        settings.proxies = [IPNetwork("127.0.0.0/8")].compactMap(\.self)
        settings.console = ConsoleSettings(
            server: "test/1", isDevelopment: false, isPublic: isPublic,
            operators: KeyTable(Dictionary(uniqueKeysWithValues: tokens.map { ($1, $0) })), audit: { entries.add($0) },
            map: { _ in nil })
        return try await Client(App("member", root: { MemberCoordinator() }), handler: settings)
    }

    private func ask(
        _ token: String?, from address: String = "192.0.2.1", _ method: String = "GET", _ path: String = path
    ) async throws -> Answer {
        try await client.call(
            method, path, token: token ?? OperatorKeyTests.tokens["bob"], headers: ["X-Forwarded-For": address])
    }

    @Test func `every act of an operator is one entry, with its name, address and outcome`() async throws {
        _ = try await client.post(#"{"type":"enter"}"#)
        let session = "/console/api/sessions/\(client.id)"
        let acts: [(act: String, method: String, path: String, outcome: String)] = [
            ("list-sessions", "GET", "/console/api/sessions?user=ann&app=member&screen=door", "done"),
            ("read-session", "GET", session, "done"), ("read-session", "HEAD", session, "done"),
            ("read-coordinators", "GET", session + "/coordinators", "done"),
            ("read-drawings", "GET", session + "/drawings", "done"),
            ("read-history", "GET", session + "/history", "done"),
            ("read-version", "GET", session + "/history/1", "done"),
            ("read-version", "GET", session + "/history/77", "unknown-version"),
            ("read-session", "GET", "/console/api/sessions/s_0000000000000", "unknown-session"),
            ("end-session", "DELETE", session, "done"), ("end-session", "DELETE", session, "session-ended"),
            ("end-sessions-of-user", "DELETE", "/console/api/sessions?user=ann", "done"),
            ("end-sessions-of-user", "DELETE", "/console/api/sessions", "invalid-request"),
        ]

        for (_, method, path, _) in acts { _ = try await ask(nil, method, path) }
        let answer = try await ask(OperatorKeyTests.tokens["eve"], from: "2001:db8::7", "GET", session)
        // The server's figures say nothing of anybody.
        #expect(try await ask(nil, "GET", "/console/api/server").status == 200)

        let all = entries.all
        #expect(all.map(\.act) == acts.map(\.act) + ["read-session"])
        #expect(all.map(\.outcome) == acts.map(\.outcome) + ["session-ended"])
        #expect(all.dropLast().allSatisfy { $0.operatorName == "bob" && $0.address?.text == "192.0.2.1" })
        #expect(all[0].user == "ann" && all[0].session == nil)
        #expect(all[0].app == "member" && all[0].screen == "door" && all[1].app == nil && all[1].screen == nil)
        #expect(all[1].user == nil && all[1].session?.text == client.id)
        #expect(all.last?.operatorName == "eve" && all.last?.address?.text == "2001:db8::7")
        #expect(all.last?.request.text == answer.headers["x-request-id"])
    }

    @Test func `the end of all sessions of a user is one entry, with their number`() async throws {
        _ = try await client.post(#"{"type":"enter"}"#)

        for _ in 0..<2 {
            let path = "/console/api/sessions?user=ann"
            #expect(try await ask(nil, "DELETE", path).status == 200)
        }

        #expect(entries.all.map(\.act) == ["end-sessions-of-user", "end-sessions-of-user"])
        #expect(entries.all.map(\.ended) == [1, 0])
    }

    @Test func `wrong tokens are written down, and after ten in a minute their address has to wait`() async throws {
        #expect(try await ask(nil).status == 200)
        for number in 0..<10 { try await ask("wrong \(number)").expect(401, "unauthorized") }

        let refused = try await ask("wrong 10")

        try refused.expect(429, "too-many-tries")
        #expect(refused.headers["retry-after"] == "6")
        let tries = entries.all.filter { $0.act == "wrong-token" }
        #expect(tries.count == 10)
        #expect(tries.allSatisfy { $0.operatorName == nil && $0.address?.text == "192.0.2.1" })
        // Not even the right one of somebody who has not been there before: it may be a guess.
        #expect(try await ask(OperatorKeyTests.tokens["eve"]).status == 429)
        #expect(try await ask(OperatorKeyTests.tokens["eve"], from: "192.0.2.2").status == 200)
        // Who has been at work from there goes on.
        for _ in 0..<20 { #expect(try await ask(nil).status == 200) }
    }

    @Test func `right tokens are no tries, however many there are`() async throws {
        let tokens = Dictionary(uniqueKeysWithValues: (0..<30).map { ("\($0)", "the token of operator \($0)") })
        let client = try await OperatorKeyTests.client(entries, tokens)
        for token in tokens.values {
            let answer = try await client.call(
                "GET", OperatorKeyTests.path, token: token, headers: ["X-Forwarded-For": "192.0.2.1"])
            #expect(answer.status == 200)
        }
    }

    @Test func `a request without a token is no try`() async throws {
        for _ in 0..<20 {
            let answer = try await client.connection.request("GET", OperatorKeyTests.path)
            try answer.expect(401, "unauthorized")
        }
        #expect(try await ask(nil).status == 200 && entries.all.count == 1)
    }

    @Test func `a console that is not public is only where operators ask`() async throws {
        let client = try await OperatorKeyTests.client(entries, isPublic: false)
        for path in ["/console", "/console/config", "/console/main.js", OperatorKeyTests.path] {
            try await client.call("GET", path, token: OperatorKeyTests.tokens["bob"]).expect(404, "unknown-path")
        }
        #expect(entries.all.isEmpty)
    }

    @Test func `the description has every operation of the console, and each needs the operator's token`() async throws
    {
        let text = try String(contentsOf: repository.appending(path: "docs/operator.yaml"), encoding: .utf8)
        var (path, described): (String, Set<String>) = ("", [])
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: #/  (/[^ ]*):/#) { path = String(match.1) }
            if let match = line.wholeMatch(of: #/    (get|post|delete):/#) {
                described.insert("\(match.1.uppercased()) \(path)")
            }
        }
        let routes = Route.console.filter { $0.pattern.hasPrefix("/console/api/") }
        let served = routes.flatMap { route in
            route.methods.filter { !["HEAD", "OPTIONS"].contains($0) }.map { "\($0) \(route.pattern)" }
        }
        #expect(described == Set(served) && served.count >= 10)
        for operation in served {
            let words = operation.split(separator: " ").map(String.init)
            let path = words[1].replacing("{id}", with: client.id).replacing("{name}", with: "member")
                .replacing("{version}", with: "1")
            #expect(try await client.connection.request(words[0], path).status == 401, "\(operation)")
        }
    }
}

final class AuditEntries: Sendable {
    private let entries = Mutex<[AuditEntry]>([])
    var all: [AuditEntry] { entries.withLock { $0 } }
    func add(_ entry: AuditEntry) { entries.withLock { $0.append(entry) } }
}

/// Signs its user in.
private struct MemberCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case enter }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("door")) }

    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.signIn(user: "ann") }
}
