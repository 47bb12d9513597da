import Coordinators
import Foundation
import MicroHTTP
import NavigationAPI
import Sessions
import Synchronization
import Testing
import TestSupport

@Suite struct LimitTests {
    /// Creates a session as the proxy at 127.0.0.1 would.
    static func create(_ connection: Connection, for addresses: String) async throws -> Answer {
        try await connection.request("POST", "/v1/sessions", headers: ["X-Forwarded-For": addresses])
    }

    static func client(creationRate: Int, proxies: [String]) async throws -> Client {
        var settings = NavigationHandler.Settings()
        settings.creationRate = creationRate
        settings.proxies = proxies.compactMap(IPNetwork.init)
        return try await Client(handler: settings)
    }

    @Test func `large bodies under way are bounded, last for those with a token of the session`() async throws {
        // Room for two bodies without a token, and for two of an address.
        let client = try await Client(receivingLimit: 480 << 10)
        let large = String(repeating: " ", count: 50_000)
        let creation = Connection.bytes(
            "POST", "/v1/sessions", headers: ["Content-Type": "application/json"], body: Data("{\(large)}".utf8))
        var held: [Connection] = []
        for _ in 0..<2 {
            held.append(try Connection(port: client.server.port))
            let before = client.server.receivingBytes
            try await held[held.count - 1].send(creation.dropLast())
            try await eventually { client.server.receivingBytes >= before + 50_000 }
        }

        let connection = try Connection(port: client.server.port)
        try await connection.send(creation)
        let answer = try await connection.receive()

        try await client.expect(answer, 503, "too-many-bytes")
        #expect(answer.headers["retry-after"] == "2" && answer.headers["connection"] == "close")
        #expect(try await client.connection.request("POST", "/v1/sessions").status == 201, "small bodies always pass")
        withExtendedLifetime(held) {}
    }

    @Test func `each address may create a limited number of sessions a second`() async throws {
        let client = try await LimitTests.client(creationRate: 3, proxies: ["127.0.0.0/8"])

        for _ in 1...3 { #expect(try await LimitTests.create(client.connection, for: "192.0.2.1").status == 201) }
        let answer = try await LimitTests.create(client.connection, for: "192.0.2.1")

        try await client.expect(answer, 429, "too-many-creations")
        #expect(answer.headers["retry-after"] == "1")
        #expect(answer.headers["ratelimit-policy"] == #""creations";q=3;w=1"#)
        #expect(answer.headers["ratelimit"] == #""creations";r=0;t=1"#)
        #expect(try await LimitTests.create(client.connection, for: "192.0.2.2").status == 201)
        #expect(try await LimitTests.create(client.connection, for: "2001:db8::1").status == 201)
        client.clock.advance(1)
        #expect(try await LimitTests.create(client.connection, for: "192.0.2.1").status == 201)
    }

    @Test func `a creation says how many more are allowed, if there is a limit`() async throws {
        let limited = try await LimitTests.client(creationRate: 1000, proxies: ["127.0.0.0/8"])
        let unlimited = try await Client()

        let first = try await LimitTests.create(limited.connection, for: "192.0.2.1")
        let free = try await LimitTests.create(unlimited.connection, for: "192.0.2.1")

        #expect(first.status == 201 && first.headers["ratelimit-policy"] == #""creations";q=1000;w=1"#)
        #expect(first.headers["ratelimit"] == #""creations";r=999;t=1"#)
        #expect(free.status == 201)
        #expect(free.headers["ratelimit-policy"] == nil && free.headers["ratelimit"] == nil)
    }

    @Test(arguments: [("10.0.0.0/8", "192.0.2."), ("127.0.0.0/8", "2001:db8::")])
    func `an untrusted peer counts as one address, whatever it claims, and so does an IPv6 network`(
        proxies: String, addresses: String
    ) async throws {
        let client = try await LimitTests.client(creationRate: 2, proxies: [proxies])

        var statuses: [Int] = []
        for number in 1...3 {
            statuses.append(try await LimitTests.create(client.connection, for: "\(addresses)\(number)").status)
        }

        #expect(statuses.first == 201 && statuses.last == 429)
    }

    @Test func `a session accepts a limited number of events a second`() async throws {
        let client = try await Client { $0.eventRate = 2 }

        for _ in 1...2 { #expect(try await client.post(#"{"type":"nothing"}"#).status == 200) }
        let refused = try await client.post(#"{"type":"nothing"}"#)

        try await client.expect(refused, 429, "too-many-events")
        #expect(refused.headers["retry-after"] == "1")
        #expect(refused.headers["ratelimit-policy"] == #""events";q=2;w=1"#)
        #expect(refused.headers["ratelimit"] == #""events";r=0;t=1"#)
        client.clock.advance(1)
        #expect(try await client.post(#"{"type":"nothing"}"#).status == 200)
    }

    @Test func `at the limit of sessions, a creation is refused, but a repeated one is answered`() async throws {
        let client = try await Client { $0.sessionLimit = 2 }
        let key = ["Idempotency-Key": UUID().uuidString]
        let second = try await client.create("{}", key)
        #expect(second.status == 201)

        let third = try await client.create("{}", [:])

        try await client.expect(third, 503, "too-many-sessions")
        #expect(third.headers["retry-after"] == "60")
        #expect(try await client.create("{}", key).body == second.body)
    }

    @Test func `no more sessions than the limit are created, however many are asked for at the same time`() async throws
    {
        let held = HeldCreations()
        var dependencies = Dependencies()
        dependencies.register(HeldCreations.self) { _ in held }
        let app = App("slow", root: { SlowCoordinator() }, dependencies: dependencies)
        let client = try await Client(app) { $0.sessionLimit = 20 }
        held.gate.withLock { $0 = Gate() }

        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<24 {
                let other = try Connection(port: client.server.port)
                group.addTask { try await other.request("POST", "/v1/sessions").status }
            }
            // Those that are refused do not wait.
            var statuses: [Int] = []
            while statuses.count < 5, let status = try await group.next() { statuses.append(status) }
            held.open()
            return try await group.reduce(into: statuses) { $0.append($1) }
        }

        #expect(statuses == Array(repeating: 503, count: 5) + Array(repeating: 201, count: 19))
        #expect(try await client.create("{}", [:]).status == 503)
    }

    /// Creations wait while there is a gate that is not open.
    private final class HeldCreations: Sendable {
        let gate = Mutex<Gate?>(nil)

        func open() { gate.withLock { $0 }?.open() }
    }

    private struct SlowCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) async throws {
            let held = try navigator.resolve(HeldCreations.self)
            await held.gate.withLock { $0 }?.wait()
            navigator.push(Screen("slow"))
        }
    }
}

@Suite struct CrossOriginTests {
    static let origin = "https://app.example"
    static let preflight = ["Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"]

    static func ask(_ client: Client, _ method: String, _ path: String, _ headers: [String: String]) async throws
        -> Answer
    {
        try await client.connection.request(method, path, headers: headers)
    }

    @Test func `a page of a listed origin may send requests and read the answers`() async throws {
        let client = try await Client(origins: [CrossOriginTests.origin])
        let headers = ["Origin": CrossOriginTests.origin]

        let asked = try await CrossOriginTests.ask(
            client, "OPTIONS", "\(client.path)/events", headers.merging(CrossOriginTests.preflight) { $1 })
        let answer = try await client.call("GET", client.path, headers: headers)
        let refused = try await CrossOriginTests.ask(client, "GET", client.path, headers)

        #expect(asked.status == 204 && asked.body.isEmpty)
        #expect(asked.headers["access-control-allow-methods"] == "POST, OPTIONS")
        let allowed = asked.headers["access-control-allow-headers"]?.components(separatedBy: ", ") ?? []
        #expect(
            Set(allowed) == [
                "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID",
                "Prefer", "traceparent", "tracestate", "X-Request-Id",
            ])
        #expect(asked.headers["access-control-max-age"] == "600")
        #expect(answer.status == 200 && refused.status == 401)
        for one in [asked, answer, refused] {
            #expect(one.headers["access-control-allow-origin"] == CrossOriginTests.origin)
            #expect(one.headers["access-control-allow-credentials"] == nil)
            #expect(one.headers["vary"] == "Origin")
        }
        let exposed = answer.headers["access-control-expose-headers"]?.components(separatedBy: ", ") ?? []
        #expect(
            Set(exposed) == [
                "Date", "ETag", "Idempotency-Replayed", "Location", "Preference-Applied", "RateLimit",
                "RateLimit-Policy", "Retry-After", "Session-Version", "traceresponse", "WWW-Authenticate",
                "X-Request-Id",
            ])
    }

    @Test(arguments: [
        "https://evil.example", "https://app.example.evil.example", "http://app.example", "https://app.example:8443",
        "HTTPS://APP.EXAMPLE", "null", "*", "",
    ])
    func `a page of any other origin may not read the answers`(origin: String) async throws {
        let client = try await Client(origins: [CrossOriginTests.origin])

        let asked = try await CrossOriginTests.ask(
            client, "OPTIONS", "/v1/sessions", CrossOriginTests.preflight.merging(["Origin": origin]) { $1 })
        let answer = try await client.call("GET", client.path, headers: ["Origin": origin])

        #expect(asked.status == 204 && answer.status == 200)
        #expect(asked.headers["access-control-allow-methods"] == nil)
        for one in [asked, answer] {
            #expect(one.headers["access-control-allow-origin"] == nil)
            #expect(one.headers["vary"] == "Origin")
        }
    }

    @Test func `a page of a listed origin can read what the HTTP server itself refuses, too`() async throws {
        let client = try await Client(origins: [CrossOriginTests.origin])

        let refused = try await client.connection.request(
            "POST", "/v1/sessions", headers: ["Origin": CrossOriginTests.origin], body: Data(count: 65_537))

        #expect(refused.status == 413)
        #expect(refused.headers["access-control-allow-origin"] == CrossOriginTests.origin)
    }

    @Test func `unless origins are listed, there are no cross-origin headers`() async throws {
        let client = try await Client()

        let asked = try await CrossOriginTests.ask(
            client, "OPTIONS", "/v1/sessions",
            CrossOriginTests.preflight.merging(["Origin": CrossOriginTests.origin]) { $1 })

        #expect(asked.status == 204 && asked.headers["allow"] == "POST, OPTIONS")
        #expect(asked.headers["access-control-allow-origin"] == nil && asked.headers["vary"] == nil)
    }
}

@Suite struct RequestIDTests {
    static func id(_ client: Client, sent: String?) async throws -> String? {
        var headers: [String: String] = [:]
        headers["X-Request-Id"] = sent
        return try await client.connection.request("GET", "/livez", headers: headers).headers["x-request-id"]
    }

    @Test(arguments: [
        "7b1f", "Root=1-67891233-abcdef012345678912345678", "a.b_c~d+e/f:g@h=", String(repeating: "x", count: 128),
    ])
    func `a valid request id is kept`(id: String) async throws {
        #expect(try await RequestIDTests.id(try await Client(), sent: id) == id)
    }

    @Test(arguments: ["", "two words", "<script>", "a\"b", "a,b", "ключ", String(repeating: "x", count: 129)])
    func `an invalid or missing request id is replaced by a new one`(id: String) async throws {
        let client = try await Client()

        let made = try #require(try await RequestIDTests.id(client, sent: id))
        let next = try #require(try await RequestIDTests.id(client, sent: nil))

        #expect(made != id && made != next && !made.isEmpty && !next.isEmpty)
    }
}
