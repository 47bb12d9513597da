/// Finds the link that a client means.
extension App {
    /// The link of a path, or of a URL of one of the app's origins. The first pattern that fits the path counts; the
    /// query has no part in that, so that the link's own path leads to the same pattern.
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
