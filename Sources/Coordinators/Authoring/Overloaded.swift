/// A handler throws this when it has no capacity at the moment. Nothing changes, and the answer asks the client to try
/// again.
public struct Overloaded: Error, Equatable {
    /// The number of seconds after which the client may try again.
    public let retryAfter: Int

    public init(retryAfter: Int = 1) {
        self.retryAfter = retryAfter
    }
}
