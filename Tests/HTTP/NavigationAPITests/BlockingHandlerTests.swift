import Coordinators
import Foundation
import MicroHTTP
import Sessions
import Synchronization
import Testing
import TestSupport

/// Blocks its thread, as an author's code should not.
private struct BlockingCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable {
        case block, pass
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("start")) }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        if event == .block { try navigator.resolve(Door.self).pass() }
    }
}

/// Blocks whoever passes while it is closed.
private final class Door: Sendable {
    private let isClosed = Atomic(false)
    private let opened = DispatchSemaphore(value: 0)
    let hasBeenReached = DispatchSemaphore(value: 0)
    /// Whether somebody has waited so long that the door was not opened from outside.
    let wasForced = Atomic(false)

    func close() { isClosed.store(true, ordering: .sequentiallyConsistent) }

    func open() { opened.signal() }

    func pass() {
        guard isClosed.load(ordering: .sequentiallyConsistent) else { return }
        hasBeenReached.signal()
        if opened.wait(timeout: .now() + Double(hangLimit)) == .timedOut { wasForced.store(true, ordering: .relaxed) }
    }
}

@Suite struct BlockingHandlerTests {
    private let door = Door()

    private func client() async throws -> Client {
        var dependencies = Dependencies()
        dependencies.register(Door.self) { [door] _ in door }
        let app = App("blocking", root: { BlockingCoordinator() }, dependencies: dependencies)
        return try await Client(app)
    }

    /// As many events at once as the server has threads, and more: each in a session of its own.
    private static let count = ProcessInfo.processInfo.activeProcessorCount + 2

    private func session(on client: Client) async throws -> (Connection, path: String, token: String) {
        let connection = try Connection(port: client.server.port)
        let created = try FlowTests.json(try await connection.request("POST", "/v1/sessions"))
        let (id, token) = (created["session"]?["id"]?.string ?? "", created["token"]?.string ?? "")
        return (connection, "/v1/sessions/\(id)/events", token)
    }

    @Test func `other clients are served while handlers block their threads`() async throws {
        let client = try await client()
        door.close()
        var blocked: [Task<Int, any Error>] = []
        for _ in 0..<BlockingHandlerTests.count {
            let (connection, path, token) = try await session(on: client)
            blocked.append(
                Task {
                    try await connection.request(
                        "POST", path,
                        headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
                        body: Data(#"{"type":"block"}"#.utf8)
                    ).status
                })
        }
        for _ in blocked { try await blocking { [door] in door.hasBeenReached.wait() } }

        for _ in 1...20 {
            #expect(try await Connection(port: client.server.port).request("GET", "/livez").status == 200)
        }
        #expect(try await client.post(#"{"type":"pass"}"#).status == 200)

        for _ in blocked { door.open() }
        for task in blocked { #expect(try await task.value == 200) }
        let wasForced = door.wasForced.load(ordering: .relaxed)
        #expect(!wasForced)
    }
}
