import Foundation
import Synchronization
import Testing
import TestSupport

extension Faults {
    @Suite struct KillTests {
        /// With 32 clients: each has a session of its own, and all share four.
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

            func count() -> Int { sessions.map(\.count).reduce(0, +) }
            for _ in 0..<Scale.rounds(20, long: 1000) {
                let goal = count() + .random(in: 1...200)
                async let posted: Void = posters.map(\.poster).postUntilCut()
                try waitUntil { count() >= goal }
                usleep(.random(in: 0...5_000))
                try await server.kill()
                try await posted

                try await server.restart()

                try await posters.map(\.poster).finishPending()
                for session in sessions { try session.check(checker) }
                checker.disconnect()
            }
            try await server.stop()
        }

        /// Every event is sent from one to five times by any clients, and the server is killed now and then.
        @Test func `however often an event is sent, it is applied once`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let opener = BlockingClient(port: server.port)
            let sessions = try (0..<50).map { _ in try SessionUnderTest(opener) }
            let clients = (0..<16).map { _ in BlockingClient(port: server.port) }
            let (windows, eventsOfOne) = (Scale.rounds(6, long: 100), 20)
            let answers = Answers()
            opener.disconnect()

            for window in 0..<windows {
                // Between the first and the last sending of an event, its session gets no more keys than are kept.
                let work = sessions.indices.flatMap { session in
                    (0..<eventsOfOne).flatMap { event in
                        Array(repeating: (session, window * eventsOfOne + event + 1), count: .random(in: 1...5))
                    }
                }.shuffled()
                let share = (work.count + clients.count - 1) / clients.count
                let before = answers.count
                async let sent: Void = withThrowingTaskGroup(of: Void.self) { group in
                    for (number, client) in clients.enumerated() {
                        let part = work.dropFirst(number * share).prefix(share)
                        group.addTask {
                            try await blocking {
                                for (session, event) in part {
                                    let session = sessions[session]
                                    try waitUntil {
                                        session.post(event, key: "key-\(event)", client)?.status == 200
                                    }
                                    answers.add()
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                if window % 2 == 1 {
                    let goal = before + .random(in: 1...(work.count / 2))
                    try waitUntil { answers.count >= goal }
                    try await server.kill()
                    try await server.restart()
                }
                try await sent
            }

            for session in sessions {
                let state = try #require(opener.call("GET", session.path, token: session.token))
                #expect(state.version == 1 + windows * eventsOfOne)
            }
            try await server.stop()
        }

        /// Each key is posted by one client and withdrawn by another one: of three sessions, one where the event comes
        /// first, one where the withdrawal does, and one where both come at the same time. The server is killed in every
        /// other round.
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
                        let (poster, other) = clients[number]
                        let post: @Sendable () -> Int? = {
                            session.post(round, key: "key-\(round)", poster)?.status
                        }
                        let withdraw: @Sendable () -> Int = { session.withdraw("key-\(round)", other) }
                        group.addTask {
                            switch number % 3 {
                            case 0:
                                let posted = try await blocking { post() }
                                let status = try await blocking { withdraw() }
                                if posted == 200 { #expect(status == 200) }
                                return (number, status)
                            case 1:
                                let status = try await blocking { withdraw() }
                                _ = try await blocking { post() }
                                return (number, status)
                            default:
                                async let posted = blocking { post() }
                                let status = try await blocking { () -> Int in
                                    usleep(.random(in: 0...3_000))
                                    return withdraw()
                                }
                                if try await posted == 200 { #expect(status == 200) }
                                return (number, status)
                            }
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
            // In the rounds without a kill, who comes first wins.
            #expect(carriedOut[0] > 0 && carriedOut[1] == 0)
            try await server.stop()
        }
    }
}

private final class Answers: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }
}
