/// A request, whole. Immutable, and shared by all who look at it.
public final class HTTPRequest: Sendable {
    public let method: String
    public let target: HTTPTarget
    public let headers: HTTPHeaders
    public let body: [UInt8]

    public init(method: String, target: HTTPTarget, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }
}
