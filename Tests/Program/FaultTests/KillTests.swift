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

        /// Each key is posted by one client and withdrawn by another one at the same time, and the server is killed in
        /// every other round.
        @Test func `an event is either carried out or withdrawn, for good`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let checker = BlockingClient(port: server.port)
            let sessions = try (0..<16).map { _ in try SessionUnderTest(checker) }
            let clients = sessions.map { _ in
                (poster: BlockingClient(port: server.port), other: BlockingClient(port: server.port))
            }
            var carriedOut = sessions.map { _ in 0 }

            for round in 1...Scale.rounds(8, long: 500) {
                async let withdrawals = withThrowingTaskGroup(of: (Int, Int).self) { group in
                    for (number, session) in sessions.enumerated() {
                        group.addTask {
                            async let posted: Void = blocking {
                                _ = session.post(round, key: "key-\(round)", clients[number].poster)
                            }
                            let status = try await blocking {
                                usleep(.random(in: 0...3_000))
                                return try session.withdraw("key-\(round)", clients[number].other)
                            }
                            try await posted
                            return (number, status)
                        }
                    }
                    return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                if round.isMultiple(of: 2) {
                    try await Task.sleep(for: .milliseconds(.random(in: 0...5)))
                    try await server.kill()
                    try await server.restart()
                }
                for (number, status) in try await withdrawals {
                    let again = try #require(sessions[number].post(round, key: "key-\(round)", checker))
                    if status == 200 { carriedOut[number] += 1 }
                    #expect(again.status == (status == 200 ? 200 : 409), "\(again.text)")
                    #expect(status == 200 ? again.isReplay : again.text.contains("key-withdrawn"))
                }
                checker.disconnect()
            }

            for (session, count) in zip(sessions, carriedOut) {
                let state = try #require(checker.call("GET", session.path, token: session.token))
                #expect(state.version == 1 + count)
            }
            let all = carriedOut.reduce(0, +)
            #expect(all > 0 && all < sessions.count * Scale.rounds(8, long: 500), "one side has always won")
            try await server.stop()
        }
    }
}
