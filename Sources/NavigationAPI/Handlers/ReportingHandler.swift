internal import Measures
public import MicroHTTP
public import Sessions

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

/// Reports the answers of another handler.
public final class ReportingHandler: HTTPHandler {
    private let handler: any HTTPHandler
    private let report: @Sendable (AnsweredRequest) -> Void

    public init(_ handler: any HTTPHandler, report: @escaping @Sendable (AnsweredRequest) -> Void) {
        self.handler = handler
        self.report = report
    }

    public func respond(to request: HTTPRequest) async -> HTTPResponse {
        let start = MonotonicTime.nanoseconds
        let response = await handler.respond(to: request)
        report(response, request.id, request.method, request.target.segments, since: start)
        return response
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        let start = MonotonicTime.nanoseconds
        let response = handler.response(for: refusal, to: request)
        report(response, request.id, nil, request.target?.segments ?? [], since: start)
        return response
    }

    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { handler.hasRight(target, headers) }

    private func report(
        _ response: HTTPResponse, _ id: RequestID, _ method: String?, _ path: [String], since start: Int
    ) {
        let route = Route.of(path)
        let bytes: Int? = if case .bytes(let body) = response.body { body.count } else { nil }
        report(
            AnsweredRequest(
                request: id, method: method.flatMap { ReportingHandler.methods.contains($0) ? $0 : nil } ?? "other",
                route: route?.pattern ?? "none", session: Route.session(in: path).flatMap { SessionID($0) },
                status: response.status, duration: MonotonicTime.nanoseconds - start, bytes: bytes))
    }

    static let methods: Set = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]
}
