/// The answer to a request. The server adds `Date`, `Content-Length` and `Connection`, and leaves the body out for
/// HEAD. The body of a 304 must be empty.
public struct HTTPResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// Sent without being copied.
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

    /// An answer whose body is a stream.
    public init(status: Int, headers: HTTPHeaders = [:], stream: any HTTPStream) {
        self.status = status
        self.headers = headers
        self.body = .stream(stream)
    }
}

/// Bytes that exist as long as the process, such as those of a file that is compiled in.
///
/// Sendable, because the bytes are never changed or freed: the code that makes a value guarantees that.
public struct StaticBytes: @unchecked Sendable {
    public let buffer: UnsafeBufferPointer<UInt8>

    public init(_ buffer: UnsafeBufferPointer<UInt8>) { self.buffer = buffer }
}

/// The body of one answer, made while it is being sent.
///
/// The server asks for a part when all earlier parts have been sent. While there is none, the connection occupies no
/// thread, and no timeout closes it. The stream is released when its answer has ended, whatever the reason: the end of
/// the stream, a client that is gone or reads nothing, a server that stops.
public protocol HTTPStream: AnyObject, Sendable {
    /// Called once, before the first `next`.
    ///
    /// - Parameter wake: makes the server ask for the next part. May be called from any thread, any number of times.
    func begin(waking wake: @escaping @Sendable () -> Void)

    /// The next part. Called on the thread that sends all streams, one call at a time: never block here.
    ///
    /// - Parameter isQuiet: whether nothing was sent for `HTTPServer.Settings.Limits.quiet`, or for the time that the
    ///   stream asked to wait.
    func next(isQuiet: Bool) -> HTTPStreamPart
}

public enum HTTPStreamPart: Sendable {
    /// Must not be empty.
    case bytes([UInt8])
    /// There is nothing to send until `wake` is called, or until so many seconds have passed.
    case wait(atMost: Double = .infinity)
    case end
}
