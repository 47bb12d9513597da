internal import MicroHTTP

extension HTTPHeaders {
    /// The fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10) of a limit.
    ///
    /// - Parameters:
    ///   - name: the limit's name, a plain word.
    ///   - rate: requests that are allowed in a period.
    ///   - period: in seconds.
    ///   - remaining: requests that are still allowed now.
    ///   - seconds: after which all of them are allowed again; `nil` for the period.
    static func rateLimit(
        _ name: String, rate: Int, in period: Int = 1, remaining: Int, seconds: Int? = nil
    ) -> HTTPHeaders {
        let seconds = seconds ?? period
        return [
            "RateLimit-Policy": "\"\(name)\";q=\(rate);w=\(period)",
            "RateLimit": "\"\(name)\";r=\(remaining);t=\(seconds)",
        ]
    }
}
