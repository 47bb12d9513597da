import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import Sessions
import TestSupport
import Testing

/// Requests that wait for a session to change.
@Suite struct WatchingTests {
    private static func wait(
        _ client: Client, for version: Int, _ prefer: String = "wait=3600"
    ) async throws -> Answer {
        let connection = try Connection(port: client.server.port)
        let headers = [
            "Authorization": "Bearer \(client.token)", "If-None-Match": "\"\(version)\"", "Prefer": prefer,
        ]
        return try await connection.request("GET", client.path, headers: headers)
    }

    @Test func `the answer comes as soon as the state has changed, with the transition`() async throws {
        let client = try await Client()
        async let answer = WatchingTests.wait(client, for: 1)
        try await eventually { client.host.watcherCount == 1 }
        let posted = try JSON(parsing: Array(try await client.post(#"{"type":"add","payload":1}"#).body))

        let seen = try await answer
        let body = try JSON(parsing: Array(seen.body))
        #expect(seen.status == 200 && seen.headers["etag"] == "\"2\"")
        #expect(seen.headers["preference-applied"] == "wait=3600")
        #expect(body == posted)
    }

    @Test func `several changes are one, without a transition`() async throws {
        let client = try await Client()
        _ = try await client.post(#"{"type":"add","payload":1}"#)
        _ = try await client.post(#"{"type":"add","payload":1}"#)

        // The state has changed already: nothing to wait for.
        let body = try JSON(parsing: Array(try await WatchingTests.wait(client, for: 1).body))

        #expect(body["session"]?["version"] == 3 && body["transition"] == nil)
    }

    @Test(arguments: [("wait=1", 1), ("respond-async, wait = \"1\";x=y", 1), ("wait=0", 0)])
    func `without a change the answer is 304 after the wait`(prefer: String, seconds: Int) async throws {
        let client = try await Client()
        let start = ContinuousClock.now

        let answer = try await WatchingTests.wait(client, for: 1, prefer)

        #expect(answer.status == 304 && answer.headers["preference-applied"] == "wait=\(seconds)")
        #expect(ContinuousClock.now - start >= .seconds(seconds))
    }

    @Test(arguments: ["", "wait", "wait=", "wait=-1", "wait=1.5", "wait=x, wait=30", ";", "=", "waiting=30", "wait=\""])
    func `what is no number is ignored`(prefer: String) async throws {
        let client = try await Client()
        let answer = try await WatchingTests.wait(client, for: 1, prefer)
        #expect(answer.status == 304 && answer.headers["preference-applied"] == nil)
    }

    @Test func `who waits for a session that ends learns it`() async throws {
        let client = try await Client()
        async let answer = WatchingTests.wait(client, for: 1)
        try await eventually { client.host.watcherCount == 1 }
        _ = try await client.call("DELETE", client.path)

        let seen = try await answer
        #expect(seen.status == 410 && seen.text.contains("session-ended"))
    }

    @Test func `who waits with a token that is replaced or revoked learns which, and nobody else does`() async throws {
        let client = try await Client(TokenRotationTests.app)
        let code = try FlowTests.json(try await client.call("POST", "\(client.path)/pairings"))["code"]?.string ?? ""
        let paired = try await client.connection.request(
            "POST", "/v1/pairings", headers: ["Content-Type": "application/json"],
            body: Data(#"{"code":"\#(code)"}"#.utf8))
        var second = client
        second.token = try #require(try FlowTests.json(paired)["token"]?.string)
        let other = second

        async let first = WatchingTests.wait(client, for: 2)
        async let last = WatchingTests.wait(other, for: 2)
        try await eventually { client.host.watcherCount == 2 }
        _ = try await client.post(TokenRotationTests.enter)

        let (replaced, revoked) = try await (first, last)
        try replaced.expect(401, "token-replaced")
        try revoked.expect(401, "token-revoked")
        #expect(replaced.headers["www-authenticate"] == "Bearer" && revoked.headers["www-authenticate"] == "Bearer")
        for token in [client.token, other.token, "wrong"] {
            try await client.call("GET", client.path, token: token).expect(401, "unauthorized")
        }
    }

    @Test func `who waits for a session that expires learns it at once`() async throws {
        let client = try await Client { $0.absoluteLifetime = 1 }
        async let answer = WatchingTests.wait(client, for: 1)
        try await eventually { client.host.watcherCount == 1 }
        client.clock.advance(1)

        let seen = try await answer
        #expect(seen.status == 410 && seen.text.contains("session-expired"))
    }

    @Test func `a session has sixteen watchers, and the server as many as it may`() async throws {
        let client = try await Client { $0.watcherLimit = 17 }
        let waiting = Task {
            try await withThrowingTaskGroup(of: Int.self) { tasks in
                for _ in 0..<16 { tasks.addTask { try await WatchingTests.wait(client, for: 1).status } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
        }
        try await eventually { client.host.watcherCount == 16 }
        let refused = try await WatchingTests.wait(client, for: 1)
        #expect(refused.status == 429 && refused.text.contains("too-many-watchers"))

        let second = try await client.connection.request("POST", "/v1/sessions")
        let body = try JSON(parsing: Array(second.body))
        var other = client
        (other.id, other.token) = (body["session"]?["id"]?.string ?? "", body["token"]?.string ?? "")
        let one = other
        async let last = WatchingTests.wait(one, for: 1)
        try await eventually { client.host.watcherCount == 17 }
        let tooMany = try await WatchingTests.wait(one, for: 1)
        #expect(tooMany.status == 503 && tooMany.text.contains("too-many-watchers-in-all"))

        _ = try await client.post(#"{"type":"add","payload":1}"#)
        #expect(try await waiting.value == Array(repeating: 200, count: 16))
        _ = try await other.post(#"{"type":"add","payload":1}"#)
        #expect(try await last.status == 200)
        try await eventually { client.host.watcherCount == 0 }
        #expect(try await WatchingTests.wait(client, for: 2, "wait=0").status == 304)
    }

    /// Some connections are reset, the others closed.
    @Test func `whoever goes away while waiting makes room`() async throws {
        let client = try await Client()
        let request = Connection.bytes(
            "GET", client.path,
            headers: ["Authorization": "Bearer \(client.token)", "If-None-Match": "\"1\"", "Prefer": "wait=3600"])
        var connections: [Connection] = []
        for _ in 0..<16 {
            connections.append(try Connection(port: client.server.port))
            try await connections[connections.count - 1].send(request)
        }
        try await eventually { client.host.watcherCount == 16 }
        for connection in connections.prefix(8) { connection.resetOnClose() }
        connections = []
        try await eventually { client.host.watcherCount == 0 }
    }
}
