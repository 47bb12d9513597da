import Foundation
import Testing
import TestSupport

extension Faults {
    /// How much a client with valid requests can burden the store's disk, and how much a damaged disk costs clients.
    @Suite struct StoreAttackTests {
        /// One session with a large state, and small events that each have a key.
        @Test func `one client cannot fill the disk`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let port = server.port
            let attacker = try LargeSession(BlockingClient(port: port))
            let neighbour = try SessionUnderTest(BlockingClient(port: port))
            let poster = Poster(1, port: port, [neighbour])

            // All their answers are larger than the store may become.
            let count = Scale.rounds(2000, long: 40_000)
            let hasEnded = Flag()
            async let others: Void = blocking { while !hasEnded.isSet { _ = try poster.postNext() } }
            var largest = 0
            do {
                defer { hasEnded.set() }
                let client = BlockingClient(port: port)
                for number in 0..<count {
                    try attacker.post(number, client)
                    if number.isMultiple(of: 50) {
                        largest = max(largest, StoreAttackTests.size(directory.path + "/store"))
                    }
                }
            }
            try await others
            try waitUntil { try poster.finishPending() }

            print("\(count) keyed events of 60 KB: at most \(largest >> 20) MiB on the disk")
            #expect(largest < 80 << 20)
            try neighbour.check(BlockingClient(port: port))
            try attacker.checkLast(BlockingClient(port: port))
            try await server.stop()
        }

        /// Bits flip in the file while the server is down; then clients come.
        @Test func `a damaged page does not stop other sessions`() async throws {
            for round in 0..<Scale.rounds(2, long: 30) {
                let directory = TemporaryDirectory()
                let server = try await ServerUnderTest(directory: directory.path, flags: ["--live-sessions", "8"])
                let client = BlockingClient(port: server.port)
                let sessions = try (0..<200).map { _ in try SessionUnderTest(client) }
                for (number, session) in sessions.enumerated() {
                    _ = try session.postAndRemember(number + 1, key: "first-\(number)", client)
                }
                client.disconnect()
                try await server.stop()
                let database = directory.path + "/store/sessions.sqlite"
                try StoreAttackTests.damage(database)
                let number = StoreAttackTests.number(of: database)

                try await server.restart()
                let refused = try StoreAttackTests.use(sessions, client, round: round)
                #expect(refused < sessions.count / 2)
                // Either the server has noticed the damage and reports it, or it could not open the store and has
                // rebuilt it.
                try await eventually {
                    StoreAttackTests.number(of: database) != number
                        || client.call("GET", "/readyz")?.text.contains("damaged") == true
                }
                client.disconnect()
                try await server.stop()
                try await server.restart()
                _ = try StoreAttackTests.use(sessions, client, round: round + 1000)
                try await server.stop()
            }
        }

        /// Creates sessions, and reads and posts to those that were there before.
        ///
        /// - Returns: how many were refused; only those whose own data is damaged may be
        static func use(_ sessions: [SessionUnderTest], _ client: BlockingClient, round: Int) throws -> Int {
            for _ in 0..<30 { _ = try SessionUnderTest(client) }
            var refused = 0
            for (number, session) in sessions.enumerated() {
                let state = try #require(client.call("GET", session.path, token: session.token))
                #expect(state.status == 200 || state.status == 503, "\(state.text)")
                guard state.status == 200 else {
                    refused += 1
                    continue
                }
                #expect(state.version == session.count + 1, "nothing that was acknowledged is lost")
                if try !session.postAndRemember(number + 5000, key: "round-\(round)-\(number)", client) { refused += 1 }
            }
            return refused
        }

        /// Flips bits in one page of the file: neither its first, nor one that leads to others, without which all of them
        /// are lost.
        static func damage(_ path: String) throws {
            var content = try Data(contentsOf: URL(filePath: path))
            let pages = (1..<content.count / 8192).filter { !PageFlips.leadsToOthers(content[$0 * 8192]) }
            let page = try #require(pages.randomElement())
            for _ in 0..<8 { content[page * 8192 + Int.random(in: 0..<8192)] ^= 1 << UInt8.random(in: 0..<8) }
            try content.write(to: URL(filePath: path))
        }

        /// The file's number in the file system: with another number it is another file.
        static func number(of path: String) -> Int? {
            (try? FileManager.default.attributesOfItem(atPath: path))?[.systemFileNumber] as? Int
        }

        static func size(_ directory: String) -> Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.reduce(0) { sum, name in
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
                return sum + ((attributes?[.size] as? Int) ?? 0)
            }
        }
    }
}

/// A session of `main` whose state is nearly as large as it may be.
private final class LargeSession: @unchecked Sendable {
    // Unchecked: one test uses it, one task at a time.
    private let path: String
    private let token: String
    private var last: (key: String, body: String, reply: Reply)?

    init(_ client: BlockingClient) throws {
        let reply = try #require(client.call("POST", "/v1/sessions", body: #"{"app":"main"}"#))
        path = "/v1/sessions/\(try #require(reply.member("id")))/events"
        token = try #require(reply.member("token"))
        let text = String(repeating: "x", count: 60_000)
        let large = client.call("POST", path, token: token, body: #"{"type":"button02Tapped","payload":"\#(text)"}"#)
        #expect(large?.status == 200)
    }

    /// Posts events, of which each is a transition after the one before it.
    func post(_ number: Int, _ client: BlockingClient) throws {
        let body = number % 2 == 0 ? #"{"type":"button01Tapped","payload":3}"# : #"{"type":"back"}"#
        let key = "attack-\(number)"
        guard let reply = client.call("POST", path, token: token, key: key, body: body), reply.status == 200 else {
            throw TestFailure("an event was not answered")
        }
        last = (key, body, reply)
    }

    func checkLast(_ client: BlockingClient) throws {
        let last = try #require(last)
        let again = try #require(client.call("POST", path, token: token, key: last.key, body: last.body))
        #expect(again.isReplay && again.body == last.reply.body)
    }
}
