import Coordinators
import Foundation
import JSONCoding
import MicroHTTP
import NavigationAPI
import Sessions
import TestSupport
import Testing

/// A client of `GET /v1/sessions/{id}/updates`.
private final class Listener {
    struct Event: Equatable {
        var id: String?
        var type: String?
        var data: JSON?

        var version: Int? { data?["session"]?["version"]?.integer }
    }

    let head: Answer
    private let connection: Connection
    private var received = ""

    init(
        _ client: Client, token: String? = nil, after lastID: String? = nil, _ query: String = ""
    ) async throws {
        connection = try Connection(port: client.server.port)
        var headers = ["Authorization": "Bearer \(token ?? client.token)"]
        headers["Last-Event-ID"] = lastID
        try await connection.send(Connection.bytes("GET", client.path + "/updates" + query, headers: headers))
        head = try await connection.receive(bodyless: true)
    }

    /// What comes until the next empty line; `nil` at the end of the stream.
    private func block() async throws -> Substring? {
        while true {
            if let end = received.range(of: "\n\n") {
                defer { received.removeSubrange(..<end.upperBound) }
                return received[..<end.lowerBound]
            }
            guard let chunk = try await connection.receiveChunk() else { return nil }
            received += String(decoding: chunk, as: UTF8.self)
        }
    }

    /// Waits for a sign of life, before which no event may come.
    func signOfLife() async throws {
        let block = try await block()
        #expect(block == ":")
    }

    /// The next event that is no mere sign of life.
    ///
    /// - Returns: `nil` at the end of the stream.
    func next() async throws -> Event? {
        while let block = try await block() {
            if block == ":" || block.hasPrefix("retry: ") { continue }
            var event = Event()
            for line in block.split(separator: "\n") {
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let value = parts[1].trimmingPrefix(" ")
                switch parts[0] {
                case "id": event.id = String(value)
                case "event": event.type = String(value)
                case "data": event.data = try JSON(parsing: Array(value.utf8))
                default: throw TestFailure("an unexpected line: \(line)")
                }
            }
            return event
        }
        return nil
    }
}

private let add = #"{"type":"add","payload":1}"#

@Suite struct UpdateStreamTests {
    @Test func `the current state comes first, then every change with its transition`() async throws {
        let client = try await Client()
        let listener = try await Listener(client)
        #expect(listener.head.status == 200)
        #expect(listener.head.headers["content-type"] == "text/event-stream")
        #expect(listener.head.headers["cache-control"] == "no-store, no-transform")
        #expect(listener.head.headers["x-accel-buffering"] == "no")

        let first = try #require(try await listener.next())
        #expect(first.type == "state" && first.id == "\"1\"")
        #expect(try await first.data == JSON(parsing: Array(client.call("GET", client.path).body)))
        for version in 2...4 {
            let posted = try JSON(parsing: Array(try await client.post(add).body))
            let event = try #require(try await listener.next())
            #expect(event.id == "\"\(version)\"" && event.data == posted)
        }
    }

    @Test func `all watchers of a session are told, with controls if they ask for them`() async throws {
        let client = try await Client()
        let plain = try await Listener(client)
        let rich = try await Listener(client, "?include=controls")
        #expect(try await plain.next()?.data?["controls"] == nil)
        #expect(try await rich.next()?.data?["controls"] != nil)
        _ = try await client.post(add)
        #expect(try await plain.next()?.data?["controls"] == nil)
        #expect(try await rich.next()?.data?["controls"] != nil)
    }

    @Test func `who knows the current version is told nothing before the next`() async throws {
        let client = try await Client()
        _ = try await client.post(add)
        let listener = try await Listener(client, after: "\"2\"")
        _ = try await client.post(add)
        let event = try await listener.next()
        #expect(event?.version == 3 && event?.data?["transition"] != nil)
    }

    @Test(arguments: ["\"1\"", "\"3\"", "\"99\"", "2", "", "W/\"2\"", "x"])
    func `after any other id the current state comes at once`(id: String) async throws {
        let client = try await Client()
        _ = try await client.post(add)
        let event = try await Listener(client, after: id).next()
        #expect(event?.version == 2 && event?.data?["transition"] == nil)
    }

    @Test func `the stream ends with the session`() async throws {
        let client = try await Client()
        let listener = try await Listener(client)
        _ = try await listener.next()
        _ = try await client.call("DELETE", client.path)
        let event = try #require(try await listener.next())
        #expect(event.type == "end" && event.data?["reason"]?.string == "ended")
        #expect(try await listener.next() == nil)
        try await eventually { client.host.watcherCount == 0 }
    }

    @Test func `without the token there is nothing to see`() async throws {
        let client = try await Client()
        let wrong = try await Listener(client, token: "wrong")
        #expect(wrong.head.status == 401)
        let unknown = try await client.connection.request("GET", "/v1/sessions/s_0/updates")
        #expect(unknown.status == 401)
        #expect(client.host.watcherCount == 0)
    }

    @Test func `too many are refused, and whoever leaves makes room`() async throws {
        let client = try await Client()
        var listeners: [Listener] = []
        for _ in 0..<16 { listeners.append(try await Listener(client)) }
        #expect(try await Listener(client).head.status == 429)
        for listener in listeners { #expect(try await listener.next()?.version == 1) }
        listeners.removeLast()
        // The second write after a client is gone fails.
        for _ in 0..<3 { _ = try await client.post(add) }
        try await eventually { client.host.watcherCount == 15 }
        #expect(try await Listener(client).head.status == 200)
    }

    @Test func `while the server drains there are no new streams, and the others end`() async throws {
        let client = try await Client()
        let listener = try await Listener(client)
        _ = try await listener.next()
        client.handler.beginDraining()
        #expect(try await Listener(client).head.status == 503)
        // Changes are still told.
        _ = try await client.post(add)
        #expect(try await listener.next()?.version == 2)
        await client.server.stop(within: .milliseconds(100))
        #expect(try await listener.next() == nil)
    }

    @Test func `versions ascend, and the last one always arrives`() async throws {
        let client = try await Client { $0.waitingLimit = 100 }
        let listeners = try await (0..<8).asyncMap { _ in try await Listener(client) }
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let connection = try Connection(port: client.server.port)
                    var count = 0
                    for _ in 0..<15 {
                        let headers = [
                            "Authorization": "Bearer \(client.token)", "Content-Type": "application/json",
                        ]
                        let answer = try await connection.request(
                            "POST", client.path + "/events", headers: headers, body: Data(add.utf8))
                        if answer.status == 200 { count += 1 }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(count == 60)
        for listener in listeners {
            var last = 0
            while last < count + 1 {
                let version = try #require(try await listener.next()?.version)
                #expect(version > last)
                last = version
            }
        }
    }

    @Test func `the stream of an expired session ends`() async throws {
        let client = try await Client { $0.idleLifetime = 8 }
        let listener = try await Listener(client)
        _ = try await listener.next()
        try await listener.signOfLife()
        client.clock.advance(8)
        let event = try #require(try await listener.next())
        #expect(event.type == "end" && event.data?["reason"]?.string == "expired")
    }

    @Test func `the stream ends when its token is replaced, and goes on with the new one`() async throws {
        let client = try await Client(TokenRotationTests.app)
        let old = try await Listener(client)
        _ = try await old.next()
        let entered = try await client.post(TokenRotationTests.enter)
        let event = try #require(try await old.next())
        #expect(event.type == "end" && event.data?["reason"]?.string == "token-replaced")
        let token = try #require(try JSON(parsing: Array(entered.body))["token"]?.string)
        #expect(try await Listener(client, token: token).next()?.version == 2)
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
