internal import ArgumentParser

/// `--host` and `--port`.
struct AddressOptions: ParsableArguments {
    @Option(
        help: "The name or address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)",
        transform: HostArgument.parse)
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free one.")
    var port = 8080

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port takes a number from 0 to 65535.") }
    }
}
