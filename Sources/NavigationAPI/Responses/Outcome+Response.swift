internal import MicroHTTP
internal import Sessions

extension Outcome {
    func response(includesControls: Bool) -> HTTPResponse {
        switch self {
        case .applied(let applied): response(includesControls, token: applied.token)
        case .answered(_, _, _, let token): response(includesControls, token: token)
        }
    }

    /// - Parameters:
    ///   - includesControls: a kept answer is sent as it was kept.
    ///   - token: written before the state, because a kept answer does not contain it.
    fileprivate func response(_ includesControls: Bool, status: Int = 200, token: SessionToken?) -> HTTPResponse {
        var response: HTTPResponse
        switch self {
        case .applied(let applied):
            let body = StateBody(
                applied.state, transition: applied.transition, token: token, includesControls: includesControls)
            response = .json(body, status: status)
            response.headers.append("ETag", applied.state.entityTag)
        case .answered(let answer, let generation, let replayedAt, _):
            let member = token.map { "{\"token\":\"\($0.text)\"," }
            // An answer has a body; if that is no longer kept, an error was thrown instead.
            let kept = answer.body ?? []
            let body = member.map { Array($0.utf8) + kept.dropFirst() } ?? kept
            response = .json(body, status: status)
            response.headers.append("ETag", EntityTag.text(VersionTag(answer.version, generation: generation)))
            if let replayedAt {
                response.headers.append("Idempotency-Replayed", "true")
                response.headers.append("Session-Version", String(replayedAt))
            }
        }
        return response
    }
}

extension CreatedSession {
    /// - Parameter basePath: what the session's path begins with; empty if nothing.
    func response(includesControls: Bool, below basePath: String) -> HTTPResponse {
        var response = outcome.response(includesControls, status: 201, token: token)
        response.headers.append("Location", "\(basePath)/v1/sessions/\(id.text)")
        return response
    }
}
