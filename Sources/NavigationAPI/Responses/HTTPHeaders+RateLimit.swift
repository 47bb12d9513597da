internal import MicroHTTP

extension HTTPHeaders {
    /// The fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10) of a limit by the second.
    ///
    /// - Parameters:
    ///   - name: the limit's name, a plain word.
    ///   - rate: requests that are allowed in a second.
    ///   - remaining: requests that are still allowed now.
    ///   - seconds: after which all of them are allowed again.
    static func rateLimit(_ name: String, rate: Int, remaining: Int, seconds: Int = 1) -> HTTPHeaders {
        [
            "RateLimit-Policy": "\"\(name)\";q=\(rate);w=1",
            "RateLimit": "\"\(name)\";r=\(remaining);t=\(seconds)",
        ]
    }
}
