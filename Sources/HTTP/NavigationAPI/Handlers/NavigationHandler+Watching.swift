internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions
internal import Synchronization

// Reading a session's state: at once, when it has changed (`Prefer: wait`), or as a stream of its changes.
extension NavigationHandler {
    func readState(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        let known = request.headers.values("If-None-Match")
        var state = try await state(request)
        var transition: Transition?
        // A client that has no state yet is answered at once.
        let preferences = known.isEmpty ? [] : request.headers.values("Prefer")
        let wait = Preference.wait(preferences, atMost: settings.longestWait)
        if let wait, EntityTag.matches(known, state.entityTag) {
            (state, transition) = try await translatingErrors { () async throws(SessionError) in
                try await session(request.name, request)
                    .state(after: state.tag, within: .seconds(wait)) { request.hasHungUp }
            }
        }
        let tag = state.entityTag
        let isKnown = EntityTag.matches(known, tag)
        let body = StateBody(state: state, transition: transition, includesControls: includesControls)
        var response = isKnown ? HTTPResponse.notModified : .json(body)
        response.headers.append("ETag", tag)
        if let wait {
            response.applied(wait: wait)
            // The drain has cut the wait short: a client that repeats it at once would get the same answer.
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

/// A session's states as they are committed, as server-sent events (the HTML standard, section 9.2). A client that
/// reads slowly skips to the newest.
final class UpdateStream: HTTPStream {
    private struct State {
        /// The version that the client has; `nil` if it has none of this session.
        var known: VersionTag?
        var hasBegun = false
        var hasEnded = false
    }

    private let watch: Watch
    private let includesControls: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - watch: cancelled when the stream is released.
    ///   - lastID: the client's `Last-Event-ID`.
    init(_ watch: Watch, lastID: String?, includesControls: Bool) {
        self.watch = watch
        self.includesControls = includesControls
        let current = try? watch.current().update?.state
        state = Mutex(State(known: lastID == current?.entityTag ? current?.tag : nil))
    }

    deinit { watch.cancel() }

    func begin(waking wake: @escaping @Sendable () -> Void) {
        watch.onChange(wake)
    }

    func next(isQuiet: Bool) -> HTTPStreamPart {
        state.withLock { state in
            if !state.hasBegun {
                state.hasBegun = true
                return .bytes(UpdateStream.beginning)
            }
            guard !state.hasEnded else { return .end }
            // Whoever cannot be drawn for learns why from its next request.
            guard let (update, end) = try? watch.current() else { return .end }
            if let update, update.state.tag != state.known {
                let isNext = update.transition != nil && state.known.map(update.state.tag.follows) ?? false
                state.known = update.state.tag
                return .bytes(event(update, withTransition: isNext))
            }
            if let end {
                state.hasEnded = true
                return .bytes(Array("event: end\ndata: {\"reason\":\"\(end.rawValue)\"}\n\n".utf8))
            }
            return isQuiet ? .bytes(UpdateStream.signOfLife) : .wait(atMost: watch.secondsToEnd)
        }
    }

    private func event(_ update: SessionUpdate, withTransition: Bool) -> [UInt8] {
        update.text((withTransition ? 1 : 0) + (includesControls ? 2 : 0)) {
            let body = StateBody(
                state: update.state, transition: withTransition ? update.transition : nil,
                includesControls: includesControls)
            return Array("id: \(update.state.entityTag)\nevent: state\ndata: ".utf8) + body.bytes + Array("\n\n".utf8)
        }
    }

    /// How long a client waits before it connects again. Random, so that clients do not all return at once after a
    /// restart.
    private static var beginning: [UInt8] { Array("retry: \(Int.random(in: 1000...5000))\n\n".utf8) }
    private static let signOfLife = Array(":\n\n".utf8)
}

extension HTTPResponse {
    /// - Parameter wait: the seconds that the answer was allowed to wait.
    mutating func applied(wait: Int) { headers.append("Preference-Applied", "wait=\(wait)") }

    static func updates(_ stream: UpdateStream) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform",
                "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff",
            ],
            stream: stream)
    }
}
