/// A path that is opened, in parts: `/products/42?ref=mail`, also with one trailing slash and with a fragment.
struct LinkPath {
    /// The decoded texts of the segments; `nil` for one that stands for no text.
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
