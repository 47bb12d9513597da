internal import Coordinators
public import MicroHTTP
internal import Sessions

/// What is not done: the client is told so, and the log where that is the server's fault.
extension NavigationHandler {
    func refuse(_ problem: Problem, of request: HTTPRequest, _ reply: Reply) {
        if problem.status >= 500 { report(ServerFailure(problem, to: request.id, request.target)) }
        reply { problem.response }
    }

    /// - Parameter event: that was posted. Named in the log once the app was called for it: then it is one of the app's.
    func refuse(
        _ error: SessionError, of request: HTTPRequest, event: PostedEvent? = nil, _ reply: Reply
    ) {
        var problem = Problem(error)
        if problem.details["app"] != nil { problem.details["event"] = event?.type }
        refuse(problem, of: request, reply)
    }

    public func response(for refusal: HTTPRefusal, to request: RefusedRequest) -> HTTPResponse {
        let problem = Problem(refusal)
        if problem.status >= 500 { report(ServerFailure(problem, to: request.id, request.target)) }
        return problem.response
    }
}
