/// A handler throws this when it can do no more at the moment: the client is told to try again, and nothing has changed.
public struct Overloaded: Error, Equatable {
    /// After how many seconds it may be tried again.
    public let retryAfter: Int

    public init(retryAfter: Int = 1) {
        self.retryAfter = retryAfter
    }
}
