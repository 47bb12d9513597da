public import MicroHTTP
public import Sessions

/// A 5xx answer, for the log: what the client is sent, and the cause, which it is not sent.
public struct ServerFailure: Sendable {
    public let status: Int
    /// The last part of the problem's `type`.
    public let problem: String
    public let request: RequestID
    /// `nil` where the request names none.
    public let session: SessionID?
    /// Where it happened and why: `app`, `event`, `coordinator`, `call`, `error`, `limit`, `cause`, as far as known.
    /// Contains no value from a request, from a state or from an error that an app threw.
    public let details: [String: String]

    init(_ problem: Problem, to request: RequestID, _ target: HTTPTarget?) {
        self.status = problem.status
        self.problem = problem.name
        self.request = request
        self.session = target.flatMap { Route.of($0.segments)?.session(in: $0.segments) }.flatMap { SessionID($0) }
        self.details = problem.details.isEmpty ? ["cause": problem.title] : problem.details
    }
}
