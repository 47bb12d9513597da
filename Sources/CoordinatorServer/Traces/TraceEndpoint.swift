internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import MicroHTTP
internal import OpenTelemetry

/// The value of `--trace-endpoint`: `http://HOST:PORT`, with a path if the collector is below one.
enum TraceEndpoint {
    static let form = "a URL such as http://localhost:4318"

    // No message repeats the URL, which may have a password.

    @Sendable static func parse(_ text: String) throws -> SpanCollector {
        let url = text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? URL(string: text) : nil
        if url?.scheme?.lowercased() == "https" {
            throw ValidationError(
                "This server does not speak TLS: send to a collector on this machine, by http.")
        }
        guard let url, url.scheme?.lowercased() == "http", let host = url.host(), !host.isEmpty, url.user() == nil,
            url.query() == nil, url.fragment() == nil, (1...65_535).contains(url.port ?? 80)
        else { throw ValidationError("It is not \(form).") }
        var path = url.path(percentEncoded: true)
        while path.ends(with: "/") { path.removeLast() }
        if path.ends(with: "/v1/traces") {
            throw ValidationError("Leave /v1/traces out: it is added.")
        }
        return SpanCollector(authority: HTTPAuthority(host: host, port: url.port ?? 80), basePath: path)
    }
}
