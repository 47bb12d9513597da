// MicroHTTP: a small, safe HTTP/1.1 server over GNU libmicrohttpd.
//
// libmicrohttpd reads and writes the sockets on its own threads; this target turns its callbacks into one request, an
// async handler's run and one response. It knows no sessions and no JSON: even for the requests that this target
// refuses, the handler makes the answers. libmicrohttpd is called in `HTTPServer`, `HTTPLibrary`, `Core`, `IPAddress`
// and `Exchange`, and its pointers stay there. Start reading at `Exchange.handle`.

/// Answers requests.
public protocol HTTPHandler: Sendable {
    /// Answers a request.
    ///
    /// Runs on the connection's thread, also after each suspension; once the connection is gone, on another thread. The
    /// connection's thread serves many connections: never block it. While this function is suspended, the connection
    /// waits and its thread is free.
    func respond(to request: HTTPRequest) async -> HTTPResponse

    /// Makes the answer to a request that the server itself refuses. Called once for each such request.
    func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse

    /// Whether the head of a request shows that its client is known. Called when the bodies under way exceed half of
    /// their budget: requests of other clients are refused first. Runs on the connection's thread, and must answer from
    /// memory.
    func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool
}

extension HTTPHandler {
    public func hasRight(_ target: HTTPTarget, _ headers: HTTPHeaders) -> Bool { false }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        HTTPResponse(status: refusal.status)
    }
}

/// What is known about a request that the server itself refuses.
public struct RefusedRequest: Sendable {
    public let id: RequestID
    /// `nil` if this server does not accept it.
    public let target: HTTPTarget?
    /// Empty if they cannot be trusted.
    public let headers: HTTPHeaders
}

/// Why a request never reaches the handler.
public enum HTTPRefusal: Sendable, Equatable {
    /// The target is not a path that this server accepts, see `HTTPTarget`.
    case invalidTarget
    /// The body has no `Content-Length`.
    case lengthRequired
    /// The body is larger than the limit, in bytes.
    case contentTooLarge(limit: Int)
    /// The bodies under way leave no room for this one.
    case tooManyBytes
    /// `Expect` asks for something other than `100-continue`.
    case expectationFailed
    /// The head is neither HTTP/1.1 nor 1.0, or ambiguous: two readers could read different requests in it.
    case malformedHead
    /// The head is larger than the limit, in bytes.
    case headTooLarge(limit: Int)
    /// The method is not one of HTTP's.
    case unknownMethod
    /// The body has a transfer coding that this server does not know.
    case unknownCoding
    /// The server is stopping, and this request did not end in time.
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
        case .stopping, .tooManyBytes: 503
        }
    }
}
