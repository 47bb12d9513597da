internal import Synchronization

/// Tells who watches a session that it has changed. This server's commits are reported here; a store that several
/// servers share reports theirs, too.
final class ChangeFeed: Sendable {
    private struct State {
        var watches: [SessionID: [Watch]] = [:]
        var isClosed = false
    }

    /// How many watch. Most sessions have no watcher: then a change costs reading this number.
    private let count = Atomic(0)
    private let state = Mutex(State())
    private let limit: Int
    private let limitOfSession: Int

    init(limit: Int, limitOfSession: Int) {
        self.limit = limit
        self.limitOfSession = limitOfSession
    }

    func add(_ watch: Watch) throws(SessionError) {
        try state.withLock { state throws(SessionError) in
            guard state.watches[watch.id, default: []].count < limitOfSession else { throw .tooManyWatchers }
            guard count.load(ordering: .relaxed) < limit else { throw .noWatcherFree }
            count.add(1, ordering: .relaxed)
            state.watches[watch.id, default: []].append(watch)
        }
    }

    func remove(_ watch: Watch) {
        state.withLock { state in
            guard let index = state.watches[watch.id]?.firstIndex(where: { $0 === watch }) else { return }
            count.subtract(1, ordering: .relaxed)
            state.watches[watch.id]?.remove(at: index)
            if state.watches[watch.id]?.isEmpty == true { state.watches[watch.id] = nil }
        }
    }

    /// Call after the session's state was published, which orders this and who registers a watch and then reads it.
    func report(_ id: SessionID, _ update: @autoclosure () -> SessionUpdate) {
        guard let watches = watches(of: id) else { return }
        let update = update()
        for watch in watches { watch.receive(update) }
    }

    func reportEnd(of id: SessionID) {
        for watch in watches(of: id) ?? [] { watch.end(.ended) }
    }

    /// Those that are watched and, as far as the watchers know, may have the version or an earlier one.
    ///
    /// - Parameter versions: `nil` for all that are watched.
    func watched(before versions: [SessionID: Int]?) -> [SessionID] {
        state.withLock { state in
            guard let versions else { return Array(state.watches.keys) }
            return versions.compactMap { id, version in
                state.watches[id]?.contains { $0.version < version } == true ? id : nil
            }
        }
    }

    private func watches(of id: SessionID) -> [Watch]? {
        count.load(ordering: .relaxed) > 0 ? state.withLock { $0.watches[id] } : nil
    }

    /// Nobody waits any more, now and later: the server is about to stop. Those who have a stream keep it.
    func close() {
        let watches = state.withLock { state in
            state.isClosed = true
            return state.watches.values.flatMap(\.self)
        }
        for watch in watches { watch.wake() }
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// How many watch now.
    var watchers: Int { count.load(ordering: .relaxed) }
}
