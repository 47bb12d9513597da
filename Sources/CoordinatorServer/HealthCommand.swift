internal import ArgumentParser
internal import MicroHTTP

/// `health`: asks a running server whether it is ready. For a container's health check, which has no other client.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Exits 0 when the server at that address is ready, 1 otherwise.")

    @OptionGroup var address: AddressOptions

    func run() throws {
        let status = HTTPProbe.status(of: "/readyz", host: address.host, port: address.port, timeout: 3)
        print(status.map { "readyz answered \($0)" } ?? "no answer from \(address.host):\(address.port)")
        guard status == 200 else { throw ExitCode(1) }
    }
}
