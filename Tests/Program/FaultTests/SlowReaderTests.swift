import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    /// Clients that ask for much and read nothing of it.
    @Suite struct SlowReaderTests {
        @Test func `300 clients that never read the large history they ask for cost little memory, and delay nobody`()
            async throws
        {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path)
            let client = BlockingClient(port: server.port)
            let other = try SessionUnderTest(client)
            _ = other.post(1, key: "key-1", client)
            let large = try SlowReaderTests.largeSession(client)
            let before = try server.residentMemory

            let request = Array(
                "GET \(large.path)/history?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(large.token)\r\n\r\n"
                    .utf8)
            let sockets = (0..<300).compactMap { _ in SlowReaderTests.ask(request, at: server.port) }
            #expect(sockets.count == 300)
            var (memory, value) = (0, 1)
            // Until the server has begun to answer each, and for a while after that. Who had to wait for them would wait
            // for an hour.
            let rounds = Scale.rounds(100, long: 10_000)
            while value <= rounds || !sockets.allSatisfy(SlowReaderTests.hasAnswer) {
                value += 1
                for (method, path, body) in [
                    ("GET", "/readyz", nil), ("GET", "\(other.path)/history", nil),
                    ("POST", "\(other.path)/events", #"{"type":"update","payload":\#(value)}"#),
                ] {
                    let reply = client.call(method, path, token: other.token, body: body)
                    #expect(reply?.status == 200, "\(method) \(path)")
                }
                memory = max(memory, try server.residentMemory - before)
            }

            print("slow readers: \(memory / 1024) MiB more")
            #expect(memory < 100 * 1024, "KiB")
            for socket in sockets { close(socket) }
            try await server.stop()
        }

        @Test
        func `400 clients that send all but the end of large bodies cost little memory, and delay nobody with a token`()
            async throws
        {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(
                directory: directory.path,
                flags: ["--body-size", "1M", "--requests-size", "8M", "--trusted-proxy", "127.0.0.1"])
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            let before = try server.residentMemory
            func stall(_ number: Int, _ size: Int) -> Int32? {
                let head = """
                    POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: \(size)\r\n\
                    X-Forwarded-For: 192.0.2.\(number % 200)\r\n\r\n
                    """
                return SlowReaderTests.ask(
                    Array(head.utf8) + [UInt8](repeating: 0x20, count: size - 1), at: server.port)
            }
            var sockets = (0..<400).compactMap { stall($0, 1 << 20) }

            let large = String(repeating: " ", count: 100_000)
            try await eventually {
                // What the large ones have left is filled by smaller ones.
                if sockets.count < 900 { sockets += (0..<5).compactMap { stall(sockets.count + $0, 90_000) } }
                let creation = client.call(
                    "POST", "/v1/sessions", address: "192.0.2.201", body: "{\"app\":\"numbers\"\(large)}")
                return creation?.status == 503 && creation?.text.contains(":too-many-bytes") == true
            }
            let event = client.call(
                "POST", "\(session.path)/events", token: session.token, address: "192.0.2.201",
                body: "{\"type\":\"update\",\"payload\":1\(large)}")
            #expect(event?.status == 200, "\(event?.text ?? "cut")")
            let memory = try server.residentMemory - before

            print("bodies that do not end: \(memory / 1024) MiB more for \(sockets.count) of 1 MiB")
            #expect(memory < 40 * 1024, "KiB")
            for socket in sockets { close(socket) }
            try await server.stop()
        }

        /// A session with a hundred versions, every second one of which shows a screen with 62 KB of parameters.
        private static func largeSession(_ client: BlockingClient) throws -> (path: String, token: String) {
            let created = client.call("POST", "/v1/sessions", body: #"{"app":"main"}"#)
            guard let created, let id = created.member("id"), let token = created.member("token") else {
                throw TestFailure("no session: \(created?.text ?? "cut")")
            }
            let path = "/v1/sessions/\(id)"
            let push = #"{"type":"button02Tapped","payload":"\#(String(repeating: "x", count: 62_000))"}"#
            for number in 0..<100 {
                let body = number.isMultiple(of: 2) ? push : #"{"type":"back"}"#
                let reply = client.call("POST", "\(path)/events", token: token, body: body)
                guard reply?.status == 200 else { throw TestFailure("no event: \(reply?.text ?? "cut")") }
            }
            return (path, token)
        }

        /// Whether anything has arrived on a connection, or it has ended.
        private static func hasAnswer(_ socket: Int32) -> Bool {
            var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return poll(&ready, 1, 0) > 0
        }

        /// Sends a request on a connection of its own, which receives a few kilobytes of the answer at most.
        static func ask(_ request: [UInt8], at port: Int) -> Int32? {
            guard let socket = BlockingClient.connect(to: port) else { return nil }
            var size: CInt = 4096
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
            guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                close(socket)
                return nil
            }
            return socket
        }
    }
}
