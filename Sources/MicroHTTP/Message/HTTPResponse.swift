/// The answer to a request. The server adds `Date`, `Content-Length` and `Connection`, and leaves the body out for
/// HEAD. The body of a 304 must be empty.
public struct HTTPResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Sent from where they are.
        case constant(StaticBytes)
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

/// Bytes that exist as long as the process, such as those of a file that is compiled in.
///
/// Sendable, because nobody changes or frees them: whoever makes a value promises that.
public struct StaticBytes: @unchecked Sendable {
    public let buffer: UnsafeBufferPointer<UInt8>

    public init(_ buffer: UnsafeBufferPointer<UInt8>) { self.buffer = buffer }
}
