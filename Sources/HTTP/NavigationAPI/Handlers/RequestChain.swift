internal import Measures
public import MicroHTTP
public import Sessions
public import Tracing

/// A request and its answer, for a log. Has nothing that a client has sent except the request's id and the session's.
public struct AnsweredRequest: Sendable {
    public let request: RequestID
    /// `other` if the API has no such method, or if it is not known.
    public let method: String
    /// As `openapi.yaml` has it: `/v1/sessions/{id}`; `none` if the API has no such path.
    public let route: String
    public let session: SessionID?
    public let status: Int
    /// Until the answer could be sent; of a stream, until it began. In nanoseconds.
    public let duration: Int
    /// Of the answer's body; `nil` for a stream.
    public let bytes: Int?
}

/// What happens around each request: a span in which everything else runs, what browsers need if a page of another
/// origin asks, a count, and a line in the log. Each of them may be missing. The request's route is found once for all.
public final class RequestChain: HTTPHandler {
    public struct Links: Sendable {
        /// Makes a span of each request, health checks left out; what runs for the request finds the span in its task.
        ///
        /// The attributes have OpenTelemetry's names where there is one. Nothing that a client has sent is in them except
        /// the request's id and the session's, so `url.path` is missing. Of a stream, the span ends when the answer
        /// begins.
        public var tracer: (any Tracer)?
        /// The web origins whose pages may read the answers (CORS: the Fetch standard, section 3.3), as browsers send
        /// them: `https://app.example`, with the port unless it is the scheme's own. Browsers keep every other page from
        /// reading an answer, and from sending a token at all.
        public var origins: Set<String> = []
        public var measures: RequestMeasures?
        /// Is told of each answer.
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

    /// The handler with all that the links do; the handler itself if they do nothing.
    public static func around(_ handler: NavigationHandler, _ links: Links) -> any HTTPHandler {
        links.isEmpty ? handler : RequestChain(handler, links)
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let passage = begin(request.id, request.method, request.target.segments, request.headers)
        guard let span = passage.span else { return settled(passage, await answer(request, passage.route)) }
        let response = await InstrumentationContext.$current.withValue(span.context) {
            settled(passage, await answer(request, passage.route))
        }
        return end(span, with: response)
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        links.measures?.add(refusal)
        let passage = begin(request.id, nil, request.target?.segments ?? [], request.headers)
        guard let span = passage.span else { return settled(passage, handler.response(for: refusal, to: request)) }
        let response = InstrumentationContext.$current.withValue(span.context) {
            settled(passage, handler.response(for: refusal, to: request))
        }
        return end(span, with: response)
    }

    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { handler.hasRight(target, headers) }

    private func answer(_ request: HTTPRequest, _ route: Route?) async -> HTTPResponse {
        if let route, isPreflight(request) { return RequestChain.preflightAnswer(for: route) }
        return await handler.respond(to: request, on: route)
    }

    /// A request on its way.
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
        var session: SessionID? { route?.session(in: path).flatMap { SessionID($0) } }
    }

    private static let methods: Set = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]

    private func begin(
        _ id: RequestID, _ method: String?, _ path: [String], _ headers: HTTPHeaders
    ) -> Passage {
        let start = links.measures == nil && links.report == nil ? 0 : MonotonicTime.nanoseconds
        var passage = Passage(id: id, route: Route.of(path), method: method, path: path, headers: headers, start: start)
        if let tracer = links.tracer, path != ["livez"], path != ["readyz"] {
            passage.span = span(for: passage, tracer)
        }
        return passage
    }

    /// The answer, opened to other origins, counted and reported.
    private func settled(_ passage: Passage, _ answer: HTTPResponse) -> HTTPResponse {
        var response = answer
        if !links.origins.isEmpty { open(&response, to: passage.headers) }
        let duration = passage.start == 0 ? 0 : MonotonicTime.nanoseconds - passage.start
        if let measures = links.measures {
            // A client that asks to wait for a change decides how long its answer takes; of a request that was refused
            // before it was complete, the time says nothing either.
            let hasWaited = duration > RequestChain.longTime && response.headers["Preference-Applied"] != nil
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

    /// Requests that have taken less are not searched for a wait: 100 ms.
    private static let longTime = 100_000_000
}

// Other origins' pages.
extension RequestChain {
    private func isPreflight(_ request: HTTPRequest) -> Bool {
        request.method == "OPTIONS" && !links.origins.isEmpty && allowedOrigin(request.headers) != nil
            && request.headers["Access-Control-Request-Method"] != nil
    }

    private func allowedOrigin(_ headers: HTTPHeaders) -> String? {
        headers.only("Origin").flatMap { links.origins.contains($0) ? $0 : nil }
    }

    private func open(_ response: inout HTTPResponse, to headers: HTTPHeaders) {
        response.headers.append("Vary", "Origin")
        guard let origin = allowedOrigin(headers) else { return }
        response.headers.append("Access-Control-Allow-Origin", origin)
        response.headers.append("Access-Control-Expose-Headers", RequestChain.readableHeaders)
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

// Spans.
extension RequestChain {
    private func span(for passage: Passage, _ tracer: any Tracer) -> any Span {
        var context = InstrumentationContext.topLevel
        tracer.extract(passage.headers, into: &context, using: TraceFields())
        let method = passage.knownMethod
        // OpenTelemetry's rules for names: the target only if it is one of a few.
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

/// How a trace travels in the fields of HTTP. An answer says in `traceresponse` what its request could have said in
/// `traceparent`: the field is from a draft of the W3C, Trace Context Level 3.
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
