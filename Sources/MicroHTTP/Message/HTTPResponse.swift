/// What is answered. `Date`, `Content-Length` and `Connection` are the server's; so is leaving the body out for HEAD.
/// Of a 304, the body is to be empty.
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
