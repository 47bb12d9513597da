internal import ArgumentParser
internal import FoundationEssentials

/// The value of `--host`: a name or an address; an IPv6 address may be in brackets, as in URLs.
enum HostArgument {
    @Sendable static func parse(_ text: String) throws -> String {
        if text.hasPrefix("["), text.hasSuffix("]") { return String(text.dropFirst().dropLast()) }
        let hasPort = text.contains("]:") || text.count { $0 == ":" } == 1
        guard text.contains("/") || hasPort else { return text }
        var advice = "A host is a name or an address alone, without scheme, port or path."
        if let url = URL(string: text.contains("//") ? text : "//\(text)"), let host = url.host {
            advice += " Write --host \(host)\(url.port.map { " --port \($0)" } ?? "")."
        }
        throw ValidationError(advice)
    }
}
