internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials

/// The value of `--host`: a name or an address; an IPv6 address may be in brackets, as in URLs.
enum HostArgument {
    @Sendable static func parse(_ text: String) throws -> String {
        if let inside = text.inside("[", "]") { return String(inside) }
        let hasPort = text.utf8.firstRange(of: "]:".utf8) != nil || text.parts(at: ":").count == 2
        guard text.has("/") || hasPort else { return text }
        var advice = "A host is a name or an address alone, without scheme, port or path."
        if let url = URL(string: text.utf8.firstRange(of: "//".utf8) != nil ? text : "//\(text)"), let host = url.host {
            advice += " Write --host \(host)\(url.port.map { " --port \($0)" } ?? "")."
        }
        throw ValidationError(advice)
    }
}
