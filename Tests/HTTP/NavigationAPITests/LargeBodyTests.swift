import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import Testing
import TestSupport

/// Shows the size of a dictionary that an event contains.
private struct DictionaryCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case fill([String: Int])
        static let examples: [Event] = [.fill(["x": 1])]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("empty")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        guard case .fill(let values) = event else { return }
        navigator.replace(with: Screen("filled", params: ["count": .integer(values.count)]))
    }
}

@Suite struct LargeBodyTests {
    /// With a linear search for each name, the larger body would take hours.
    @Test(arguments: [64, 16 * 1024]) func `a payload with as many names as fit is decoded in time`(
        kibibytes: Int
    ) async throws {
        var settings = HTTPServer.Settings.unhurried
        settings.bodyLimit = kibibytes * 1024
        var sessions = SessionSettings()
        sessions.handlerDeadline = .seconds(3600)
        let host = SessionHost(
            apps: [App("dictionary", root: { DictionaryCoordinator() })], store: MemoryStore(), settings: sessions)
        let server = try HTTPServer(settings, handler: NavigationHandler(host: host))
        let connection = try Connection(port: server.port)
        let created = try JSON(parsing: Array(try await connection.request("POST", "/v1/sessions").body))
        let count = kibibytes * 1024 / 20
        let names = (0..<count).map { "\"k\($0)\":\($0)" }.joined(separator: ",")

        let answer = try await connection.request(
            "POST", "/v1/sessions/\(created["session"]?["id"]?.string ?? "")/events",
            headers: [
                "Authorization": "Bearer \(created["token"]?.string ?? "")", "Content-Type": "application/json",
            ], body: Data(#"{"type":"fill","payload":{\#(names)}}"#.utf8))

        #expect(answer.status == 200)
        #expect(try JSON(parsing: Array(answer.body))["visible"]?["params"]?["count"] == .integer(count))
    }
}
