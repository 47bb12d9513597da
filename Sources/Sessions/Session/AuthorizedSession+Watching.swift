public import Coordinators

extension AuthorizedSession {
    /// Waits until the session has another version than the caller knows, but not longer than `limit`.
    ///
    /// - Returns: the last committed state, and the transition that led to it if it directly followed `version`.
    public func state(
        after version: Int, within limit: Duration
    ) async throws(SessionError) -> (state: SessionState, transition: Transition?) {
        let end = ContinuousClock.now + limit
        let watch = try host.feed.watch(id)
        defer { host.feed.end(watch) }
        while true {
            // The session may have been removed from memory, and loaded again.
            let state = try await again().state()
            let left = end - ContinuousClock.now
            guard state.version == version, left > .zero, !host.feed.isClosed else {
                let last = watch.last
                let isNext = state.version == version + 1 && last?.version == state.version
                return (state, isNext ? last?.transition : nil)
            }
            await watch.wait(within: left)
        }
    }
}

extension SessionHost {
    /// From now on nobody waits for a change: the server is about to stop.
    public func endWatching() {
        feed.close()
    }
}
