internal import MicroHTTP
internal import Sessions

extension Outcome {
    var response: HTTPResponse {
        switch self {
        case .applied(let applied): response(token: applied.token)
        case .answered(_, _, let token): response(token: token)
        }
    }

    /// - Parameter token: written before the state, because a kept answer does not contain it.
    fileprivate func response(status: Int = 200, token: SessionToken?) -> HTTPResponse {
        var response: HTTPResponse
        switch self {
        case .applied(let applied):
            response = .json(StateBody(applied.state, transition: applied.transition, token: token), status: status)
            response.headers.append("ETag", applied.state.entityTag)
        case .answered(let answer, let replayedAt, _):
            let member = token.map { "{\"token\":\"\($0.text)\"," }
            // An answer has a body; if that is no longer kept, an error was thrown instead.
            let kept = answer.body ?? []
            let body = member.map { Array($0.utf8) + kept.dropFirst() } ?? kept
            response = .json(body, status: status)
            response.headers.append("ETag", EntityTag.text(answer.version))
            if let replayedAt {
                response.headers.append("Idempotency-Replayed", "true")
                response.headers.append("Session-Version", String(replayedAt))
            }
        }
        return response
    }
}

extension CreatedSession {
    var response: HTTPResponse {
        var response = outcome.response(status: 201, token: token)
        response.headers.append("Location", "/v1/sessions/\(id.text)")
        return response
    }
}
