internal import ArgumentParser
internal import MicroHTTP
internal import NavigationAPI

/// Who the clients are, and what one of them may do.
struct ClientOptions: ParsableArguments {
    @Option(
        help: """
            A proxy, or a network of proxies, that sends its clients' addresses in X-Forwarded-For: 10.0.0.0/8. The \
            header of anybody else is ignored. May be given several times.
            """,
        transform: { text in
            guard let network = IPNetwork(text) else {
                throw ValidationError("“\(text)” is neither an address nor a network of addresses.")
            }
            return network
        })
    var trustedProxy: [IPNetwork] = []

    @Option(
        help: """
            Sessions that one address may create in a second; 0 for any number. (default: 100 with --trusted-proxy; \
            without it 0, because all clients of a proxy come from one address)
            """)
    var creationsPerSecond: Int?

    @Option(
        help: "A web origin whose pages may use the API: https://app.example. May be given several times.",
        transform: WebOrigin.parse)
    var allowOrigin: [WebOrigin] = []

    func validate() throws {
        guard creationsPerSecond ?? 0 >= 0 else {
            throw ValidationError("--creations-per-second takes a number from 0.")
        }
    }

    var settings: NavigationHandler.Settings {
        var settings = NavigationHandler.Settings()
        settings.proxies = trustedProxy
        settings.creationRate = creationsPerSecond ?? (trustedProxy.isEmpty ? 0 : 100)
        return settings
    }

    func opened(_ handler: NavigationHandler) -> any HTTPHandler {
        allowOrigin.isEmpty ? handler : CrossOriginHandler(handler, origins: Set(allowOrigin.map(\.text)))
    }
}

/// An origin as browsers write it (RFC 6454, section 6.2): scheme, host, and the port unless it is the scheme's own.
struct WebOrigin {
    let text: String

    static func parse(_ argument: String) throws -> WebOrigin {
        guard let origin = WebOrigin(argument) else {
            throw ValidationError(
                "Write scheme, host and port only, in lower case and without a final slash: https://app.example.")
        }
        return origin
    }

    init?(_ argument: String) {
        let parts = argument.split(separator: "://", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), !parts[1].contains(where: { "/*?#@".contains($0) }),
            argument.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), argument == argument.lowercased(),
            !(parts[0] == "http" && parts[1].hasSuffix(":80")), !(parts[0] == "https" && parts[1].hasSuffix(":443"))
        else { return nil }
        text = argument
    }
}
