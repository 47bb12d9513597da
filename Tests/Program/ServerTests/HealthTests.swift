import Foundation
import Glibc
import SQLite
import Testing
import TestSupport

/// `coordinatord health`, for a container and for a person.
@Suite struct HealthTests {
    func health(_ flags: String...) async throws -> (code: Int32, output: String, errors: String) {
        try await Program(Program.server, ["health", "--timeout", "\(hangLimit)"] + flags).exit()
    }

    @Test func `health distinguishes a server that is ready from one that is gone`() async throws {
        let (program, port, _) = try await ServerTests.start()

        let ready = try await health("--port", "\(port)")
        program.signal(SIGTERM)
        _ = try await program.exit()
        let gone = try await health("--port", "\(port)")

        #expect(ready.code == 0 && ready.output == "127.0.0.1:\(port) is ready\n" && ready.errors == "")
        #expect(gone.code == 1 && gone.output == "")
        #expect(gone.errors == "Error: no server answers at 127.0.0.1:\(port): connection refused\n")
    }

    @Test func `an address file that cannot be read is named, with the cause`() async throws {
        let file = "/nonexistent/address"

        let result = try await Program(
            Program.server, ["health"], environment: ["COORDINATORD_ADDRESS_FILE": file]
        ).exit()

        // Another server may be ready at the default address.
        if result.code != 0 {
            #expect(
                result.errors.hasPrefix(
                    """
                    Error: COORDINATORD_ADDRESS_FILE=\(file) cannot be read (no such file or directory: the server \
                    is not running), so 127.0.0.1:8080 was asked:\u{20}
                    """))
        }
    }

    @Test func `a server that is stopping is not ready, nor is one whose store cannot commit`() async throws {
        let (program, port, _) = try await ServerTests.start("--drain-delay", "1h")
        let storage = try StorageTests()
        let other = try Program.coordinatord(
            "serve", "--port", "0", "--store", storage.store, "--data-directory", storage.directory.path,
            "--idle-time", "1h")
        let line = try await other.line()
        let otherPort = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let lock = try SQLiteDatabase(path: storage.directory.path + "/store/sessions.sqlite")
        try lock.execute("BEGIN IMMEDIATE")

        program.signal(SIGTERM)
        _ = try await program.errors(until: "draining")
        let stopping = try await health("--port", "\(port)")
        #expect(stopping.code == 1)
        #expect(stopping.errors.hasPrefix("Error: 127.0.0.1:\(port) is not ready: The server is stopping: "))

        let connection = try Connection(port: otherPort)
        try await eventually { try await connection.request("GET", "/readyz").status == 503 }
        let locked = try await health("--port", "\(otherPort)")
        #expect(locked.code == 1)
        #expect(
            locked.errors.contains(
                "is not ready: The store is not available: Nothing can be committed now: database is locked"))
        try lock.execute("ROLLBACK")
        for server in [program, other] { server.signal(SIGKILL) }
    }

    @Test func `health explains a server that never answers, and one of another kind`() async throws {
        let silent = try Listener(answer: nil)
        let mail = try Listener(answer: "220 mail.example ESMTP\r\n")
        let other = try Listener(answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        let open = try Listener(answer: "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", staysOpen: true)

        let timedOut = try await health("--port", "\(silent.port)", "--timeout", "1")
        let notHTTP = try await health("--port", "\(mail.port)")
        let notOurs = try await health("--port", "\(other.port)")
        let leftOpen = try await health("--port", "\(open.port)")
        let unknown = try await health("--host", "no-such-host.invalid")

        for result in [timedOut, notHTTP, notOurs, leftOpen, unknown] {
            #expect(result.code == 1 && result.output == "")
        }
        #expect(timedOut.errors == "Error: no answer from 127.0.0.1:\(silent.port) within 1 seconds\n")
        #expect(notHTTP.errors == "Error: what listens at 127.0.0.1:\(mail.port) does not speak HTTP/1.1\n")
        #expect(
            notOurs.errors
                == "Error: 127.0.0.1:\(other.port) answers 200 to GET /readyz, so it is not a coordinatord\n")
        #expect(leftOpen.errors.contains("answers 200 to GET /readyz"))
        #expect(unknown.errors == "Error: no address is known for the host “no-such-host.invalid”\n")
    }

    @Test(.enabled(if: AddressTests.hasIPv6), arguments: ["::1", "[::1]"])
    func `an IPv6 address may be given with and without brackets`(host: String) async throws {
        let (program, line) = try await AddressTests.start(["--host", host, "--port", "0"])
        let port = try #require(line.firstMatch(of: /\[::1\]:(\d+)/)?.output.1)

        let result = try await health("--host", host, "--port", String(port))

        #expect(result.code == 0 && result.output == "[::1]:\(port) is ready\n")
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", "--host 127.0.0.1 --port 8080"), ("https://a.example/readyz", "--host a.example."),
        ("127.0.0.1:8080", "--host 127.0.0.1 --port 8080"), ("http://[::1]:81/", "--host ::1 --port 81"),
        ("[::1]:81", "--host ::1 --port 81"), ("a/b", "--host a."),
    ])
    func `a URL in place of a host is explained`(host: String, advice: String) async throws {
        for command in ["health", "serve"] {
            let result = try await Program.refused(command, "--host", host)

            #expect(result.code == 64)
            #expect(result.errors.contains("without scheme, port or path. Write \(advice)"))
        }
    }
}

/// Accepts one connection, and answers it at once with a text, or never.
private final class Listener: Sendable {
    let port: Int
    private let descriptor: Int32

    init(answer: String?, staysOpen: Bool = false) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("cannot listen: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.descriptor = descriptor
        guard let answer else { return }
        Thread.detachNewThread {
            let connection = accept(descriptor, nil, nil)
            var request = [UInt8](repeating: 0, count: 4096)
            _ = recv(connection, &request, request.count, 0)
            _ = send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
            if !staysOpen { close(connection) }
        }
    }

    deinit { close(descriptor) }
}
