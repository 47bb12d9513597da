/// The origin of a URL (RFC 6454): `https://shop.example.com`, or with a scheme of the app's own: `shop://app`.
///
/// The case of its letters does not matter, nor whether it names the default port.
struct LinkOrigin: Hashable {
    private let scheme: String
    private let host: String
    /// `nil` for the scheme's default port.
    private let port: UInt16?

    /// - Returns: `nil` if the text is not an origin alone.
    init?(_ text: String) {
        guard let (origin, rest) = LinkOrigin.split(text), rest.isEmpty else { return nil }
        self = origin
    }

    private init(scheme: String, host: String, port: UInt16?) {
        self.scheme = scheme
        self.host = host
        self.port = port == ["http": 80, "https": 443][scheme] ? nil : port
    }

    /// The origin of a URL, and what follows it.
    ///
    /// - Returns: `nil` if the text does not begin with a scheme, a host of letters, digits and `-._~`, and a port, if
    ///   there is one.
    static func split(_ url: String) -> (origin: LinkOrigin, rest: Substring)? {
        let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }
        let afterScheme = url.utf8[scheme.endIndex...]
        guard isScheme(scheme), afterScheme.starts(with: "://".utf8) else { return nil }
        let authority = afterScheme.dropFirst(3).prefix { !"/?#".utf8.contains($0) }
        let host = authority.prefix { $0 != UInt8(ascii: ":") }
        let port = authority[host.endIndex...].dropFirst()
        guard !host.isEmpty, host.allSatisfy({ isLetterOrDigit($0) || "-._~".utf8.contains($0) }) else { return nil }
        guard port.isEmpty || (port.allSatisfy(isDigit) && UInt16(Substring(port)) != nil) else { return nil }
        let origin = LinkOrigin(
            scheme: Substring(scheme).lowercased(), host: Substring(host).lowercased(), port: UInt16(Substring(port)))
        return (origin, url[authority.endIndex...])
    }

    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, isLetterOrDigit(first), !isDigit(first) else { return false }
        return text.allSatisfy { isLetterOrDigit($0) || "+-.".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isDigit(byte)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
