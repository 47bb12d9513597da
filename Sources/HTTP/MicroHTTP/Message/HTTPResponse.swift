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

/// A body that is made while it is being sent, for one answer.
///
/// The server asks for a part whenever all before it has been sent. While there is none, the connection is suspended: it
/// costs no thread, and is not closed for its silence. The stream is released once its answer has ended, for whatever
/// reason: the end of the stream, a client that is gone or reads nothing, a server that stops.
public protocol HTTPStream: AnyObject, Sendable {
    /// Called once, before the first `next`.
    ///
    /// - Parameter wake: makes the server ask for the next part. May be called from any thread, as often as one likes.
    func begin(waking wake: @escaping @Sendable () -> Void)

    /// The next part. Called on the connection's thread, and never twice at the same time: never block here.
    ///
    /// - Parameter isQuiet: whether nothing was sent for `HTTPServer.Settings.Limits.quiet`, or for as long as the stream
    ///   wanted to wait.
    func next(isQuiet: Bool) -> HTTPStreamPart
}

public enum HTTPStreamPart: Sendable {
    /// Must not be empty.
    case bytes([UInt8])
    /// There is nothing to send before the next call of `wake`, or for so many seconds.
    case wait(atMost: Double = .infinity)
    case end
}
