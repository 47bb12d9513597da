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
