import Coordinators
import Foundation
import JSONCoding
import Testing
import TestSupport

/// Only its owner opens it.
private struct GateCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable {
        case unlock, ring
        var roles: [DeviceRole] { self == .unlock ? [DeviceRole("owner")] : [] }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("gate")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.push(Screen("\(event)")) }
}

/// Roles over HTTP: who gives them, who has them, and the words of what is not for one.
@Suite struct DeviceRoleRequestTests {
    static let app = App(
        "gate", root: { GateCoordinator() },
        roles: [
            DeviceRole("owner", gives: ["guest", "board"]), DeviceRole("guest"), DeviceRole("board", mayAct: false),
        ],
        words: { phrase, language in phrase == .notForRole("guest") && language == "de" ? "Nur für Gastgeber." : nil })
    private let client: Client

    init() async throws { client = try await Client(DeviceRoleRequestTests.app) }

    private func call(
        _ method: String, _ path: String, token: String? = nil, body: String? = nil
    ) async throws -> Answer {
        var headers = ["Authorization": "Bearer \(token ?? client.token)"]
        if body != nil { headers["Content-Type"] = "application/json" }
        return try await client.connection.request(method, path, headers: headers, body: body.map { Data($0.utf8) })
    }

    private func token(_ role: String) async throws -> String {
        try await DeviceRoleRequestTests.token(role, in: client)
    }

    /// The token of another device, which speaks German.
    static func token(_ role: String, in client: Client) async throws -> String {
        let opened = try await client.connection.request(
            "POST", client.path + "/pairings",
            headers: ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"],
            body: Data(#"{"role":"\#(role)"}"#.utf8))
        #expect(opened.status == 201)
        let code = try #require(try JSON(parsing: Array(opened.body))["code"]?.string)
        let paired = try await PairingTests.pair(client, #"{"code":"\#(code)","client":{"locale":"de"}}"#)
        return try #require(try JSON(parsing: Array(paired.body))["token"]?.string)
    }

    private func problem(_ answer: Answer, _ status: Int, _ name: String) throws -> JSON {
        let problem = try JSON(parsing: Array(answer.body))
        #expect(answer.status == status && problem["type"]?.string == "urn:coordinatord:problem:\(name)")
        return problem
    }

    @Test func `roles are given, listed and described`() async throws {
        let guest = try await token("guest")
        let listed = try JSON(parsing: Array(try await call("GET", client.path + "/tokens", token: guest).body))
        #expect(listed["tokens"]?.array?.map { $0["role"]?.string } == ["owner", "guest"])
        let described = try JSON(parsing: Array(try await call("GET", "/v1/apps/gate").body))
        #expect(described["roles"]?.array?.map { $0["name"]?.string } == ["owner", "guest", "board"])
        #expect(described["roles"]?.array?[2]["mayAct"] == false)
        #expect(described["coordinators"]?.array?[0]["events"]?.array?[0]["roles"] == ["owner"])

        let unknown = try await call("POST", client.path + "/pairings", body: #"{"role":"king"}"#)
        #expect(try problem(unknown, 422, "unknown-role")["pointer"] == "/role")
        let wrong = try await call("POST", client.path + "/pairings", body: #"{"role":7}"#)
        #expect(try problem(wrong, 400, "invalid-request")["pointer"] == "/role")
    }

    @Test func `what is not for a role is refused in its own words`() async throws {
        let (guest, board) = (try await token("guest"), try await token("board"))
        let event = try await call("POST", client.path + "/events", token: guest, body: #"{"type":"unlock"}"#)
        let refused = try problem(event, 409, "event-not-for-role")
        #expect(refused["detail"] == "Nur für Gastgeber." && event.headers["content-language"] == "de")
        #expect(refused["events"] == ["ring", "relaunch", "describeClient"] && refused["state"] != nil)

        let looked = try await call("POST", client.path + "/events", token: board, body: #"{"type":"ring"}"#)
        #expect(try problem(looked, 409, "event-not-for-role")["events"] == ["describeClient"])
        let codes = try await call("POST", client.path + "/pairings", token: board, body: "{}")
        #expect(try problem(codes, 403, "not-for-role")["detail"]?.string?.contains("“board”") == true)
        let fork = #"{"forkOf":"\#(client.path.split(separator: "/").last ?? "")"}"#
        for (method, path, body) in [
            ("DELETE", client.path, nil), ("DELETE", client.path + "/tokens/1", nil), ("POST", "/v1/sessions", fork),
        ] as [(String, String, String?)] {
            _ = try problem(try await call(method, path, token: board, body: body), 403, "not-for-role")
        }
        #expect(try await call("DELETE", client.path + "/tokens/3", token: board).status == 204)
        #expect(try await client.post(#"{"type":"unlock"}"#).status == 200)
    }
}
