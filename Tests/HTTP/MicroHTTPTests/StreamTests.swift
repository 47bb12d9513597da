import Foundation
import MicroHTTP
import Synchronization
import TestSupport
import Testing

/// Sends what a test hands it.
private final class TestStream: HTTPStream {
    private struct State {
        var parts: [HTTPStreamPart] = []
        var wake: (@Sendable () -> Void)?
        var asked = 0
    }

    private let state = Mutex(State())
    private let isEndless: Bool
    private let onRelease: @Sendable () -> Void

    init(isEndless: Bool = false, onRelease: @escaping @Sendable () -> Void) {
        self.isEndless = isEndless
        self.onRelease = onRelease
    }

    deinit { onRelease() }

    func begin(waking wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    func next(isQuiet: Bool) -> HTTPStreamPart {
        state.withLock { state in
            state.asked += 1
            if isEndless { return .bytes([UInt8](repeating: 0x78, count: 5000)) }
            if state.parts.isEmpty { return isQuiet ? .bytes(Array("quiet".utf8)) : .wait() }
            return state.parts.removeFirst()
        }
    }

    func send(_ text: String) {
        add(.bytes(Array(text.utf8)))
    }

    func end() {
        add(.end)
    }

    private func add(_ part: HTTPStreamPart) {
        let wake = state.withLock { state in
            state.parts.append(part)
            return state.wake
        }
        wake?()
    }

    /// How often a part was asked for.
    var asked: Int { state.withLock(\.asked) }
}

/// Answers `/stream` and `/endless` with a stream, and everything else with one byte.
private final class StreamHandler: HTTPHandler {
    private struct State {
        var streams: [TestStream] = []
        var released = 0
    }

    private let state = Mutex(State())

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        guard let name = request.target.segments.first, name != "other" else {
            return HTTPResponse(status: 200, body: [0x79])
        }
        let stream = TestStream(isEndless: name == "endless") { self.state.withLock { $0.released += 1 } }
        state.withLock { $0.streams.append(stream) }
        return HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], stream: stream)
    }

    var streams: [TestStream] { state.withLock(\.streams) }

    func forget() {
        // Released after the lock.
        let streams = state.withLock { state in
            defer { state.streams = [] }
            return state.streams
        }
        withExtendedLifetime(streams) {}
    }

    var released: Int { state.withLock(\.released) }
}

@Suite struct StreamTests {
    private let handler = StreamHandler()

    private func start(_ change: (inout HTTPServer.Settings) -> Void = { _ in }) throws -> HTTPServer {
        var settings = HTTPServer.Settings.unhurried
        change(&settings)
        return try HTTPServer(settings, handler: handler)
    }

    /// A connection on which the head of a stream has arrived.
    private func open(_ server: HTTPServer, _ path: String = "/stream") async throws -> (Connection, Answer) {
        let connection = try Connection(port: server.port)
        try await connection.send(Connection.bytes("GET", path))
        return (connection, try await connection.receive(bodyless: true))
    }

    /// What arrives until `count` bytes are there.
    private func text(_ connection: Connection, _ count: Int) async throws -> String {
        var all = Data()
        while all.count < count {
            guard let chunk = try await connection.receiveChunk() else { break }
            all += chunk
        }
        return String(decoding: all, as: UTF8.self)
    }

    @Test func `parts arrive when they are made, however long that takes, and the connection ends with them`()
        async throws
    {
        let server = try start { $0.idleTimeout = 1 }
        var opened: (Connection, Answer)?
        // A second may pass before the request has arrived.
        try await eventually {
            opened = try? await open(server)
            return opened != nil
        }
        let (connection, head) = try #require(opened)
        #expect(head.status == 200 && head.headers["transfer-encoding"] == "chunked")
        let stream = try #require(handler.streams.last)

        try await Task.sleep(for: .milliseconds(1500))
        for part in ["one", String(repeating: "two", count: 50_000), "three"] {
            stream.send(part)
            #expect(try await text(connection, part.utf8.count) == part)
        }
        stream.end()
        #expect(try await connection.receiveChunk() == nil)
        #expect(try await connection.isClosed())
    }

    @Test func `a client of HTTP 1.0 reads to the end of the connection`() async throws {
        let server = try start()
        let connection = try Connection(port: server.port)
        try await connection.send("GET /stream HTTP/1.0\r\nHost: x\r\n\r\n")
        try await eventually { handler.streams.count == 1 }
        let part = String(repeating: "abc", count: 2000)
        handler.streams[0].send(part)
        handler.streams[0].end()

        let all = String(decoding: try await connection.receiveAll(), as: UTF8.self)
        #expect(all.hasSuffix("\r\n\r\n" + part))
    }

    @Test func `HEAD gets no part`() async throws {
        let server = try start()
        let connection = try Connection(port: server.port)
        try await connection.send(Connection.bytes("HEAD", "/stream"))
        let all = String(decoding: try await connection.receiveAll(), as: UTF8.self)
        #expect(all.hasPrefix("HTTP/1.1 200 OK") && all.hasSuffix("\r\n\r\n"))
        #expect(!all.contains("Content-Length") && handler.streams[0].asked == 0)
        handler.forget()
        try await eventually { handler.released == 1 }
    }

    @Test func `a stream that has nothing to send is asked for a sign of life`() async throws {
        let server = try start { $0.limits.quiet = 50 }
        let (connection, _) = try await open(server)
        for _ in 1...3 { #expect(try await connection.receiveChunk() == Data("quiet".utf8)) }
    }

    @Test func `a reader that stalls is cut, and takes little`() async throws {
        let server = try start(StreamTests.checkOften)
        let (connection, _) = try await open(server, "/endless")
        try await eventually { server.openConnections == 1 }
        let stream = handler.streams[0]
        var asked = 0
        repeat {
            asked = stream.asked
            try await Task.sleep(for: .milliseconds(100))
        } while stream.asked > asked

        await server.elapse(.seconds(1800))
        #expect(server.openStreams == 1, "it was not given the time")
        await server.elapse(.seconds(7200))

        try await eventually { server.openConnections == 0 }
        #expect(server.measures[.slowReader] == 1)
        // What is sent waits in this client's own buffer, too, which is of this size.
        #expect(stream.asked * 5000 < 128 * 1024 + connection.receiveBuffer, "\(stream.asked)")
    }

    @Test func `a slow reader that goes on reading is not cut`() async throws {
        let server = try start(StreamTests.checkOften)
        let (connection, _) = try await open(server, "/endless")
        try await eventually { server.openConnections == 1 }
        let stream = handler.streams[0]

        for _ in 1...4 {
            let asked = stream.asked
            // Until the reader has made room for more.
            while stream.asked == asked { #expect(try await connection.receiveChunk()?.count == 5000) }
            await server.elapse(.seconds(2400))
        }

        #expect(server.openStreams == 1 && server.measures[.slowReader] == 0)
    }

    /// Makes the server check the times of its streams each 20 ms.
    private static func checkOften(_ settings: inout HTTPServer.Settings) { settings.limits.quiet = 200 }

    @Test func `a part may arrive in many pieces`() async throws {
        let server = try start()
        let (connection, _) = try await open(server)
        let part = (0..<50_000).map(String.init).joined()

        handler.streams[0].send(part)
        handler.streams[0].send("end")

        #expect(try await text(connection, part.utf8.count + 3) == part + "end")
    }

    @Test(arguments: [false, true])
    func `a reader that is gone is noticed`(isHalf: Bool) async throws {
        let server = try start { $0.limits.quiet = 200 }
        var connection: Connection? = try await open(server).0
        handler.forget()
        if isHalf { try await connection?.send(Data(), isLast: true) } else { connection = nil }
        try await eventually { handler.released == 1 && server.openConnections == 0 }
        withExtendedLifetime(connection) {}
    }

    @Test func `a stop ends streams one after the other, and their connections`() async throws {
        let server = try start { $0.limits.quiet = 300_000 }
        var connections: [Connection] = []
        for _ in 0..<100 { connections.append(try await open(server).0) }
        handler.forget()

        // A second passes with each reading of the clock. After half of the limit no stream is left, and before that no
        // more have ended than the time allows.
        let clock = HeldClock()
        let isEarly = Atomic(false)
        let beginning = clock.now
        await server.stop(within: .seconds(100)) { [handler] in
            clock.advance(.seconds(1))
            let share = 2 * ((clock.now - beginning) / .seconds(100))
            if Double(handler.released) > 100 * share + 1 { isEarly.store(true, ordering: .relaxed) }
            return clock.now
        }

        let wasEarly = isEarly.load(ordering: .relaxed)
        #expect(!wasEarly)
        #expect(handler.released == 100)
        for connection in connections {
            #expect(try await connection.receiveChunk() == nil)
            #expect(try await connection.isClosed())
        }
    }

    @Test(arguments: 1...6)
    func `a server that stops at once ends its streams, whatever is sent meanwhile`(round: Int) async throws {
        var server: HTTPServer? = try start()
        var connections: [Connection] = []
        for _ in 0..<20 { connections.append(try await open(server!).0) }
        let streams = handler.streams
        let sending = Task {
            while !Task.isCancelled {
                for stream in streams { stream.send("part") }
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        try await Task.sleep(for: .milliseconds(10 * round))
        if round.isMultiple(of: 2) { await server?.stop(within: .zero) }
        server = nil
        for connection in connections { #expect(try await connection.isClosed()) }
        sending.cancel()
        await sending.value
        handler.forget()
    }

    @Test func `streams end, and are woken, by many threads at once`() async throws {
        let server = try start { $0.limits.quiet = 100 }
        try await withThrowingTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    let (connection, _) = try await open(server)
                    var received = ""
                    while let chunk = try await connection.receiveChunk() {
                        received += String(decoding: chunk, as: UTF8.self)
                    }
                    #expect(received.replacing("quiet", with: "") == "012345678")
                    #expect(try await connection.isClosed())
                }
            }
            try await eventually { handler.streams.count == 200 }
            let streams = handler.streams
            for stream in streams {
                group.addTask {
                    for number in 0..<9 {
                        stream.send(String(number))
                        if number == 4 { try await Task.sleep(for: .milliseconds(50)) }
                    }
                    stream.end()
                }
            }
            try await group.waitForAll()
        }
    }
}
