import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Testing
import TestSupport

/// Pairing, and the list of tokens, over HTTP.
@Suite struct PairingTests {
    /// A client whose address is what it says.
    static func client() async throws -> Client {
        var settings = NavigationHandler.Settings()
        settings.proxies = ["127.0.0.0/8"].compactMap(IPNetwork.init)
        return try await Client(handler: settings)
    }

    static func pair(
        _ client: Client, _ body: String, _ headers: [String: String] = [:], from address: Int = 1
    ) async throws -> Answer {
        var headers = ["Content-Type": "application/json"].merging(headers) { $1 }
        headers["X-Forwarded-For"] = "192.0.2.\(address)"
        return try await client.connection.request("POST", "/v1/pairings", headers: headers, body: Data(body.utf8))
    }

    static func open(_ client: Client, _ body: String = "") async throws -> Answer {
        let headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        return try await client.connection.request(
            "POST", "\(client.path)/pairings", headers: headers, body: Data(body.utf8))
    }

    static func code(_ client: Client) async throws -> String {
        try #require(try JSON(parsing: Array(try await open(client).body))["code"]?.string)
    }

    @Test func `two devices share a session until one is revoked`() async throws {
        let client = try await PairingTests.client()
        let wrong = try await client.call("GET", client.path, token: "wrong").withoutRequestID()
        let opened = try await PairingTests.open(client, #"{"label":"TV"}"#)
        let code = try #require(try JSON(parsing: Array(opened.body))["code"]?.string)
        #expect(opened.status == 201 && opened.headers["cache-control"] == "no-store, no-transform")

        let paired = try await PairingTests.pair(client, #"{"code":"\#(code.lowercased())"}"#)

        let body = try JSON(parsing: Array(paired.body))
        let token = try #require(body["token"]?.string)
        #expect(paired.status == 201 && paired.headers["etag"] == "\"2\"")
        #expect(paired.headers["location"] == client.path)
        #expect(paired.headers["ratelimit-policy"] == #""pairings";q=5;w=60"#)
        #expect(paired.headers["ratelimit"] == #""pairings";r=4;t=60"#)
        #expect(body["session"]?["id"] == .string(client.id) && body["visible"]?["name"] == "counter")
        #expect(try await client.call("GET", client.path, token: token).status == 200)

        let list = try await client.call("GET", "\(client.path)/tokens")
        let listed = try JSON(parsing: Array(list.body))["tokens"]
        #expect(listed?.array?.map { $0["number"] } == [1, 2])
        #expect(listed?.array?.map { $0["label"] } == [nil, "TV"])
        #expect(listed?.array?.map { $0["isOwn"] } == [true, nil])
        #expect(listed?.array?.map { $0["firstVersion"] } == [1, 2])
        #expect(!list.text.contains(token) && !list.text.contains(client.token))

        let revoked = try await client.call("DELETE", "\(client.path)/tokens/2")
        #expect(revoked.status == 204 && revoked.headers["etag"] == "\"3\"")
        let refused = try await client.call("GET", client.path, token: token)
        #expect(try refused.status == 401 && refused.withoutRequestID() == wrong)
        try await client.call("DELETE", "\(client.path)/tokens/2").expect(404, "unknown-token")
        try await client.call("DELETE", "\(client.path)/tokens/1").expect(409, "last-token")
        #expect(try await client.version() == 3)
    }

    @Test(arguments: ["0", "-1", "01", "x", "+1", "99999999999999999999", "3"])
    func `what is no token's number names none`(number: String) async throws {
        let client = try await Client()
        try await client.call("DELETE", "\(client.path)/tokens/\(number)").expect(404, "unknown-token")
    }

    @Test func `without the session's token there is neither a code nor a list`() async throws {
        let client = try await Client()
        for (method, path) in [("POST", "pairings"), ("GET", "tokens"), ("DELETE", "tokens/1")] {
            try await client.call(method, "\(client.path)/\(path)", token: "wrong").expect(401, "unauthorized")
        }
    }

    @Test func `a token is revoked only on the expected version`() async throws {
        let client = try await PairingTests.client()
        _ = try await PairingTests.pair(client, #"{"code":"\#(try await PairingTests.code(client))"}"#)

        try await client.call("DELETE", "\(client.path)/tokens/2", headers: ["If-Match": "\"1\""])
            .expect(412, "version-mismatch")
        #expect(
            try await client.call("DELETE", "\(client.path)/tokens/2", headers: ["If-Match": "\"2\""]).status == 204)
    }

    @Test func `an address may try five codes in a minute, right or wrong`() async throws {
        let client = try await PairingTests.client()
        let code = try await PairingTests.code(client)

        for _ in 1...5 {
            try await PairingTests.pair(client, #"{"code":"00000000"}"#).expect(404, "unknown-code")
        }
        let refused = try await PairingTests.pair(client, #"{"code":"\#(code)"}"#)

        try refused.expect(429, "too-many-tries")
        #expect(refused.headers["retry-after"] == "12")
        #expect(refused.headers["ratelimit"] == #""pairings";r=0;t=60"#)
        #expect(try await PairingTests.pair(client, #"{"code":"\#(code)"}"#, from: 2).status == 201)
    }

    @Test func `what is refused for its form or origin is no try`() async throws {
        let client = try await PairingTests.client()
        let code = try await PairingTests.code(client)

        for _ in 1...6 {
            let page = ["Content-Type": "text/plain", "Origin": "https://other.example"]
            try await PairingTests.pair(client, #"{"code":"00000000"}"#, page).expect(415, "not-json-type")
            try await PairingTests.pair(client, #"{"cod"#).expect(400, "invalid-json")
        }

        #expect(try await PairingTests.pair(client, #"{"code":"\#(code)"}"#).status == 201)
    }

    @Test func `all addresses together may try 70 wrong codes in a minute`() async throws {
        let client = try await PairingTests.client()
        for address in 1...70 {
            try await PairingTests.pair(client, #"{"code":"00000000"}"#, from: address).expect(404, "unknown-code")
        }
        try await PairingTests.pair(client, #"{"code":"00000000"}"#, from: 71).expect(429, "too-many-tries")

        let code = #"{"code":"\#(try await PairingTests.code(client))"}"#
        try await PairingTests.pair(client, code, from: 72).expect(429, "too-many-tries")
        client.clock.advance(1)
        #expect(try await PairingTests.pair(client, code, from: 72).status == 201)
    }

    @Test func `a session has at most eight tokens`() async throws {
        let client = try await PairingTests.client()
        for device in 2...8 {
            let paired = try await PairingTests.pair(
                client, #"{"code":"\#(try await PairingTests.code(client))"}"#, from: device)
            #expect(paired.status == 201)
        }
        try await PairingTests.open(client).expect(409, "too-many-tokens")
    }

    @Test func `a server has at most 256 open codes`() async throws {
        var client = try await PairingTests.client()
        for _ in 0..<256 {
            #expect(try await PairingTests.open(client).status == 201)
            let created = try JSON(parsing: Array(try await client.connection.request("POST", "/v1/sessions").body))
            client.id = try #require(created["session"]?["id"]?.string)
            client.token = try #require(created["token"]?.string)
        }
        let refused = try await PairingTests.open(client)
        try refused.expect(503, "too-many-codes")
        #expect(refused.headers["retry-after"] == "10")
    }

    @Test func `under a key the same request gets the same answer`() async throws {
        let client = try await PairingTests.client()
        let body = #"{"code":"\#(try await PairingTests.code(client))","label":"TV"}"#
        let key = ["Idempotency-Key": UUID().uuidString]

        let first = try await PairingTests.pair(client, body, key)
        let again = try await PairingTests.pair(client, body, key)

        #expect(first.status == 201 && again.status == 201 && first.body == again.body)
        #expect(again.headers["idempotency-replayed"] == "true" && again.headers["session-version"] == "2")
        try await PairingTests.pair(client, body, ["Idempotency-Key": "short"]).expect(400, "invalid-request")
    }

    @Test(arguments: [
        "{}", #"{"code":7}"#, #"{"code":"00000000","label":""}"#, #"{"code":"00000000","label":"a\u0000b"}"#,
        #"{"code":"00000000","label":"\#(String(repeating: "x", count: 65))"}"#, #"{"code":"00000000","x":1}"#,
    ])
    func `a body that is no pairing is a bad request`(body: String) async throws {
        try await PairingTests.pair(try await PairingTests.client(), body).expect(400, "invalid-request")
    }

    @Test func `what a label may not be is refused where a code is asked for, too`() async throws {
        let client = try await Client()
        let answer = try await PairingTests.open(client, #"{"label":"\u0085"}"#)
        try answer.expect(400, "invalid-request")
        #expect(try JSON(parsing: Array(answer.body))["pointer"] == "/label")
    }

    @Test func `a device that waits learns that its token was revoked`() async throws {
        let client = try await PairingTests.client()
        let paired = try await PairingTests.pair(client, #"{"code":"\#(try await PairingTests.code(client))"}"#)
        let token = try #require(try JSON(parsing: Array(paired.body))["token"]?.string)
        let connection = try Connection(port: client.server.port)
        let headers = ["Authorization": "Bearer \(token)", "If-None-Match": "\"2\"", "Prefer": "wait=3600"]
        async let waiting = connection.request("GET", client.path, headers: headers)
        try await eventually { client.host.watcherCount == 1 }

        #expect(try await client.call("DELETE", "\(client.path)/tokens/2").status == 204)

        try await waiting.expect(401, "token-revoked")
    }
}

// Codes that the app asks for.
extension PairingTests {
    private struct LobbyCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case invite }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("lobby")) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            navigator.push(Screen("invitation"))
            navigator.requestPairingCode(label: "TV")
        }

        func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) {
            navigator.replace(with: Screen("welcome", params: ["label": .string(device.label ?? "")]))
        }
    }

    private static let lobby = App("lobby", root: { LobbyCoordinator() })
    private static let invite = #"{"type":"invite"}"#

    @Test(arguments: [[:], ["Idempotency-Key": "8e03978e-40d5-991c"]])
    func `a code is in the answer to the event, and nowhere else`(headers: [String: String]) async throws {
        let client = try await Client(PairingTests.lobby)
        async let watching = Connection(port: client.server.port).request(
            "GET", client.path,
            headers: [
                "Authorization": "Bearer \(client.token)", "If-None-Match": #""1""#, "Prefer": "wait=3600",
            ])
        try await eventually { client.host.watcherCount == 1 }

        let invited = try await client.post(PairingTests.invite, headers)

        let pairing = try JSON(parsing: Array(invited.body))["pairing"]
        let code = try #require(pairing?["code"]?.string)
        #expect(invited.status == 200 && pairing?["expiresAt"]?.string?.hasSuffix("Z") == true)
        #expect(try JSON(parsing: Array(invited.body))["visible"]?["name"] == "invitation")
        let others = [
            try await watching, try await client.call("GET", client.path),
            try await client.call("GET", "\(client.path)/history"),
            try await client.call("GET", "\(client.path)/history/2"),
        ]
        for other in others { #expect(other.status == 200 && !other.text.contains(code), "\(other.text)") }
        #expect(!others[0].text.contains("pairing"))

        let paired = try await PairingTests.pair(client, #"{"code":"\#(code)"}"#)

        let body = try JSON(parsing: Array(paired.body))
        #expect(paired.status == 201 && body["visible"]?["params"] == ["label": "TV"])
        #expect(body["transition"]?["event"] == "addToken" && body["transition"]?["cause"] == "signal")
        #expect(try await client.version() == 3)
    }

    @Test func `a lost answer with a code is returned again under its key, to the same device`() async throws {
        let client = try await Client(PairingTests.lobby)
        let key = ["Idempotency-Key": "8e03978e-40d5-991c"]
        let first = try await client.post(PairingTests.invite, key)
        let again = try await client.post(PairingTests.invite, key)
        #expect(again.body == first.body && again.headers["idempotency-replayed"] == "true")
        let code = try #require(try JSON(parsing: Array(again.body))["pairing"]?["code"]?.string)

        let paired = try await PairingTests.pair(client, #"{"code":"\#(code)"}"#)

        let token = try #require(try JSON(parsing: Array(paired.body))["token"]?.string)
        let other = try await client.post(
            PairingTests.invite, key.merging(["Authorization": "Bearer \(token)"]) { $1 })
        #expect(!other.text.contains(code))
        #expect(try await client.post(PairingTests.invite, key).body == first.body)
    }

    @Test func `a dry run has no code`() async throws {
        let client = try await Client(PairingTests.lobby)
        let answer = try await client.connection.request(
            "POST", "\(client.path)/events?dryRun=true",
            headers: ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"],
            body: Data(PairingTests.invite.utf8))
        #expect(answer.status == 200 && answer.text.contains("invitation") && !answer.text.contains("pairing"))
    }
}
