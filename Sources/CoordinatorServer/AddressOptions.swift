internal import ArgumentParser
internal import NavigationAPI

/// Where clients find the server.
struct AddressOptions: ParsableArguments {
    @Option(
        help: "The name or address to listen on; 0.0.0.0 or :: for all. (default: 127.0.0.1)",
        transform: HostArgument.parse)
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free one.")
    var port = 8080

    @Option(
        help: """
            The path below which a proxy offers the API: /nav. Requests are answered with and without it, and the paths \
            in answers begin with it.
            """,
        transform: { text in
            guard let path = BasePath(text) else {
                throw ValidationError(
                    """
                    A base path is written as /nav: segments of letters, digits and -._~, no slash at the end, and not \
                    the beginning of one of the API's own paths, such as /v1.
                    """)
            }
            return path
        })
    var basePath: BasePath?

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port takes a number from 0 to 65535.") }
    }
}
