internal import ArgumentParser
internal import ByteText
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
        guard let (scheme, rest) = argument.cut(at: ":"), !scheme.isEmpty, rest.begins(with: "//") else { return nil }
        let host = Substring(rest.utf8.dropFirst(2))
        guard !host.isEmpty, !host.utf8.contains(where: { "/*?#@".utf8.contains($0) }),
            argument.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), argument == argument.lowercased(),
            !(scheme == "http" && host.ends(with: ":80")), !(scheme == "https" && host.ends(with: ":443"))
        else { return nil }
        text = argument
    }
}
