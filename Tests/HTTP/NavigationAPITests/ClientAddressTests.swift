import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Synchronization
import Testing
import TestSupport

/// The addresses that a coordinator's events came from.
private final class Witness: Sendable {
    private let seen = Mutex<[ClientAddress?]>([])

    var clients: [ClientAddress?] { seen.withLock { $0 } }

    func see(_ client: ClientAddress?) { seen.withLock { $0.append(client) } }
}

private struct WatchedCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case look, ask, yes }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("watched")) }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .look: break
        case .ask:
            let yes = AlertButton("yes", title: "Yes", sends: Event.yes)
            return navigator.alert(Alert("Sure?", buttons: [.cancel, yes]))
        case .yes: navigator.push(Screen("answered"))
        }
        try navigator.resolve(Witness.self).see(navigator.address)
    }
}

@Suite struct ClientAddressTests {
    private let witness = Witness()

    private func open(_ proxies: String...) async throws -> Client {
        var dependencies = Dependencies()
        dependencies.register(Witness.self) { [witness] _ in witness }
        var settings = NavigationHandler.Settings()
        settings.proxies = proxies.compactMap(IPNetwork.init)
        let app = App("watched", root: { WatchedCoordinator() }, dependencies: dependencies)
        return try await Client(app, handler: settings)
    }

    private func look(_ client: Client, for address: String? = nil, _ query: String = "") async throws {
        var headers = ["Authorization": "Bearer \(client.token)", "Content-Type": "application/json"]
        headers["X-Forwarded-For"] = address
        let answer = try await client.connection.request(
            "POST", "\(client.path)/events\(query)", headers: headers, body: Data(#"{"type":"look"}"#.utf8))
        #expect(answer.status == 200)
    }

    @Test func `handlers can distinguish clients by the address that a trusted proxy names`() async throws {
        let client = try await open("127.0.0.1")

        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.1", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"] {
            try await look(client, for: address)
        }
        try await look(client, for: "192.0.2.1", "?dryRun=true")

        let seen = witness.clients
        #expect(seen.count == 7 && !seen.contains(nil))
        #expect(seen[0] == seen[2] && seen[0] == seen[6] && seen[3] == seen[4])
        #expect(Set(seen).count == 4)
    }

    @Test func `a peer that is not a trusted proxy is the client, whatever it claims`() async throws {
        let client = try await open()

        try await look(client, for: "192.0.2.1")
        try await look(client, for: "192.0.2.2")
        try await look(client)

        #expect(witness.clients.count == 3 && Set(witness.clients).count == 1)
    }

    @Test func `the answer to an alert has a client address, too`() async throws {
        let client = try await open()

        _ = try await client.post(#"{"type":"ask"}"#)
        _ = try await client.post(#"{"type":"answer","payload":{"button":"yes"}}"#)
        try await look(client)

        #expect(witness.clients.count == 2 && witness.clients[0] != nil && witness.clients[0] == witness.clients[1])
    }

    @Test func `if no address is known, the session takes its place`() async throws {
        var dependencies = Dependencies()
        dependencies.register(Witness.self) { [witness] _ in witness }
        let app = App("watched", root: { WatchedCoordinator() }, dependencies: dependencies)
        var settings = SessionSettings()
        settings.handlerDeadline = .seconds(3600)
        let handler = NavigationHandler(host: SessionHost(apps: [app], store: MemoryStore(), settings: settings))
        func call(_ path: String, _ headers: HTTPHeaders, _ body: String) async throws -> HTTPResponse {
            let target = try #require(HTTPTarget(path))
            var headers = headers
            headers.append("Content-Length", "\(body.utf8.count)")
            headers.append("Content-Type", "application/json")
            let request = HTTPRequest(method: "POST", target: target, headers: headers, body: Array(body.utf8))
            return await handler.respond(to: request)
        }

        for _ in 0..<2 {
            let created = try JSON(parsing: try await call("/v1/sessions", [:], "{}").bytes)
            let id = try #require(created["session"]?["id"]?.string)
            let token = try #require(created["token"]?.string)
            for _ in 0..<2 {
                _ = try await call(
                    "/v1/sessions/\(id)/events", ["Authorization": "Bearer \(token)"], #"{"type":"look"}"#)
            }
        }

        let seen = witness.clients
        #expect(seen.count == 4 && !seen.contains(nil))
        #expect(seen[0] == seen[1] && seen[2] == seen[3] && seen[0] != seen[2])
    }

    @Test func `an address is never printed`() {
        let address = ClientAddress("192.0.2.1")

        #expect("\(address) \(String(reflecting: address)) \([address])".contains("192") == false)
        #expect(Mirror(reflecting: address).children.isEmpty)
    }
}
