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

            for round in 1...Scale.rounds(12, long: 500) {
                async let posted: Void = posters.map(\.poster).postUntilCut()
                try await Task.sleep(for: .milliseconds(.random(in: 10...200)))
                try await server.stop()
                try await posted
                let failures = posters.count { !$0.poster.client.isRefused }
                #expect(failures == 0, "round \(round)")

                try await server.restart()

                try await posters.map(\.poster).finishPending()
                checker.disconnect()
                try await blocking { for (_, session) in posters { try session.check(checker) } }
            }
            #expect(posters.map(\.session.count).reduce(0, +) > 1000, "there was no load")
            try await server.stop()
        }

        /// Handlers that take a minute, slow heads and bodies, and connections that come and go all the time.
        @Test func `SIGTERM in a flood ends the server with 0, and requests that wait are answered`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: ["--drain-time", "1s"])

            for round in 1...Scale.rounds(3, long: 60) {
                let waiting = try await DrainTests.waiters(16, at: server.port)
                let flood = Flood(port: server.port)
                async let flooded: Void = flood.comeAndGo(threads: 4)
                defer { flood.end() }
                try await Task.sleep(for: .milliseconds(.random(in: 100...300)))

                let start = ContinuousClock.now
                server.program.signal(SIGTERM)
                for connection in waiting {
                    let answer = try await connection.receive()
                    #expect(answer.status == 503 && answer.headers["connection"] == "close")
                }
                #expect(try await server.program.end() == 0, "round \(round)")
                #expect(ContinuousClock.now - start < .seconds(6))

                flood.end()
                await flooded
                try await server.restart()
            }
            try await server.stop()
        }

        /// Connections whose requests are being handled, for that many milliseconds.
        static func waiters(_ count: Int, at port: Int, milliseconds: Int = 60_000) async throws -> [Connection] {
            let client = BlockingClient(port: port)
            let body = Data(#"{"type":"wait","payload":{"milliseconds":\#(milliseconds)}}"#.utf8)
            var waiting: [Connection] = []
            for _ in 0..<count {
                let session = try SessionUnderTest(client)
                let headers = ["Authorization": "Bearer \(session.token)", "Content-Type": "application/json"]
                waiting.append(try Connection(port: port))
                try await waiting[waiting.count - 1].send(
                    Connection.bytes("POST", "\(session.path)/events", headers: headers, body: body))
            }
            return waiting
        }
    }
}

extension WaitingFaults {
    @Suite struct DrainTimeTests {
        @Test func `by default, a drain waits seven seconds for a handler`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let late = try await Faults.DrainTests.waiters(1, at: server.port)
            let early = try await Faults.DrainTests.waiters(1, at: server.port, milliseconds: 4000)

            let start = ContinuousClock.now
            server.program.signal(SIGTERM)

            #expect(try await early[0].receive().status == 200)
            #expect(try await late[0].receive().status == 503)
            #expect(try await server.program.end() == 0)
            #expect(.seconds(7)..<(.seconds(10)) ~= ContinuousClock.now - start)
        }

        @Test func `while a drain is delayed, connections are accepted, but the server is not ready`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: ["--drain-delay", "2s"])
            let client = BlockingClient(port: server.port)
            #expect(client.call("GET", "/readyz")?.isLast == false)

            server.program.signal(SIGTERM)

            try await eventually { client.call("GET", "/readyz")?.status == 503 }
            let session = try SessionUnderTest(client)
            #expect(session.post(1, key: "key-1", client)?.isLast == true)
            try await eventually { client.call("GET", "/readyz") == nil }
            #expect(client.isRefused)
            #expect(try await server.program.end() == 0)
        }
    }
}
