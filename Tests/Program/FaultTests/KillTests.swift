import Foundation
import Testing
import TestSupport

extension Faults {
    @Suite struct KillTests {
        /// 30 rounds, 1,000 in the long form, with 32 clients: each has a session of its own, and all share four.
        @Test func `kill -9 at any moment loses no acknowledged event and applies none twice`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let checker = BlockingClient(port: server.port)
            let shared = try (0..<4).map { _ in try SessionUnderTest(checker) }
            let posters = try (0..<32).map { number in
                let own = [try SessionUnderTest(checker)]
                return (poster: Poster(number, port: server.port, own + shared), own: own)
            }
            let sessions = shared + posters.flatMap(\.own)

            for _ in 0..<Scale.rounds(30, long: 1000) {
                async let posted: Void = posters.map(\.poster).postUntilCut()
                try await Task.sleep(for: .milliseconds(.random(in: 10...150)))
                try await server.kill()
                try await posted

                try await server.restart()

                try await posters.map(\.poster).finishPending()
                checker.disconnect()
                try await blocking { for session in sessions { try session.check(checker) } }
            }
            #expect(sessions.map(\.count).reduce(0, +) > 1000, "there was no load")
            try await server.stop()
        }

        /// Every event is sent from one to five times by any clients, and the server is killed now and then.
        @Test func `however often an event is sent, it is applied once`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let opener = BlockingClient(port: server.port)
            let sessions = try (0..<100).map { _ in try SessionUnderTest(opener) }
            let clients = (0..<16).map { _ in BlockingClient(port: server.port) }
            let (windows, eventsOfOne) = (Scale.rounds(6, long: 100), 20)

            for window in 0..<windows {
                // Between the first and the last sending of an event, its session gets no more keys than are kept.
                let work = sessions.indices.flatMap { session in
                    (0..<eventsOfOne).flatMap { event in
                        Array(repeating: (session, window * eventsOfOne + event + 1), count: .random(in: 1...5))
                    }
                }.shuffled()
                let share = (work.count + clients.count - 1) / clients.count
                async let sent: Void = withThrowingTaskGroup(of: Void.self) { group in
                    for (number, client) in clients.enumerated() {
                        let part = work.dropFirst(number * share).prefix(share)
                        group.addTask {
                            try await blocking {
                                for (session, event) in part {
                                    let session = sessions[session]
                                    var tries = 0
                                    while session.post(event, key: "key-\(event)", client)?.status != 200 {
                                        tries += 1
                                        if tries == 1000 { throw TestFailure("not answered") }
                                        usleep(5_000)
                                    }
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                if window % 2 == 1 {
                    try await Task.sleep(for: .milliseconds(.random(in: 10...200)))
                    try await server.kill()
                    try await server.restart()
                }
                try await sent
            }

            opener.disconnect()
            for session in sessions {
                let state = try #require(opener.call("GET", session.path, token: session.token))
                #expect(state.version == 1 + windows * eventsOfOne)
            }
            try await server.stop()
        }
    }
}
