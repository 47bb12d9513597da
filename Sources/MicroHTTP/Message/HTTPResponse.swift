/// The answer to a request. The server adds `Date`, `Content-Length` and `Connection`, and leaves the body out for
/// HEAD. The body of a 304 must be empty.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: [UInt8]

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
