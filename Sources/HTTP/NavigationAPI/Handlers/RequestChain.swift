internal import ByteText
internal import Measures
public import MicroHTTP
public import Sessions
public import Tracing

/// A request and its answer, for a log. Contains nothing that a client has sent, except the ids of the request and the
/// session.
public struct AnsweredRequest: Sendable {
    public let request: RequestID
    /// `other` if the API has no such method, or if it is not known.
    public let method: String
    /// As `openapi.yaml` has it: `/v1/sessions/{id}`; `none` if the API has no such path.
    public let route: String
    public let session: SessionID?
    public let status: Int
    /// Nanoseconds until the answer could be sent; for a stream, until it could begin.
    public let duration: Int
    /// The size of the answer's body; `nil` for a stream.
    public let bytes: Int?
}

/// What surrounds each request: a span in which everything else runs, the CORS fields for pages of other origins, a
/// count and a line in the log. Each is optional. The request's route is resolved once for all of them.
public final class RequestChain: HTTPHandler {
    public struct Links: Sendable {
        /// Makes a span for each request except health checks. The span is in the context of the request's task.
        ///
        /// The attributes have OpenTelemetry's names where there are any. They contain nothing that a client has sent,
        /// except the ids of the request and the session, so `url.path` is missing. The span of a stream ends when the
        /// answer begins.
        public var tracer: (any Tracer)?
        /// The web origins whose pages may read the answers (CORS: the Fetch standard, section 3.3), as browsers send
        /// them: `https://app.example`, with the port unless it is the scheme's default. Browsers prevent all other
        /// pages from reading an answer, and from sending a token.
        public var origins: Set<String> = []
        public var measures: RequestMeasures?
        /// Receives each answer.
        public var report: (@Sendable (AnsweredRequest) -> Void)?

        public init() {}

        var isEmpty: Bool { tracer == nil && origins.isEmpty && measures == nil && report == nil }
    }

    private let handler: NavigationHandler
    private let links: Links

    private init(_ handler: NavigationHandler, _ links: Links) {
        self.handler = handler
        self.links = links
    }

    /// The handler inside a chain with these links; the handler itself if there are none.
    public static func around(_ handler: NavigationHandler, _ links: Links) -> any HTTPHandler {
        links.isEmpty ? handler : RequestChain(handler, links)
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let passage = begin(request.id, request.method, request.target.segments, request.headers)
        guard let span = passage.span else { return finish(passage, await answer(request, passage.route)) }
        let response = await InstrumentationContext.$current.withValue(span.context) {
            finish(passage, await answer(request, passage.route))
        }
        return end(span, with: response)
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        links.measures?.add(refusal)
        let passage = begin(request.id, nil, request.target?.segments, request.headers)
        guard let span = passage.span else { return finish(passage, handler.response(for: refusal, to: request)) }
        let response = InstrumentationContext.$current.withValue(span.context) {
            finish(passage, handler.response(for: refusal, to: request))
        }
        return end(span, with: response)
    }

    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { handler.hasRight(target, headers) }

    private func answer(_ request: HTTPRequest, _ route: Route?) async -> HTTPResponse {
        if let route, isPreflight(request) { return RequestChain.preflightAnswer(for: route) }
        return await handler.respond(to: request, on: route)
    }

    /// What the chain knows of a request while it is being answered.
    private struct Passage {
        let id: RequestID
        let route: Route?
        /// `nil` if it is not known.
        let method: String?
        let path: [String]
        let headers: HTTPHeaders
        let start: Int
        var span: (any Span)?

        /// The method if it is one of the API's.
        var knownMethod: String? { method.flatMap { RequestChain.methods.contains($0) ? $0 : nil } }
        var session: SessionID? { route?.session(in: path) }
    }

    private static let methods: Set = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]

    /// - Parameter path: `nil` if the request has none that can be read.
    private func begin(
        _ id: RequestID, _ method: String?, _ path: [String]?, _ headers: HTTPHeaders
    ) -> Passage {
        let start = links.measures == nil && links.report == nil ? 0 : MonotonicTime.nanoseconds
        var passage = Passage(
            id: id, route: path.flatMap(Route.of), method: method, path: path ?? [], headers: headers, start: start)
        if let tracer = links.tracer, path != ["livez"], path != ["readyz"] {
            passage.span = span(for: passage, tracer)
        }
        return passage
    }

    /// Counts and reports the answer, and adds the fields for other origins.
    private func finish(_ passage: Passage, _ answer: HTTPResponse) -> HTTPResponse {
        var response = answer
        if !links.origins.isEmpty { addOriginFields(&response, for: passage.headers) }
        let duration = passage.start == 0 ? 0 : MonotonicTime.nanoseconds - passage.start
        if let measures = links.measures {
            // Not measured: an answer that waited for a change, because its client decides how long that takes; and the
            // answer to a request that was refused before it was complete.
            let hasWaited =
                duration > RequestChain.longTime
                && response.headers.values("Preference-Applied").contains { $0.begins(with: "wait") }
            let isMeasured = passage.method != nil && !hasWaited
            measures.add(passage.route, passage.method, response.status, isMeasured ? duration : nil)
        }
        if let report = links.report {
            let bytes: Int? =
                switch response.body {
                case .bytes(let body): body.count
                case .constant(let body): body.buffer.count
                case .stream: nil
                }
            report(
                AnsweredRequest(
                    request: passage.id, method: passage.knownMethod ?? "other",
                    route: passage.route?.pattern ?? "none", session: passage.session, status: response.status,
                    duration: duration, bytes: bytes))
        }
        return response
    }

    /// 100 ms. An answer that took less has not waited, so its `Preference-Applied` need not be looked up.
    private static let longTime = 100_000_000
}

// Pages of other origins (CORS).
extension RequestChain {
    private func isPreflight(_ request: HTTPRequest) -> Bool {
        request.method == "OPTIONS" && !links.origins.isEmpty && allowedOrigin(request.headers) != nil
            && request.headers["Access-Control-Request-Method"] != nil
    }

    private func allowedOrigin(_ headers: HTTPHeaders) -> String? {
        headers.only("Origin").flatMap { links.origins.contains($0) ? $0 : nil }
    }

    private func addOriginFields(_ response: inout HTTPResponse, for headers: HTTPHeaders) {
        response.headers.append("Vary", "Origin")
        guard let origin = allowedOrigin(headers) else { return }
        response.headers.append("Access-Control-Allow-Origin", origin)
        response.headers.append("Access-Control-Expose-Headers", RequestChain.readableHeaders)
    }

    /// The fields of answers that pages may read, besides those that every page may read.
    private static let readableHeaders = """
        Date, ETag, Idempotency-Replayed, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, \
        Session-Version, traceresponse, WWW-Authenticate, X-Request-Id
        """

    /// The fields of requests that pages may send, besides those that every page may send.
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

// Spans.
extension RequestChain {
    private func span(for passage: Passage, _ tracer: any Tracer) -> any Span {
        var context = InstrumentationContext.topLevel
        tracer.extract(passage.headers, into: &context, using: TraceFields())
        let method = passage.knownMethod
        // OpenTelemetry's rule for names of spans: no paths, only the pattern, of which there are few.
        let name = [method ?? "HTTP", passage.route?.pattern].compactMap(\.self).joined(separator: " ")
        let span = tracer.startSpan(name, context: context, ofKind: .server)
        guard span.isRecording else { return span }
        span.updateAttributes { attributes in
            attributes["http.request.method"] = method ?? "_OTHER"
            attributes["http.route"] = passage.route?.pattern
            attributes["session.id"] = passage.session?.text
            attributes["coordinatord.request"] = passage.id.text
        }
        return span
    }

    private func end(_ span: any Span, with answer: HTTPResponse) -> HTTPResponse {
        var response = answer
        links.tracer?.inject(span.context, into: &response.headers, using: TraceFields())
        if span.isRecording {
            span.attributes["http.response.status_code"] = response.status
            if response.status >= 500 {
                span.attributes["error.type"] = String(response.status)
                span.setStatus(SpanStatus(code: .error))
            }
        }
        span.end()
        return response
    }
}

/// Maps a trace's context to fields of HTTP. An answer has in `traceresponse` what a request has in `traceparent`: the
/// field is from a draft of the W3C, Trace Context Level 3.
private struct TraceFields: Extractor, Injector {
    func extract(key: String, from headers: HTTPHeaders) -> String? {
        switch key {
        case "traceparent": return headers.only("traceparent")
        case "tracestate":
            let values = headers.values("tracestate")
            return values.isEmpty ? nil : values.joined(separator: ",")
        default: return nil
        }
    }

    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        if key == "traceparent" { headers.append("traceresponse", value) }
    }
}
