internal import MicroHTTP

/// The path below which a proxy offers the API: `/nav`.
public struct BasePath: Sendable {
    /// What the paths in answers begin with.
    public let text: String
    /// What the paths of requests may begin with.
    public let segments: [String]

    /// - Returns: `nil` unless the text consists of a slash and a segment, once or several times. A segment consists of
    ///   characters that need no escape in a path: letters, digits, `-._~`. None of the API's paths may begin with it,
    ///   or nobody could tell whether a proxy has removed it.
    public init?(_ text: String) {
        let isPlain = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._~/".utf8.contains($0) }
        guard isPlain, let target = HTTPTarget(text),
            !target.segments.isEmpty, !target.segments.contains(""),
            !Route.hasPath(beginningWith: target.segments)
        else { return nil }
        self.text = text
        self.segments = target.segments
    }
}
