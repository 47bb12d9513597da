import Foundation
import Testing
import TestSupport

/// Where the server listens, and how a health check finds it.
@Suite struct AddressTests {
    static let hasIPv6 = (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo") ?? false

    static func start(_ flags: [String], environment: [String: String] = [:]) async throws -> (Program, String) {
        let common = ["serve", "--store", "memory"] + ServerTests.unhurried
        let program = try Program(Program.server, common + flags, environment: environment)
        let line = try await program.line()
        return (program, line)
    }

    static func health(_ flags: [String], environment: [String: String] = [:]) async throws -> Int32 {
        try await Program(Program.server, ["health", "--timeout", "\(hangLimit)"] + flags, environment: environment)
            .exit().code
    }

    @Test(.enabled(if: hasIPv6)) func `an IPv6 address is announced in brackets, and has a health check`() async throws
    {
        let (program, line) = try await AddressTests.start(["--host", "::1", "--port", "0"])
        let match = try #require(line.firstMatch(of: /listening on (http:\/\/\[::1\]:(\d+))/))

        let read = try await Program(
            URL(filePath: "/usr/bin/env"),
            ["curl", "-s", "-g", "-o", "/dev/null", "-w", "%{http_code}", "\(match.output.1)/readyz"]
        ).exit()
        #expect(read.output == "200")
        #expect(try await AddressTests.health(["--host", "::1", "--port", String(match.output.2)]) == 0)
        let second = try await Program.coordinatord(
            "serve", "--host", "::1", "--port", String(match.output.2), "--store", "memory", "--log-format", "text"
        ).exit()
        #expect(
            second.errors == "Error: [::1]:\(match.output.2) is in use by another process; choose another --port\n")
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::"])
    func `health finds the server by the address file that both know`(host: String) async throws {
        guard AddressTests.hasIPv6 || !host.contains(":") else { return }
        let directory = try StorageTests.Directory()
        let environment = ["COORDINATORD_ADDRESS_FILE": "\(directory.path)/address"]
        #expect(try await AddressTests.health(["--port", "1"], environment: environment) == 1)

        let (program, _) = try await AddressTests.start(["--host", host, "--port", "0"], environment: environment)

        #expect(try await AddressTests.health([], environment: environment) == 0)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/address"))
    }

    @Test func `below a base path, clients and health checks find the server`() async throws {
        let directory = try StorageTests.Directory()
        let environment = ["COORDINATORD_ADDRESS_FILE": "\(directory.path)/address"]
        let (program, line) = try await AddressTests.start(
            ["--port", "0", "--base-path", "/nav"], environment: environment)
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let connection = try Connection(port: port)

        for path in ["/nav/v1/sessions", "/v1/sessions"] {
            let location = try await connection.request("POST", path).headers["location"]
            #expect(location?.hasPrefix("/nav/v1/sessions/s_") == true)
        }
        #expect(try await AddressTests.health([], environment: environment) == 0)
        #expect(try await AddressTests.health(["--port", "\(port)"]) == 0)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `an address file that cannot be written does not keep the server from serving`() async throws {
        let (program, line) = try await AddressTests.start(
            ["--port", "0", "--log-format", "text"], environment: ["COORDINATORD_ADDRESS_FILE": "/dev/null/address"])

        #expect(line.hasPrefix("coordinatord 0.1.0 listening on "))
        program.signal(SIGTERM)
        let end = try await program.exit()
        #expect(end.code == 0)
        #expect(
            end.errors.contains(
                "warning: COORDINATORD_ADDRESS_FILE=/dev/null/address cannot be written (not a directory): "))
    }
}
