/// The answer to a request. The server adds `Date`, `Content-Length` and `Connection`, and leaves the body out for
/// HEAD. The body of a 304 must be empty.
public struct HTTPResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        case stream(any HTTPStream)
    }

    public var status: Int
    public var headers: HTTPHeaders
    public var body: Body

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// An answer that ends when the stream says so.
    public init(status: Int, headers: HTTPHeaders = [:], stream: any HTTPStream) {
        self.status = status
        self.headers = headers
        self.body = .stream(stream)
    }
}
