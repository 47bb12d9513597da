internal import ArgumentParser
internal import MicroHTTP
internal import NavigationAPI

/// Who the clients are, and what one of them may do.
struct ClientOptions: ParsableArguments {
    @Option(help: Settings.trustedProxy.help, transform: Settings.trustedProxy.parse)
    var trustedProxy: [IPNetwork] = []

    @Option(help: Settings.creationsPerSecond.help, transform: Settings.creationsPerSecond.parse)
    var creationsPerSecond: Int?

    @Option(help: Settings.allowOrigin.help, transform: Settings.allowOrigin.parse)
    var allowOrigin: [WebOrigin] = []

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

    @Sendable static func parse(_ argument: String) throws -> WebOrigin {
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
