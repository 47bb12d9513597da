import Foundation
import Testing
import TestSupport

// Sessions that are loaded from the store while they are read, changed and ended. A fault here shows in one round of
// ten or a hundred, so there are hundreds of rounds.

extension Faults {
    @Suite(.serialized) struct LoadingRaceTests {
        let directory = TemporaryDirectory()
        private static let connections = 13

        /// A server whose sessions are all in the store, none of them in memory.
        func serve(
            liveSessions: Int, sessions count: Int
        ) async throws -> (server: ServerUnderTest, sessions: [Session]) {
            let server = try await ServerUnderTest(
                directory: directory.path,
                flags: ["--live-sessions", "\(liveSessions)", "--durability", "relaxed"])
            let client = BlockingClient(port: server.port)
            let sessions = try (0..<count).map { _ in try Session(client) }
            client.disconnect()
            try await server.stop()
            try await server.restart()
            return (server, sessions)
        }

        struct Session {
            let path: String
            let id: String
            let token: String

            init(_ client: BlockingClient) throws {
                let reply = client.call("POST", "/v1/sessions", body: #"{"app":"numbers"}"#)
                guard let reply, let id = reply.member("id"), let token = reply.member("token") else {
                    throw TestFailure("no session: \(String(describing: reply?.text))")
                }
                (self.id, self.token, path) = (id, token, "/v1/sessions/\(id)")
            }
        }

        @Test(arguments: Scale.isLong ? [1, 8, 100_000] : [8])
        func `a session that has ended stays ended, whoever reads it at that moment`(liveSessions: Int) async throws {
            let (server, sessions) = try await serve(
                liveSessions: liveSessions, sessions: Scale.rounds(400, long: 10_000))
            let clients = (0..<LoadingRaceTests.connections).map { _ in BlockingClient(port: server.port) }

            let faults = try await blocking {
                sessions.enumerated().compactMap { round, session in
                    let ending = round % clients.count
                    for (number, client) in clients.enumerated() {
                        _ = client.begin(number == ending ? "DELETE" : "GET", session.path, token: session.token)
                    }
                    var statuses = clients.map { $0.finish()?.status ?? 0 }
                    guard statuses.remove(at: ending) == 204 else { return "\(round): it does not end" }
                    guard statuses.allSatisfy({ $0 == 200 || $0 == 410 }) else { return "\(round): \(statuses)" }
                    let later = [
                        clients[0].call("GET", session.path, token: session.token),
                        clients[1].call(
                            "POST", "/v1/sessions", token: session.token, body: #"{"forkOf":"\#(session.id)"}"#),
                        clients[2].call(
                            "POST", "\(session.path)/events", token: session.token, body: #"{"type":"fail"}"#),
                    ]
                    .map { $0?.status ?? 0 }
                    return later == [410, 410, 410] ? nil : "\(round): then a read, a fork and an event: \(later)"
                }
            }

            #expect(faults.isEmpty, "\(faults.count) of \(sessions.count), \(faults.prefix(3))")
            try await server.stop()
        }

        /// Each round posts an event to one session while others read it, and while so many other sessions are read
        /// that it is evicted again and again.
        @Test(arguments: Scale.isLong ? [1, 8, 100_000] : [8])
        func `no read is older than an answer before it, and no event is refused`(liveSessions: Int) async throws {
            let (server, sessions) = try await serve(liveSessions: liveSessions, sessions: 24)
            let clients = (0..<LoadingRaceTests.connections).map { _ in BlockingClient(port: server.port) }

            let faults = try await blocking {
                var versions = [Int](repeating: 1, count: sessions.count)
                return (1...Scale.rounds(800, long: 20_000)).compactMap { round -> String? in
                    let (position, posting) = (round / 8 % sessions.count, round % clients.count)
                    let session = sessions[position]
                    for (number, client) in clients.enumerated() {
                        if number == posting {
                            let body = #"{"type":"update","payload":\#(round)}"#
                            _ = client.begin("POST", "\(session.path)/events", token: session.token, body: body)
                        } else {
                            let next = sessions[(position + number) % sessions.count]
                            let other = number.isMultiple(of: 2) ? session : next
                            _ = client.begin("GET", other.path, token: other.token)
                        }
                    }
                    let replies = clients.map { $0.finish() }
                    guard replies.allSatisfy({ $0?.status == 200 }), let posted = replies[posting]?.version else {
                        return "\(round): \(replies.map { $0?.status ?? 0 })"
                    }
                    let read = clients[0].call("GET", session.path, token: session.token)?.version ?? 0
                    defer { versions[position] = max(posted, read) }
                    guard posted > versions[position], read >= posted else {
                        return "\(round): \(posted) after \(versions[position]), then \(read)"
                    }
                    return nil
                }
            }

            #expect(faults.isEmpty, "\(faults.count), \(faults.prefix(5))")
            try await server.stop()
        }
    }
}
