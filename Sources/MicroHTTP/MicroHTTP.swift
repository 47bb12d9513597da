// MicroHTTP: a small, safe HTTP/1.1 server over GNU libmicrohttpd.
//
// libmicrohttpd reads and writes the sockets on its own threads; this target turns its callbacks into one request and
// one response, and an async handler in between. It knows no session and no JSON: even its own refusals
// are put into words by the handler. Everything that touches C is in `HTTPServer.swift`, `Exchange.swift` and
// `ListeningSocket.swift`.

/// Answers requests.
public protocol HTTPHandler: Sendable {
    /// Runs on the connection's thread, from its beginning to its end. That serves many connections: never block here. While
    /// this is suspended, the connection waits and its thread is free.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// Puts into words what the server refuses by itself. Called once for each such request.
    func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse
}

extension HTTPHandler {
    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        HTTPResponse(status: refusal.status)
    }
}

/// What is known of a request that the server refuses by itself.
public struct RefusedRequest: Sendable {
    public let id: RequestID
    /// `nil` where it is none that this server takes.
    public let target: HTTPTarget?
    /// None where they cannot be believed.
    public let headers: HTTPHeaders
}

/// Why a request never reaches the handler.
public enum HTTPRefusal: Sendable, Equatable {
    /// The target is no path that this server takes, see `HTTPTarget`.
    case invalidTarget
    /// The body comes without a `Content-Length`.
    case lengthRequired
    /// The body is larger than the limit, in bytes.
    case contentTooLarge(limit: Int)
    /// `Expect` asks for something else than `100-continue`.
    case expectationFailed
    /// Not HTTP/1.1 or 1.0, or so that two readers could read two requests in it.
    case malformedHead
    /// The head is larger than the limit, in bytes.
    case headTooLarge(limit: Int)
    /// No method that HTTP has.
    case unknownMethod
    /// The body is encoded in a way that this server does not know.
    case unknownCoding
    /// The server stops, and this request did not end in time.
    case stopping

    /// RFC 9110, section 15.
    public var status: Int {
        switch self {
        case .invalidTarget, .malformedHead: 400
        case .lengthRequired: 411
        case .contentTooLarge: 413
        case .expectationFailed: 417
        case .headTooLarge: 431
        case .unknownMethod, .unknownCoding: 501
        case .stopping: 503
        }
    }
}
