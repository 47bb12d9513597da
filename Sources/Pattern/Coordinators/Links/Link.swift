internal import ByteText
public import JSONCoding

/// A path that matches a pattern, and the values of its parameters.
public struct Link: Sendable, Equatable {
    /// The path that the pattern makes of the parameters. It contains nothing else of the opened URL: no trailing
    /// slash, other query parameters, fragment or origin.
    public let path: String
    public let pattern: LinkPattern
    public let params: JSONObject
    /// What followed the first `#`, decoded: `reviews` of `/products/42#reviews`. `nil` if there was none, if it was empty,
    /// or if it cannot be decoded.
    public let fragment: String?

    /// - Returns: `nil` if the path does not match the pattern.
    public init?(_ path: String, matching pattern: LinkPattern) {
        guard let written = LinkPath(path[...]), let params = try? pattern.match(written) else { return nil }
        self.init(pattern, params, written.fragment)
    }

    init?(_ pattern: LinkPattern, _ params: JSONObject, _ fragment: String?) {
        guard let path = pattern.path(params) else { return nil }
        self.path = path
        self.pattern = pattern
        self.params = params
        self.fragment = fragment
    }

    /// The path with the fragment: opening it gives the same link.
    var text: String {
        guard let fragment else { return path }
        return "\(path)#\(PercentEncoding.encode(fragment, where: PercentEncoding.isQueryCharacter))"
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

// The parameters that are lists, such as `{path...}`, by their elements' type; empty if there is none of that name and
// type.
extension Link {
    public func strings(_ name: String) -> [String] { list(name) { $0.string } }

    public func integers(_ name: String) -> [Int] {
        list(name) { if case .integer(let value) = $0 { value } else { nil } }
    }

    /// An integer counts as a number, too.
    public func numbers(_ name: String) -> [Double] { list(name) { $0.number } }

    private func list<Value>(_ name: String, _ value: (JSON) -> Value?) -> [Value] {
        let elements = params[name]?.array ?? []
        let values = elements.compactMap(value)
        return values.count == elements.count ? values : []
    }
}

/// How URLs begin that an app opens.
enum LinkOrigin: Equatable {
    /// The origin of a URL (RFC 6454): `https://shop.example.com`, or with a scheme of the app's own, `shop://app`.
    case host(LinkAuthority)
    /// All hosts below that one, `https://*.example.com`, but not that one itself.
    case subdomains(LinkAuthority)
    /// A scheme of the app's own, `shop:`. Whatever follows it is a path, with or without slashes before it.
    case scheme(String)

    /// - Returns: `nil` if the text is not an origin alone.
    init?(_ text: String) {
        guard let (scheme, hosts) = LinkAuthority.splitScheme(text) else { return nil }
        if hosts.isEmpty, !LinkAuthority.isOfTheWeb(scheme) {
            self = .scheme(scheme)
            return
        }
        let isWildcard = hosts.begins(with: "//*.")
        let plain = isWildcard ? "\(scheme)://\(Substring(hosts.utf8.dropFirst(4)))" : text
        guard let (authority, rest) = LinkAuthority.split(plain), rest.isEmpty,
            !authority.labels.contains(where: \.isEmpty)
        else { return nil }
        // All hosts of a top-level domain are nobody's.
        if isWildcard, authority.labels.count < 2 { return nil }
        self = isWildcard ? .subdomains(authority) : .host(authority)
    }

    func covers(_ url: LinkAuthority) -> Bool {
        switch self {
        case .host(let authority): authority == url
        case .subdomains(let domain):
            url.scheme == domain.scheme && url.port == domain.port && url.labels.count > domain.labels.count
                && url.labels.suffix(domain.labels.count) == domain.labels[...]
                && !url.labels.contains(where: \.isEmpty)
        case .scheme: false
        }
    }
}

/// The scheme, the host and the port of a URL. The case of their letters does not matter, nor whether the default port
/// is named. Hosts are compared as they are written: `shop.example.com.` is another one.
struct LinkAuthority: Equatable {
    let scheme: String
    let host: String
    /// `nil` for the scheme's default port.
    let port: UInt16?

    /// The parts of the host between the dots.
    let labels: [Substring]

    private init(scheme: String, host: String, port: UInt16?) {
        self.scheme = scheme
        self.host = host
        self.labels = host.parts(at: ".")
        self.port = port == ["http": 80, "https": 443][scheme] ? nil : port
    }

    /// The scheme of a URL, in lower case, and what follows its colon.
    static func splitScheme(_ url: String) -> (scheme: String, rest: Substring)? {
        guard let (scheme, rest) = url.cut(at: ":"), isScheme(scheme.utf8) else { return nil }
        return (scheme.lowercased(), rest)
    }

    /// Whether URLs of that scheme have a host that says whose they are.
    static func isOfTheWeb(_ scheme: String) -> Bool { scheme == "http" || scheme == "https" }

    /// The scheme, host and port of a URL, and what follows them.
    ///
    /// - Returns: `nil` if the text does not begin with a scheme, a host of letters, digits and `-._~`, and a port or
    ///   nothing after it. So there is neither a user nor an escape before the path.
    static func split(_ url: String) -> (authority: LinkAuthority, rest: Substring)? {
        guard let (scheme, afterScheme) = splitScheme(url), afterScheme.begins(with: "//") else { return nil }
        let authority = afterScheme.utf8.dropFirst(2).prefix { !"/?#".utf8.contains($0) }
        let host = authority.prefix { $0 != UInt8(ascii: ":") }
        guard !host.isEmpty, host.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "-._~".utf8.contains($0) }) else {
            return nil
        }
        let afterHost = authority[host.endIndex...]
        let port = UInt16(Substring(afterHost.dropFirst()))
        // As it is written, without zeros before it and signs.
        guard afterHost.isEmpty || port.map({ afterHost.elementsEqual(":\($0)".utf8) }) == true else { return nil }
        let split = LinkAuthority(scheme: scheme, host: Substring(host).lowercased(), port: port)
        return (split, url[authority.endIndex...])
    }

    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        text.first?.isASCIILetter == true
            && text.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }
}

// Of ASCII.
extension UInt8 {
    var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
    var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
}

/// The parts of an opened path such as `/products/42?ref=mail#reviews`. One trailing slash is ignored.
struct LinkPath {
    /// The decoded texts of the segments; `nil` for a segment that `PathSegment.decode` refuses.
    let segments: [String?]
    let query: LinkQuery
    let fragment: String?

    /// - Returns: `nil` if there is no leading slash.
    init?(_ text: Substring) {
        let withoutFragment = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        let path = withoutFragment.prefix { $0 != UInt8(ascii: "?") }
        guard var segments = PathSegment.split(Substring(path)) else { return nil }
        if segments.count > 1, segments.last?.isEmpty == true { segments.removeLast() }
        self.segments = segments.map(PathSegment.decode)
        self.query = LinkQuery(Substring(withoutFragment[path.endIndex...].dropFirst()))
        let fragment = PercentEncoding.decode(text.utf8[withoutFragment.endIndex...].dropFirst())
        self.fragment = fragment?.isEmpty == true ? nil : fragment
    }
}

/// The query of a link: `name=value` pairs with `&` between them.
struct LinkQuery {
    /// The names are decoded, the values are not.
    private let items: [(name: String, value: Substring)]

    /// - Parameter text: what follows the question mark.
    init(_ text: Substring) {
        items = text.utf8.split(separator: UInt8(ascii: "&")).compactMap { item in
            let written = item.prefix { $0 != UInt8(ascii: "=") }
            return PercentEncoding.decode(written).map { ($0, Substring(item[written.endIndex...].dropFirst())) }
        }
    }

    /// The values of the parameters of that name, not decoded yet; empty for one without an equals sign.
    func values(of name: String) -> [Substring] {
        items.filter { $0.name.utf8.count == name.utf8.count && $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
    }

    /// The text of a value. A plus sign is a space, as in the forms of web pages.
    ///
    /// - Returns: `nil` if it cannot be decoded.
    static func decode(_ written: Substring) -> String? {
        PercentEncoding.decode(written.utf8.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
    }

    /// A text as it is written in a query: a space as `%20`, a plus sign as `%2B`.
    ///
    /// - Returns: `nil` if the text has a zero byte.
    static func encode(_ text: String) -> String? {
        guard !text.utf8.contains(0) else { return nil }
        return PercentEncoding.encode(text) { byte in
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "+"): false
            default: PercentEncoding.isQueryCharacter(byte)
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
        guard let (before, rest) = path.cut(at: "/"), before.isEmpty else { return nil }
        return rest.isEmpty ? [] : rest.parts(at: "/")
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
    /// whatever the query is, so that the link's own path leads to the same pattern. Patterns with a catch-all come
    /// after all others.
    ///
    /// - Throws: `unknownLink`.
    package func link(_ text: String) throws(NavigationError) -> Link {
        let path = try path(of: text)
        var nearest: (pattern: LinkPattern, mismatch: LinkMismatch)?
        for pattern in links.filter({ !$0.isCatchAll }) + catchAlls {
            do throws(LinkMismatch) {
                let params = try pattern.match(path)
                if let link = Link(pattern, params, path.fragment) { return link }
            } catch {
                if case .query = error.fault { throw .unknownLink(reason: error.sentence(pattern)) }
                if error.fitting > nearest?.mismatch.fitting ?? 0 { nearest = (pattern, error) }
            }
        }
        guard let nearest else { throw .unknownLink(reason: "No link of the app begins like this one.") }
        throw .unknownLink(reason: nearest.mismatch.sentence(nearest.pattern))
    }

    /// The same path as a link of the next pattern with a catch-all, for a link that nobody has taken.
    func catchAll(after link: Link) -> Link? {
        let isLater = { (pattern: LinkPattern) in pattern != link.pattern }
        let others = link.pattern.isCatchAll ? catchAlls.drop(while: isLater).dropFirst() : catchAlls[...]
        for pattern in others { if let next = Link(link.text, matching: pattern) { return next } }
        return nil
    }

    /// The patterns with a catch-all: those with the most plain segments first, then those with the most parameters,
    /// otherwise in their order.
    static func catchAlls(among links: [LinkPattern]) -> [LinkPattern] {
        let catchAlls = links.filter(\.isCatchAll).enumerated().sorted { left, right in
            let (first, second) = (left.element, right.element)
            return (second.literalCount, second.segments.count, left.offset)
                < (first.literalCount, first.segments.count, right.offset)
        }
        return catchAlls.map(\.element)
    }

    /// A path for each link that has no parameters, or that has nothing else than a catch-all.
    package var examplePaths: [String] {
        links.compactMap { pattern in
            if let path = pattern.path([:]) { return path }
            guard case .parameter(let parameter)? = pattern.segments.last, parameter.isList else { return nil }
            return pattern.path([parameter.name: ["any"]])
        }
    }

    private func path(of text: String) throws(NavigationError) -> LinkPath {
        // Other programs leave such bytes out, each in its way (RFC 3986, appendix C).
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .unknownLink(reason: "The link has control characters.")
        }
        guard let path = LinkPath(try pathOfURL(text) ?? text[...]) else {
            throw .unknownLink(reason: "The link begins neither with “/” nor with an origin of the app.")
        }
        return path
    }

    /// The path of a URL of one of the app's origins; `nil` if the text does not begin like a URL.
    private func pathOfURL(_ text: String) throws(NavigationError) -> Substring? {
        let authority = LinkAuthority.split(text)
        if let (authority, rest) = authority, linkOrigins.contains(where: { $0.covers(authority) }) {
            // A URL without a path has the path “/” (RFC 3986, section 6.2.3).
            return rest.begins(with: "/") ? rest : "/" + rest
        }
        if let (scheme, rest) = LinkAuthority.splitScheme(text), linkOrigins.contains(.scheme(scheme)) {
            let path = rest.begins(with: "//") ? Substring(rest.utf8.dropFirst(2)) : rest
            return path.begins(with: "/") ? path : "/" + path
        }
        guard authority == nil else { throw .unknownLink(reason: "The link's origin is none of the app's.") }
        return nil
    }
}
