public import MicroHTTP

/// Lets the pages of some web origins use a handler (CORS: the Fetch standard, section 3.3). Browsers keep every other
/// page from reading an answer, and from sending a token at all.
public final class CrossOriginHandler: HTTPHandler {
    private let handler: any HTTPHandler
    private let origins: Set<String>

    /// - Parameter origins: as browsers send them: `https://app.example`, with the port unless it is the scheme's own.
    public init(_ handler: any HTTPHandler, origins: Set<String>) {
        self.handler = handler
        self.origins = origins
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        if isPreflight(request), let route = Route.of(request.target.segments) {
            return opened(CrossOriginHandler.preflightAnswer(for: route), to: request.headers)
        }
        return opened(await handler.respond(to: request), to: request.headers)
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        opened(handler.response(for: refusal, to: request), to: request.headers)
    }

    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { handler.hasRight(target, headers) }

    private func isPreflight(_ request: HTTPRequest) -> Bool {
        request.method == "OPTIONS" && allowedOrigin(request.headers) != nil
            && request.headers["Access-Control-Request-Method"] != nil
    }

    private func allowedOrigin(_ headers: HTTPHeaders) -> String? {
        headers.only("Origin").flatMap { origins.contains($0) ? $0 : nil }
    }

    private func opened(_ response: HTTPResponse, to headers: HTTPHeaders) -> HTTPResponse {
        var response = response
        response.headers.append("Vary", "Origin")
        guard let origin = allowedOrigin(headers) else { return response }
        response.headers.append("Access-Control-Allow-Origin", origin)
        response.headers.append("Access-Control-Expose-Headers", CrossOriginHandler.readableHeaders)
        return response
    }

    /// Of answers, beside those that every page may read.
    private static let readableHeaders = """
        Date, ETag, Idempotency-Replayed, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, \
        Session-Version, traceresponse, WWW-Authenticate, X-Request-Id
        """

    /// Of requests, beside those that every page may send.
    private static let sendableHeaders = """
        Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, traceparent, \
        tracestate, X-Request-Id
        """

    /// What a page may send. The request itself is checked when it arrives.
    private static func preflightAnswer(for route: Route) -> HTTPResponse {
        HTTPResponse(
            status: 204,
            headers: [
                "Access-Control-Allow-Methods": route.methods.joined(separator: ", "),
                "Access-Control-Allow-Headers": sendableHeaders,
                "Access-Control-Max-Age": "600",
            ])
    }
}
