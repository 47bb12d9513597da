public import MicroHTTP
internal import Sessions
public import Tracing

/// Makes a span of each request that another handler answers, health checks left out. What runs for the request finds
/// the span in its task.
///
/// The attributes have OpenTelemetry's names where there is one. Nothing that a client has sent is in them except the
/// request's id and the session's, so `url.path` is missing. Of a stream, the span ends when the answer begins.
public final class TracedHandler: HTTPHandler {
    private let handler: any HTTPHandler
    private let tracer: any Tracer

    public init(_ handler: any HTTPHandler, _ tracer: any Tracer) {
        self.handler = handler
        self.tracer = tracer
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let path = request.target.segments
        guard path != ["livez"], path != ["readyz"] else { return await handler.respond(to: request) }
        let span = start(request.id, request.method, path, request.headers)
        let response = await InstrumentationContext.$current.withValue(span.context) {
            await handler.respond(to: request)
        }
        return end(span, with: response)
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        let span = start(request.id, nil, request.target?.segments ?? [], request.headers)
        let response = InstrumentationContext.$current.withValue(span.context) {
            handler.response(for: refusal, to: request)
        }
        return end(span, with: response)
    }

    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { handler.hasRight(target, headers) }

    /// - Parameter method: `nil` if it is not known.
    private func start(_ id: RequestID, _ method: String?, _ path: [String], _ headers: HTTPHeaders) -> any Span {
        var context = InstrumentationContext.topLevel
        tracer.extract(headers, into: &context, using: TraceFields())
        let method = method.flatMap { ReportingHandler.methods.contains($0) ? $0 : nil }
        let route = Route.of(path)?.pattern
        // OpenTelemetry's rules for names: the target only if it is one of a few.
        let name = [method ?? "HTTP", route].compactMap(\.self).joined(separator: " ")
        let span = tracer.startSpan(name, context: context, ofKind: .server)
        guard span.isRecording else { return span }
        span.updateAttributes { attributes in
            attributes["http.request.method"] = method ?? "_OTHER"
            attributes["http.route"] = route
            attributes["session.id"] = Route.session(in: path).flatMap { SessionID($0) }?.text
            attributes["coordinatord.request"] = id.text
        }
        return span
    }

    private func end(_ span: any Span, with response: HTTPResponse) -> HTTPResponse {
        var response = response
        tracer.inject(span.context, into: &response.headers, using: TraceFields())
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
