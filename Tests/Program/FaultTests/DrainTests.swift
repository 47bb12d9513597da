import Foundation
import Testing
import TestSupport

extension Faults {
    /// SIGTERM, whatever the server is doing.
    @Suite struct DrainTests {
        /// Half of the clients keep their connections, half open one for every event. Every connection that is accepted
        /// is answered: a client stops only when nobody is listening any more.
        @Test func `after SIGTERM under load no request has failed, and every answer is kept`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let checker = BlockingClient(port: server.port)
            let posters = try (0..<24).map { number in
                let session = try SessionUnderTest(checker)
                return (
                    poster: Poster(number, port: server.port, [session], isBrief: number % 2 == 0), session: session
                )
            }

            func count() -> Int { posters.map(\.session.count).reduce(0, +) }
            for round in 1...Scale.rounds(8, long: 500) {
                let goal = count() + .random(in: 1...300)
                async let failed = posters.map(\.poster).postUntilRefused(grace: DrainTests.idleGrace)
                try await eventually { count() >= goal }
                try await server.stop()
                let failures = try await failed
                #expect(failures == 0, "round \(round)")

                try await server.restart()

                try await posters.map(\.poster).finishPending()
                for (_, session) in posters { try session.check(checker) }
                checker.disconnect()
            }
            try await server.stop()
        }

        /// How long a server that drains waits for a request on a connection that has none.
        private static let idleGrace = Duration.milliseconds(500)

        /// Handlers that take a minute, slow heads and bodies, and connections that come and go all the time.
        @Test func `SIGTERM in a flood ends the server with 0, and requests that wait are answered`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path, flags: ["--drain-time", "1s", "--admin-port", "0"])

            for round in 1...Scale.rounds(3, long: 60) {
                let waiting = try await DrainTests.waiters(16, at: server)
                let flood = Flood(port: server.port)
                async let flooded: Void = flood.comeAndGo(threads: 4)
                defer { flood.end() }
                try await Task.sleep(for: .milliseconds(.random(in: 50...150)))

                // The drain does not wait for what the flood has left open, whose limits are an hour.
                server.program.signal(SIGTERM)
                for connection in waiting {
                    let answer = try await connection.receive()
                    // On a slow machine a handler may reach its own limit before the drain does.
                    #expect(answer.status == 503 && answer.headers["connection"] == "close" || answer.status == 504)
                }
                #expect(try await server.program.end() == 0, "round \(round)")

                flood.end()
                await flooded
                try await server.restart()
            }
            try await server.stop()
        }

        /// Connections whose requests are being handled, as long as a handler may take. The server needs an admin port.
        static func waiters(_ count: Int, at server: ServerUnderTest) async throws -> [Connection] {
            let client = BlockingClient(port: server.port)
            let body = Data(#"{"type":"wait","payload":{"milliseconds":60000}}"#.utf8)
            var waiting: [Connection] = []
            for _ in 0..<count {
                let session = try SessionUnderTest(client)
                let headers = ["Authorization": "Bearer \(session.token)", "Content-Type": "application/json"]
                waiting.append(try Connection(port: server.port))
                try await waiting[waiting.count - 1].send(
                    Connection.bytes("POST", "\(session.path)/events", headers: headers, body: body))
            }
            try await eventually { try server.metric("coordinatord_http_requests_under_way") >= count }
            return waiting
        }
    }
}

extension WaitingFaults {
    @Suite struct DrainTimeTests {
        @Test func `by default, a drain waits six seconds for a handler`() async throws {
            let config = try await Program.coordinatord("config").exit()
            #expect(config.output.contains(/drain-time +6s +default/))
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path, flags: ["--drain-time", "6s", "--admin-port", "0"])
            let waiting = try await Faults.DrainTests.waiters(1, at: server)

            let start = ContinuousClock.now
            server.program.signal(SIGTERM)

            // On a slow machine the handler may reach its own limit first, after ten seconds.
            let status = try await waiting[0].receive().status
            #expect(status == 503 || status == 504)
            #expect(ContinuousClock.now - start >= .seconds(6))
            #expect(try await server.program.end() == 0)
        }

        @Test func `while a drain is delayed, connections are accepted, but the server is not ready`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: ["--drain-delay", "1h"])
            let client = BlockingClient(port: server.port)
            #expect(client.call("GET", "/readyz")?.isLast == false)

            server.program.signal(SIGTERM)

            try await eventually { client.call("GET", "/readyz")?.status == 503 }
            let session = try SessionUnderTest(client)
            #expect(session.post(1, key: "key-1", client)?.isLast == true)
            // The second signal ends the delay, and all the rest.
            server.program.signal(SIGINT)
            #expect(try await server.program.end() == 128 + SIGINT)
        }

        @Test func `after the delay of a drain, nobody is listening`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: ["--drain-delay", "1s"])
            let client = BlockingClient(port: server.port)

            server.program.signal(SIGTERM)

            try await eventually { client.call("GET", "/readyz") == nil && client.isRefused }
            #expect(try await server.program.end() == 0)
        }
    }
}
