import Coordinators
import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

/// Signs in and out, and replaces the token each time.
private struct PorchCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case signIn, signOut }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("porch")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .signIn: navigator.push(Screen("secret", params: ["name": "Ann"]))
        case .signOut: navigator.setStack([Screen("porch")])
        }
        navigator.rotateToken()
    }
}

/// What a token gives no access to: the versions before it, and forks of a session that has ended.
@Suite struct ForkAndSealTests {
    static let app = App("porch", root: { PorchCoordinator() }, endsForks: true)

    func fork(_ client: Client, version: Int? = nil, token: String? = nil) async throws -> Answer {
        let member = version.map { ",\"version\":\($0)" } ?? ""
        return try await client.connection.request(
            "POST", "/v1/sessions",
            headers: ["Authorization": "Bearer \(token ?? client.token)", "Content-Type": "application/json"],
            body: Data("{\"forkOf\":\"\(client.id)\"\(member)}".utf8))
    }

    @Test func `a sign-out cannot be undone by a fork of an earlier version`() async throws {
        let client = try await Client(ForkAndSealTests.app)
        let signedIn = try JSON(parsing: Array(try await client.post(#"{"type":"signIn"}"#).body))
        let first = try #require(signedIn["token"]?.string)
        let out = try await client.post(Data(#"{"type":"signOut"}"#.utf8), token: first)
        let token = try #require(try JSON(parsing: Array(out.body))["token"]?.string)

        for version in 1...2 {
            try await fork(client, version: version, token: token).expect(404, "unknown-version")
            try await client.call("GET", "\(client.path)/history/\(version)", token: token)
                .expect(404, "unknown-version")
        }
        let list = try await client.call("GET", "\(client.path)/history", token: token)
        #expect(list.status == 200 && !list.text.contains("Ann") && !list.text.contains(#""version":2"#))
        #expect(list.text.contains(#""version":3"#) && !list.text.contains(#""next""#))
        #expect(try await fork(client, version: 3, token: token).status == 201)
        try await fork(client, version: 2, token: first).expect(401, "unauthorized")
    }

    @Test func `forks end with their origin, over HTTP`() async throws {
        let client = try await Client(ForkAndSealTests.app)
        let forked = try JSON(parsing: Array(try await fork(client).body))
        let (id, token) = (forked["session"]?["id"]?.string ?? "", forked["token"]?.string ?? "")
        #expect(try await client.call("GET", "/v1/sessions/\(id)", token: token).status == 200)

        #expect(try await client.call("DELETE", client.path).status == 204)

        try await client.call("GET", "/v1/sessions/\(id)", token: token).expect(410, "session-ended")
        try await fork(client).expect(410, "session-ended")
    }
}
