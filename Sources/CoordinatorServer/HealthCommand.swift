internal import ArgumentParser
internal import MicroHTTP

/// `health`: asks a running server whether it is ready. For a container's health check, which has no other client.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Exits 0 when the server at that address is ready, 1 otherwise.",
        discussion: """
            Without --host and --port the address is the one that the server has written into the file that the \
            environment names in \(AddressFile.variable), as in the image; else 127.0.0.1:8080.
            """)

    @Option(help: "The address that the server listens on.")
    var host: String?

    @Option(help: "The port that it listens on.")
    var port: Int?

    func validate() throws {
        guard (1...65_535).contains(port ?? 1) else { throw ValidationError("--port takes a number from 1 to 65535.") }
    }

    func run() throws {
        let isGiven = host != nil || port != nil
        let written = isGiven ? nil : AddressFile()?.read()
        let address = written ?? HTTPAuthority(host: host ?? "127.0.0.1", port: port ?? 8080)
        let status = HTTPProbe.status(of: "/readyz", at: address, timeout: 3)
        print(status.map { "\(address): readyz answered \($0)" } ?? "no answer from \(address)")
        guard status == 200 else { throw ExitCode(1) }
    }
}
