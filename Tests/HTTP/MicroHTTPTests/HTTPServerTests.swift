import Foundation
import MicroHTTP
import Synchronization
import Testing
import TestSupport

/// Describes the request in the answer; `/wait` waits until the test calls `release`.
final class EchoHandler: HTTPHandler {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
    /// Answers, counted here when they are given, and in `received` by the test when they have arrived.
    let answered = Atomic(0)
    let received = Atomic(0)

    var waitingCount: Int { waiting.withLock { $0.count } }

    func release() {
        let continuations = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for continuation in continuations { continuation.resume() }
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        if request.target.segments == ["wait"] {
            await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
        }
        if request.target.segments == ["yield"] { await Task.yield() }
        answered.add(1, ordering: .relaxed)
        let text =
            "\(request.method) \(request.target.segments) \(request.headers["X-Test"] ?? "-") \(request.body.count)"
        return HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
    }
}

extension HTTPServer.Settings {
    /// Any free port, and limits that no client exceeds, however slow the machine is.
    static var unhurried: HTTPServer.Settings {
        var settings = HTTPServer.Settings()
        settings.port = 0
        settings.idleTimeout = 3600
        (settings.limits.head, settings.limits.body, settings.limits.sending) = (3_600_000, 3_600_000, 3_600_000)
        return settings
    }
}

/// A clock that stands still until a test moves it.
final class HeldClock: Sendable {
    private let time = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { time.withLock { $0 } }

    func advance(_ duration: Duration) { time.withLock { $0 += duration } }
}

@Suite struct HTTPServerTests {
    static func start(_ handler: EchoHandler = EchoHandler(), bodyLimit: Int = 1000, threads: Int = 2) throws
        -> HTTPServer
    {
        var settings = HTTPServer.Settings.unhurried
        settings.threads = threads
        settings.bodyLimit = bodyLimit
        return try HTTPServer(settings, handler: handler)
    }

    @Test(arguments: [1, 2, 4]) func `answers one request after the other on one connection`(threads: Int) async throws
    {
        let server = try HTTPServerTests.start(threads: threads)
        let connection = try Connection(port: server.port)

        for path in ["a", "yield", "b"] {
            let answer = try await connection.request(
                "POST", "/\(path)", headers: ["x-test": "é"], body: Data("12345".utf8))
            #expect(answer.status == 200)
            #expect(answer.text == "POST [\"\(path)\"] é 5")
        }
    }

    @Test func `pipelined requests are answered in order`() async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)
        let paths = ["a", "yield", "b", "yield", "c"]

        try await connection.send(paths.reduce(Data()) { $0 + Connection.bytes("GET", "/\($1)") })

        for path in paths { #expect(try await connection.receive().text == "GET [\"\(path)\"] - 0") }
    }

    @Test func `HEAD has the head of GET and no body`() async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        let answer = try await connection.request("HEAD", "/a")

        #expect(answer.headers["content-length"] == "\("HEAD [\"a\"] - 0".utf8.count)")
        #expect(try await connection.request("GET", "/a").status == 200, "no byte of a body came in between")
    }

    @Test func `a client that expects 100 Continue gets it before it sends its body`() async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)
        let request = Connection.bytes("POST", "/a", headers: ["Expect": "100-continue"], body: Data("12345".utf8))

        try await connection.send(request.dropLast(5))
        #expect(try await connection.receive().status == 100)
        try await connection.send("12345")

        #expect(try await connection.receive().text == "POST [\"a\"] - 5")
    }

    @Test func `a body over the limit is refused, and the connection stays open`() async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        #expect(try await connection.request("POST", "/a", body: Data(count: 1001)).status == 413)
        #expect(try await connection.request("POST", "/a", body: Data(count: 1000)).text == "POST [\"a\"] - 1000")
    }

    @Test(arguments: [
        ("Content-Length: 100000\r\n", 413), ("Content-Length: 18446744073709551615\r\n", 413),
        ("Content-Length: 1001\r\nExpect: 100-continue\r\n", 413), ("Transfer-Encoding: chunked\r\n", 411),
        ("Content-Length: 1\r\nExpect: something\r\n", 417),
    ])
    func `a body that cannot be read to its end is refused at once, and the connection closed`(
        headers: String, status: Int
    ) async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        try await connection.send("POST /a HTTP/1.1\r\nHost: x\r\n\(headers)\r\n")

        #expect(try await connection.receive().status == status)
        #expect(try await connection.isClosed())
    }

    @Test(arguments: [
        "/a%00b", "/a%2Fb", "/a%2fb", "/../a", "/a/./b", "/a/%2e%2E/b", "//../a", "/a%", "/a%4", "/a%GG", "/%FF",
        "/a|b", "/a\"b", "*", "*?a", "**", "/a?b=%zz", "/a#b",
    ])
    func `an ambiguous target is refused, and the connection stays open`(target: String) async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        #expect(try await connection.request("GET", target).status == 400)
        #expect(try await connection.request("GET", "/a").status == 200)
    }

    @Test func `a target is decoded once`() throws {
        let target = try #require(HTTPTarget("/a%20b/%C3%A9/%252F?x=1&y=%26&z"))

        #expect(target.segments == ["a b", "é", "%2F"])
        #expect(target.query.map(\.name) == ["x", "y", "z"])
        #expect(target.query.map(\.value) == ["1", "&", ""])
        #expect(HTTPTarget("/")?.segments == [])
        #expect(HTTPTarget("//")?.segments == ["", ""])
        #expect(HTTPTarget("/a//b/?x=/")?.segments == ["a", "", "b", ""])
    }

    @Test func `only OPTIONS may mean the server as a whole, and no path does`() async throws {
        let server = try HTTPServerTests.start()
        let connection = try Connection(port: server.port)

        #expect(try await connection.request("OPTIONS", "*").text == "OPTIONS [] - 0")
        #expect(try await connection.request("POST", "*").status == 400)

        #expect(HTTPTarget("*")?.isServerWide == true && HTTPTarget("*")?.segments == [])
        #expect(HTTPTarget("/*")?.isServerWide == false && HTTPTarget("/")?.isServerWide == false)
    }

    @Test func `the handler sees paths without the base path`() async throws {
        var settings = HTTPServer.Settings.unhurried
        settings.basePath = ["a", "b"]
        let server = try HTTPServer(settings, handler: EchoHandler())
        let connection = try Connection(port: server.port)

        for (path, segments) in [
            ("/a/b/c", ["c"]), ("/c", ["c"]), ("/a/b", []), ("/a/b/", [""]), ("/a", ["a"]), ("/a/c", ["a", "c"]),
            ("/a/b/a/b", ["a", "b"]), ("http://x/%61/b/c", ["c"]), ("/a/bc", ["a", "bc"]), ("/c/a/b", ["c", "a", "b"]),
        ] {
            #expect(try await connection.request("GET", path).text == "GET \(segments) - 0")
        }
    }

    @Test func `a handler that waits delays no other request`() async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler, threads: 1)
        let slow = try Connection(port: server.port)
        try await slow.send(Connection.bytes("GET", "/wait"))
        try await eventually { handler.waitingCount == 1 }

        #expect(try await Connection(port: server.port).request("GET", "/a").status == 200)
        handler.release()

        #expect(try await slow.receive().text == "GET [\"wait\"] - 0")
    }

    @Test func `a client that goes away while it waits leaves nothing behind`() async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler)
        for count in 1...20 {
            let connection = try Connection(port: server.port)
            try await connection.send(Connection.bytes("GET", "/wait"))
            try await eventually { handler.waitingCount == count }
        }

        handler.release()
        try await eventually { server.requestsUnderWay == 0 }
    }

    @Test func `a port in use and an unknown host are reported as such`() async throws {
        let server = try HTTPServerTests.start()
        var settings = HTTPServer.Settings()
        settings.port = server.port

        #expect(throws: HTTPServerError.addressInUse(host: "127.0.0.1", port: server.port)) {
            try HTTPServer(settings, handler: EchoHandler())
        }
        settings.host = "no such host.invalid"
        await #expect(throws: HTTPServerError.unknownHost("no such host.invalid")) {
            try await blocking { [settings] in try HTTPServer(settings, handler: EchoHandler()) }
        }
    }
}

@Suite struct HTTPServerStopTests {
    @Test func `stopping waits for the requests under way`() async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler)
        let connection = try Connection(port: server.port)
        try await connection.send(Connection.bytes("GET", "/wait"))
        try await eventually { handler.waitingCount == 1 }

        let stopping = Task { await server.stop(within: .seconds(3600)) }
        try await eventually { try await blocking { (try? Connection(port: server.port)) == nil } }
        // If it does not wait, it answers now.
        try await Task.sleep(for: .milliseconds(50))
        handler.release()

        let answer = try await connection.receive()
        #expect(answer.status == 200)
        #expect(answer.headers["connection"] == "close")
        await stopping.value
        #expect(try await connection.isClosed())
    }

    @Test func `a request that does not end in time is answered with 503, suspended or not`() async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler)
        var connections: [Connection] = []
        for _ in 0..<10 {
            connections.append(try Connection(port: server.port))
            try await connections[connections.count - 1].send(Connection.bytes("GET", "/wait"))
        }
        try await eventually { handler.waitingCount == 10 }

        // No time passes, however long it takes to send the answers.
        let clock = HeldClock()
        let stopping = Task { await server.stop(within: .zero) { clock.now } }
        for connection in connections { #expect(try await connection.receive().status == 503) }
        handler.release()
        await stopping.value

        // The handlers still run to their end, and release what they hold, such as a session's turn.
        try await eventually { handler.answered.load(ordering: .relaxed) == 10 }
    }

    @Test func `a handler whose client is gone runs to its end`() async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler)
        for path in Array(repeating: "/wait", count: 20) {
            let connection = try Connection(port: server.port)
            try await connection.send(Connection.bytes("GET", path))
        }
        try await eventually { handler.waitingCount == 20 }

        handler.release()

        try await eventually { handler.answered.load(ordering: .relaxed) == 20 }
        try await eventually { server.requestsUnderWay == 0 }
    }

    @Test func `a server that is released with suspended connections ends without a crash`() async throws {
        let handler = EchoHandler()
        var server: HTTPServer? = try HTTPServerTests.start(handler)
        let connection = try Connection(port: server!.port)
        try await connection.send(Connection.bytes("GET", "/wait"))
        try await eventually { handler.waitingCount == 1 }

        server = nil

        #expect(try await connection.isClosed())
        handler.release()
    }

    @Test(arguments: 1...3) func `stopping under load loses no accepted request`(round: Int) async throws {
        let handler = EchoHandler()
        let server = try HTTPServerTests.start(handler)

        let connections = try (0..<8).map { _ in try Connection(port: server.port) }
        let clock = HeldClock()

        try await withThrowingTaskGroup(of: Void.self) { group in
            for (client, connection) in connections.enumerated() {
                group.addTask {
                    while !Task.isCancelled {
                        try await connection.send(Connection.bytes("GET", client % 2 == 0 ? "/a" : "/yield"))
                        let answer = try await connection.receive()
                        #expect(answer.status == 200)
                        handler.received.add(1, ordering: .relaxed)
                        if answer.headers["connection"] == "close" { return }
                    }
                }
            }
            try await eventually { handler.received.load(ordering: .relaxed) > 200 }
            // However long the next request of a client takes, it is on its way.
            await server.stop(within: .seconds(3600)) { clock.now }
            try await group.waitForAll()
        }

        #expect(handler.received.load(ordering: .relaxed) == handler.answered.load(ordering: .relaxed))
    }
}
