import Foundation
import Synchronization
import Testing
import TestSupport

extension Faults {
    @Suite struct SignInFloodTests {
        /// A client that signs in to `clean-login`, from an address that the proxy names.
        private final class Visitor: Sendable {
            private let client: BlockingClient
            private let address: String
            private let path: String
            private let token = Mutex("")

            init(port: Int, from address: String) throws {
                client = BlockingClient(port: port)
                self.address = address
                let reply = client.call("POST", "/v1/sessions", body: #"{"app":"clean-login"}"#)
                guard let reply, let id = reply.member("id"), let token = reply.member("token") else {
                    throw TestFailure("no session: \(reply?.text ?? "cut")")
                }
                path = "/v1/sessions/\(id)/events"
                self.token.withLock { $0 = token }
            }

            func post(_ body: String) throws -> Reply {
                let token = token.withLock { $0 }
                guard let reply = client.call("POST", path, token: token, address: address, body: body) else {
                    throw TestFailure("cut")
                }
                if let new = reply.member("token") { self.token.withLock { $0 = new } }
                return reply
            }

            func logIn(_ email: String, _ password: String) throws -> Reply {
                try post(#"{"type":"login","payload":{"email":"\#(email)","password":"\#(password)"}}"#)
            }
        }

        @Test func `made-up names on 24 connections keep nobody else from signing in`() async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path, flags: ["--development", "--trusted-proxy", "127.0.0.1"])
            let port = server.port
            let hasEnded = Flag()

            let owner = try Visitor(port: port, from: "198.51.100.7")
            let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
                for number in 0..<24 {
                    group.addTask {
                        try await blocking {
                            let stranger = try Visitor(port: port, from: "192.0.2.\(number % 2)")
                            var statuses: [Int] = []
                            while !hasEnded.isSet {
                                statuses.append(try stranger.logIn("\(UUID())@example.com", "wrong").status)
                                _ = try stranger.post(#"{"type":"answer","payload":{"button":"ok"}}"#)
                            }
                            return statuses
                        }
                    }
                }
                // The flood is under way when a client of its address is refused.
                let early = try await blocking { () -> [Reply] in
                    defer { hasEnded.set() }
                    let stranger = try Visitor(port: port, from: "192.0.2.1")
                    while try stranger.logIn("\(UUID())@example.com", "wrong").status != 429 {
                        _ = try stranger.post(#"{"type":"answer","payload":{"button":"ok"}}"#)
                    }
                    return try (0..<Scale.rounds(5, long: 100)).map { _ in
                        let reply = try owner.logIn("ann@example.com", "correct horse")
                        _ = try owner.post(#"{"type":"logout"}"#)
                        return reply
                    }
                }
                for reply in early { #expect(reply.status == 200 && reply.text.contains(#""name":"main""#)) }
                return try await group.reduce(into: []) { $0 += $1 }
            }

            #expect(statuses.contains(200) && Set(statuses).isSubset(of: [200, 429]))
            try await server.stop()
        }
    }
}
