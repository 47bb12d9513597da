public import JSONCoding
internal import MicroHTTP
internal import Synchronization

/// An OpenTelemetry collector that keeps what it is sent.
public final class TestCollector: Sendable {
    private final class Handler: HTTPHandler {
        let state: Mutex<(statuses: [Int], requests: [(path: String, body: JSON)])>

        init(_ statuses: [Int]) { state = Mutex((statuses, [])) }

        func respond(to request: HTTPRequest) async -> HTTPResponse {
            state.withLock { state in
                let status = state.statuses.count > 1 ? state.statuses.removeFirst() : state.statuses[0]
                let isJSON = request.method == "POST" && request.headers.only("Content-Type") == "application/json"
                let body = isJSON ? try? JSON(parsing: request.body) : nil
                let path = "/" + request.target.segments.joined(separator: "/")
                state.requests.append((status == 200 ? path : "refused", body ?? .null))
                return HTTPResponse(status: status, body: Array(#"{"partialSuccess":{}}"#.utf8))
            }
        }
    }

    private let handler: Handler
    private let server: HTTPServer
    public var port: Int { server.port }
    public var url: String { "http://127.0.0.1:\(port)" }

    /// - Parameters:
    ///   - statuses: of the answers, one after the other; the last one is repeated.
    ///   - port: 0 for any free one.
    public init(_ statuses: Int..., port: Int = 0) throws {
        handler = Handler(statuses.isEmpty ? [200] : statuses)
        var settings = HTTPServer.Settings()
        settings.port = port
        settings.bodyLimit = 8 << 20
        server = try HTTPServer(settings, handler: handler)
    }

    public func stop() async { await server.stop() }

    /// The requests that were refused.
    public var refusals: Int { handler.state.withLock { $0.requests.count { $0.path == "refused" } } }

    /// The requests that were accepted.
    public var requests: [JSON] {
        handler.state.withLock { $0.requests.filter { $0.path == "/v1/traces" }.map(\.body) }
    }

    /// All spans that were accepted.
    public var spans: [ReceivedSpan] {
        requests.flatMap { $0["resourceSpans"]?.array ?? [] }.flatMap { $0["scopeSpans"]?.array ?? [] }
            .flatMap { $0["spans"]?.array ?? [] }.map(ReceivedSpan.init)
    }

    /// Waits until so many spans have arrived.
    public func spans(_ count: Int) async throws -> [ReceivedSpan] {
        try await eventually { spans.count >= count }
        return spans
    }
}

/// A span as a collector gets it.
public struct ReceivedSpan: Sendable {
    public let json: JSON

    public subscript(name: String) -> String? { json[name]?.string }
    public var name: String { self["name"] ?? "" }
    public var trace: String { self["traceId"] ?? "" }
    public var id: String { self["spanId"] ?? "" }
    public var parent: String? { self["parentSpanId"] }
    public var kind: JSON? { json["kind"] }
    public var status: JSON? { json["status"]?["code"] }
    /// In nanoseconds since 1970.
    public var start: Int { self["startTimeUnixNano"].flatMap { Int($0) } ?? -1 }
    public var end: Int { self["endTimeUnixNano"].flatMap { Int($0) } ?? -1 }

    /// By name, each an `AnyValue`.
    public var attributes: [String: JSON] { ReceivedSpan.attributes(json["attributes"]) }

    public static func attributes(_ json: JSON?) -> [String: JSON] {
        var all: [String: JSON] = [:]
        for attribute in json?.array ?? [] { all[attribute["key"]?.string ?? ""] = attribute["value"] }
        return all
    }

    public func encloses(_ inner: ReceivedSpan) -> Bool {
        start > 0 && start <= inner.start && inner.start <= inner.end && inner.end <= end
    }
}
