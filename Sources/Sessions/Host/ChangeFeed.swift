internal import Coordinators
internal import Synchronization

/// Tells who watches a session that it has changed. This server's commits are reported here; a store that several
/// servers share reports theirs, too.
///
/// A watch is registered first, and the state read after that: so no change is missed. Changes that come faster than
/// they are read are one.
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

    /// - Returns: a watch that must be ended with `end`.
    func watch(_ id: SessionID) throws(SessionError) -> Watch {
        let watch = Watch(of: id)
        try state.withLock { state throws(SessionError) in
            guard state.watches[id, default: []].count < limitOfSession else { throw .tooManyWatchers }
            guard count.load(ordering: .relaxed) < limit else { throw .noWatcherFree }
            count.add(1, ordering: .relaxed)
            state.watches[id, default: []].append(watch)
            if state.isClosed { watch.signal(nil) }
        }
        return watch
    }

    func end(_ watch: Watch) {
        state.withLock { state in
            count.subtract(1, ordering: .relaxed)
            state.watches[watch.id]?.removeAll { $0 === watch }
            if state.watches[watch.id]?.isEmpty == true { state.watches[watch.id] = nil }
        }
    }

    /// Call after the session's state was published, which orders this and who registers a watch and then reads it.
    ///
    /// - Parameter change: `nil` if the session has ended.
    func report(_ id: SessionID, _ change: Change?) {
        guard count.load(ordering: .relaxed) > 0 else { return }
        let watches = state.withLock { $0.watches[id] ?? [] }
        for watch in watches { watch.signal(change) }
    }

    /// Ends all waiting, now and later: the server is about to stop.
    func close() {
        let watches = state.withLock { state in
            state.isClosed = true
            return state.watches.values.flatMap(\.self)
        }
        for watch in watches { watch.signal(nil) }
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// A version, and the transition that led to it.
    struct Change: Sendable {
        let version: Int
        let transition: Transition
    }
}

/// Somebody who waits for a session to change.
final class Watch: Sendable {
    private struct State {
        var isSignalled = false
        var last: ChangeFeed.Change?
        var waiting: CheckedContinuation<Void, Never>?
    }

    let id: SessionID
    private let state = Mutex(State())

    init(of id: SessionID) {
        self.id = id
    }

    /// The newest change that was reported.
    var last: ChangeFeed.Change? { state.withLock(\.last) }

    /// Waits until something is reported, or `limit` has passed. What was reported since the last call counts.
    func wait(within limit: Duration) async {
        let timer = Task {
            try await Task.sleep(for: limit)
            signal(nil)
        }
        defer { timer.cancel() }
        await withCheckedContinuation { continuation in
            let isSignalled = state.withLock { state in
                if !state.isSignalled { state.waiting = continuation }
                return state.isSignalled
            }
            if isSignalled { continuation.resume() }
        }
        state.withLock { $0.isSignalled = false }
    }

    fileprivate func signal(_ change: ChangeFeed.Change?) {
        let waiting = state.withLock { state in
            state.isSignalled = true
            if let change, change.version > state.last?.version ?? 0 { state.last = change }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }
}
