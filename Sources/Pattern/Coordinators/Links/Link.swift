internal import ByteText
public import JSONCoding

/// A path that matches a pattern, and the values of its parameters.
public struct Link: Sendable, Equatable {
    /// The path that the pattern makes of the parameters. It contains nothing else of the opened URL: no trailing
    /// slash, other query parameters, fragment or origin.
    public let path: String
    public let pattern: LinkPattern
    public let params: JSONObject

    /// - Returns: `nil` if the path does not match the pattern.
    public init?(_ path: String, matching pattern: LinkPattern) {
        guard let params = pattern.match(path) else { return nil }
        self.init(pattern, params)
    }

    init?(_ pattern: LinkPattern, _ params: JSONObject) {
        guard let path = pattern.path(params) else { return nil }
        self.path = path
        self.pattern = pattern
        self.params = params
    }
}

// The parameters by type; `nil` if there is none of that name and type.
extension Link {
    public func string(_ name: String) -> String? {
        params[name]?.string
    }

    public func integer(_ name: String) -> Int? {
        guard case .integer(let value) = params[name] else { return nil }
        return value
    }

    /// An integer counts as a number, too.
    public func number(_ name: String) -> Double? {
        params[name]?.number
    }

    public func boolean(_ name: String) -> Bool? {
        guard case .bool(let value) = params[name] else { return nil }
        return value
    }
}

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

/// The parts of an opened path such as `/products/42?ref=mail`. One trailing slash and a fragment are ignored.
struct LinkPath {
    /// The decoded texts of the segments; `nil` for a segment that `PathSegment.decode` refuses.
    let segments: [String?]
    let query: LinkQuery

    /// - Returns: `nil` if there is no leading slash.
    init?(_ text: Substring) {
        let withoutFragment = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        let path = withoutFragment.prefix { $0 != UInt8(ascii: "?") }
        guard var segments = PathSegment.split(Substring(path)) else { return nil }
        if segments.count > 1, segments.last?.isEmpty == true { segments.removeLast() }
        self.segments = segments.map(PathSegment.decode)
        self.query = LinkQuery(Substring(withoutFragment[path.endIndex...].dropFirst()))
    }
}

/// The query of a link: `name=value` pairs with `&` between them.
struct LinkQuery {
    private let items: [Substring.UTF8View]

    /// - Parameter text: what follows the question mark.
    init(_ text: Substring) {
        items = text.utf8.split(separator: UInt8(ascii: "&"))
    }

    /// The value of the first parameter of that name, not decoded yet; empty if it has no equals sign.
    func value(of name: String) -> Substring? {
        for item in items {
            let written = item.prefix { $0 != UInt8(ascii: "=") }
            if PercentEncoding.decode(written)?.utf8.elementsEqual(name.utf8) == true {
                return Substring(item[written.endIndex...].dropFirst())
            }
        }
        return nil
    }

    /// A text as it is written in a query. A plus sign is escaped, because many programs take it for a space.
    ///
    /// - Returns: `nil` if the text has a zero byte.
    static func encode(_ text: String) -> String? {
        guard !text.utf8.contains(0) else { return nil }
        return PercentEncoding.encode(text) { byte in
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "+"): false
            case UInt8(ascii: "/"), UInt8(ascii: "?"): true
            default: PercentEncoding.isPathCharacter(byte)
            }
        }
    }
}

/// A segment of a URL's path, as text and as it is written in the path (RFC 3986, section 3.3).
enum PathSegment {
    /// The segments of a path, not decoded yet; none for `/`.
    ///
    /// - Returns: `nil` if there is no leading slash.
    static func split(_ path: Substring) -> [Substring]? {
        // Bytes, because to Swift a slash with a combining mark is another character.
        let utf8 = path.utf8
        guard utf8.first == UInt8(ascii: "/") else { return nil }
        let rest = utf8.dropFirst()
        if rest.isEmpty { return [] }
        return rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// The text of a segment, decoded once.
    ///
    /// - Returns: `nil` if the segment cannot be decoded, or if its text cannot be a segment.
    static func decode(_ written: Substring) -> String? {
        let isLiteral = written.utf8.allSatisfy(PercentEncoding.isPathCharacter)
        guard let text = isLiteral ? String(written) : PercentEncoding.decode(written.utf8) else { return nil }
        return canBeSegment(text) ? text : nil
    }

    /// A text as it is written in a path: every byte that is not a `pchar` is escaped.
    ///
    /// - Returns: `nil` if the text cannot be a segment.
    static func encode(_ text: String) -> String? {
        canBeSegment(text) ? PercentEncoding.encode(text, where: PercentEncoding.isPathCharacter) : nil
    }

    /// Whether a text can be one segment. Other programs remove empty and dot segments, also escaped ones (RFC 3986,
    /// section 5.2.4), and many treat a zero byte as the end.
    static func canBeSegment(_ text: String) -> Bool { !isDots(text) && !text.utf8.contains(0) }

    /// Whether the text is empty, one dot or two dots.
    private static func isDots(_ text: String) -> Bool {
        text.utf8.count <= 2 && text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
    }
}

/// Finds the pattern that matches an opened path or URL.
extension App {
    /// The link of a path, or of a URL of one of the app's origins. The first pattern that matches the path counts,
    /// whatever the query is, so that the link's own path leads to the same pattern.
    ///
    /// - Throws: `unknownLink`.
    package func link(_ text: String) throws(NavigationError) -> Link {
        let path = try path(of: text)
        var nearest: (pattern: LinkPattern, mismatch: LinkMismatch)?
        for pattern in links {
            do throws(LinkMismatch) {
                let params = try pattern.match(path)
                if let link = Link(pattern, params) { return link }
            } catch {
                if case .query = error.fault { throw .unknownLink(reason: error.sentence(pattern)) }
                if error.fitting > nearest?.mismatch.fitting ?? 0 { nearest = (pattern, error) }
            }
        }
        guard let nearest else { throw .unknownLink(reason: "No link of the app begins like this one.") }
        throw .unknownLink(reason: nearest.mismatch.sentence(nearest.pattern))
    }

    private func path(of text: String) throws(NavigationError) -> LinkPath {
        var path = text[...]
        if let (origin, rest) = LinkOrigin.split(text) {
            guard linkOrigins.contains(origin) else {
                throw .unknownLink(reason: "The link's origin is none of the app's.")
            }
            // A URL without a path has the path “/” (RFC 3986, section 6.2.3).
            path = rest.utf8.first == UInt8(ascii: "/") ? rest : "/" + rest
        }
        guard let path = LinkPath(path) else {
            throw .unknownLink(reason: "The link begins neither with “/” nor with an origin of the app.")
        }
        return path
    }
}
