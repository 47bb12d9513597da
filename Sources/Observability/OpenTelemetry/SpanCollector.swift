internal import JSONCoding
public import MicroHTTP

/// Where spans are sent.
public struct SpanCollector: Sendable, Equatable, CustomStringConvertible {
    public let authority: HTTPAuthority
    /// What its paths begin with: empty, or `/otlp`.
    public let basePath: String

    public init(authority: HTTPAuthority, basePath: String) {
        self.authority = authority
        self.basePath = basePath
    }

    public var description: String { "http://\(authority)\(basePath)" }

    /// What the collector does with the spans of a request.
    enum Answer: Equatable {
        /// All but some of them are accepted.
        case accepted(rejected: Int)
        /// They will never be accepted.
        case refused(reason: String)
        /// They may be accepted later.
        case unavailable(reason: String)
    }

    /// Posts an `ExportTraceServiceRequest`; see https://opentelemetry.io/docs/specs/otlp/#otlphttp. Blocks.
    ///
    /// - Parameter timeout: in seconds.
    func post(_ request: [UInt8], timeout: Int) -> Answer {
        do throws(HTTPClientError) {
            let (status, body) = try HTTPClient.post(
                request, to: "\(basePath)/v1/traces", at: authority, timeout: timeout)
            switch status {
            case 200..<300: return .accepted(rejected: SpanCollector.rejected(body))
            case 429, 502, 503, 504: return .unavailable(reason: "it answers \(status)")
            default: return .refused(reason: "it answers \(status)")
            }
        } catch {
            switch error {
            case .unknownHost: return .unavailable(reason: "no address is known for its host")
            case .noConnection(let reason): return .unavailable(reason: reason)
            case .timedOut: return .unavailable(reason: "it has not answered within \(timeout) s")
            case .notHTTP: return .unavailable(reason: "it does not answer in HTTP/1.1")
            }
        }
    }

    /// How many spans an `ExportTraceServiceResponse` rejects: a number, or a string, as 64-bit integers are written.
    private static func rejected(_ body: String) -> Int {
        switch (try? JSON(parsing: Array(body.utf8)))?["partialSuccess"]?["rejectedSpans"] {
        case .integer(let number)?: number
        case .string(let text)?: Int(text) ?? 0
        default: 0
        }
    }
}
