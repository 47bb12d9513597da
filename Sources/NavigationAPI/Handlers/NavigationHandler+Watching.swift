internal import Coordinators
internal import MicroHTTP
internal import Sessions
internal import Synchronization

// A session's state: as it is now, as soon as it is another one, and as it changes.
extension NavigationHandler {
    func readState(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        let known = request.headers.values("If-None-Match")
        var state = try await state(request)
        var transition: Transition?
        // Whoever has no state yet is answered at once.
        let wait = known.isEmpty ? nil : Preference.wait(request.headers)
        if let wait, EntityTag.matches(known, state.entityTag) {
            (state, transition) = try await translatingErrors { () async throws(SessionError) in
                try await session(request.name, request)
                    .state(after: state.tag, within: .seconds(wait)) { request.hasHungUp }
            }
        }
        let tag = state.entityTag
        let isKnown = EntityTag.matches(known, tag)
        let body = StateBody(state, transition: transition, includesControls: includesControls)
        var response = isKnown ? HTTPResponse.notModified : .json(body)
        response.headers.append("ETag", tag)
        if let wait {
            response.headers.append("Preference-Applied", "wait=\(wait)")
            // The wait was cut short: whoever repeats it at once would only be told the same.
            if isKnown, draining.load(ordering: .relaxed) { response.headers.append("Retry-After", "1") }
        }
        return response
    }

    func sendUpdates(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        guard !draining.load(ordering: .relaxed) else { throw .draining }
        let watch = try await translatingErrors { () async throws(SessionError) in
            try await session(request.name, request).watch()
        }
        let lastID = request.headers.only("Last-Event-ID")
        return .updates(UpdateStream(watch, lastID: lastID, includesControls: includesControls))
    }
}
