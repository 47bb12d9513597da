internal import Coordinators
internal import Synchronization

/// Reports each change of a session to its watchers: this server's commits as they happen, and those of other servers
/// on a shared store as `SessionHost.follow` reads them.
final class ChangeFeed: Sendable {
    private struct State {
        var watches: [SessionID: [Watch]] = [:]
        var isClosed = false
    }

    /// The number of watches. While there are none, a change costs no more than reading this number.
    private let count = Atomic(0)
    private let state = Mutex(State())
    /// Up to when the watchers know what other servers have committed; `nil` while nobody watches, or nobody shares
    /// the store.
    private let knownUntil = Mutex<ContinuousClock.Instant?>(nil)
    /// Whether a commit whose outcome is unknown may have been made.
    private let mayMissSome = Atomic(false)
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ watch: Watch) throws(SessionError) {
        try state.withLock { state throws(SessionError) in
            let watchers = state.watches[watch.id]?.count ?? 0
            guard watchers < SessionSettings.watchersOfSession else { throw .tooManyWatchers }
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

    /// Call after the session's state was published: a watch that is registered too late for this report then reads the
    /// published state.
    func report(_ id: SessionID, _ update: @autoclosure () -> SessionUpdate) {
        guard let watches = watches(of: id) else { return }
        let update = update()
        for watch in watches { watch.receive(update) }
    }

    func reportEnd(of id: SessionID) {
        for watch in watches(of: id) ?? [] { watch.end(.ended) }
    }

    func reportForgotten(_ id: SessionID) {
        for watch in watches(of: id) ?? [] { watch.endForgotten() }
    }

    /// A commit may have been made that nobody is told of.
    func mayHaveMissed() { mayMissSome.store(true, ordering: .relaxed) }

    /// - Returns: whether there may have been such a commit since the last call.
    func shouldLookAgain() -> Bool { mayMissSome.exchange(false, ordering: .relaxed) }

    /// The watched sessions of which some watcher has not seen the given version, in one order, which a simulation can
    /// repeat.
    ///
    /// - Parameter versions: a version of each session in question; `nil` for all watched sessions.
    func watched(before versions: [SessionID: Int]?) -> [SessionID] {
        let ids = state.withLock { state in
            guard let versions else { return Array(state.watches.keys) }
            return versions.compactMap { id, version in
                state.watches[id]?.contains { $0.version < version } == true ? id : nil
            }
        }
        return ids.sorted { $0.text < $1.text }
    }

    /// The newest state of each session that a client watches, as far as its watches have received it.
    var newestClientStates: [SessionState] {
        state.withLock { state in
            state.watches.values.compactMap { watches in
                watches.lazy.compactMap(\.newestClientState).max { $0.stamp.precedes($1.stamp) }
            }
        }
    }

    private func watches(of id: SessionID) -> [Watch]? {
        count.load(ordering: .relaxed) > 0 ? state.withLock { $0.watches[id] } : nil
    }

    /// Wakes all watches; from now on nobody waits for a change, because the server is about to stop. Streams stay
    /// open.
    func close() {
        let watches = state.withLock { state in
            state.isClosed = true
            return state.watches.values.flatMap(\.self)
        }
        for watch in watches { watch.wake() }
    }

    var isClosed: Bool { state.withLock(\.isClosed) }

    /// The number of watches.
    var watchers: Int { count.load(ordering: .relaxed) }

    /// How far behind the commits of other servers the watchers are, in seconds; 0 while nobody waits for one.
    var lag: Double {
        knownUntil.withLock { $0.map { (ContinuousClock.now - $0) / .seconds(1) } } ?? 0
    }

    func note(knownUntil time: ContinuousClock.Instant?) { knownUntil.withLock { $0 = time } }
}

// Reports what other servers have committed to the watchers on this server.
extension SessionHost {
    /// How long a change by another server may stay unnoticed.
    private static let interval = Duration.milliseconds(100)
    /// How many sessions are read at the same time.
    private static let readers = 32

    /// Reads the store's changes while anybody watches, until the task is cancelled. Returns at once if no other server
    /// shares the store.
    public func follow() async {
        guard store.isShared else { return }
        var position: FeedPosition?
        var isFollowing = false
        while !Task.isCancelled {
            try? await sleep(for: SessionHost.interval)
            guard watcherCount > 0 else {
                (position, isFollowing) = (nil, false)
                feed.note(knownUntil: nil)
                continue
            }
            // Whoever begins to watch knows the state of that moment.
            if !isFollowing { feed.note(knownUntil: .now) }
            isFollowing = true
            // What cannot be read now is read the next time, from the same position.
            guard let changes = try? await store.changes(since: position) else { continue }
            let ids = feed.watched(before: changes.isComplete ? changes.versions : nil)
            guard await forEach(ids, reportCurrentState) else { continue }
            position = changes.position
            feed.note(knownUntil: changes.position.time)
        }
    }

    /// How far behind the commits of other servers those are who watch sessions here, in seconds: 0 while nobody
    /// watches, and growing while the store does not answer. `nil` if no other server shares the store.
    public var feedLag: Double? { store.isShared ? feed.lag : nil }

    /// Calls `body` for many sessions, a few at a time.
    ///
    /// - Returns: whether it has returned `true` for all.
    @discardableResult
    func forEach(_ ids: [SessionID], _ body: @escaping @Sendable (SessionID) async -> Bool) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            var rest = ids[...]
            var areAllTrue = true
            for id in rest.prefix(SessionHost.readers) { group.addTask { await body(id) } }
            rest = rest.dropFirst(SessionHost.readers)
            for await isTrue in group {
                areAllTrue = areAllTrue && isTrue
                if let id = rest.popFirst() { group.addTask { await body(id) } }
            }
            return areAllTrue
        }
    }

    /// - Returns: whether the session could be read.
    private func reportCurrentState(of id: SessionID) async -> Bool {
        do throws(SessionError) {
            let session = try await inMemory(id, for: nil)
            try await isCurrent(session)
            let state = try session.current(for: nil, at: now())
            feed.report(id, SessionUpdate(state))
            return true
        } catch {
            switch error {
            case .ended: feed.reportEnd(of: id)
            case .unauthorized: feed.reportForgotten(id)
            // Watchers know when it expires. If this build cannot restore it, its clients get an error from their next
            // request.
            case .expired, .newerApp, .incompatible, .damaged: break
            default: return false
            }
            return true
        }
    }
}

// A session that a client watches is in use, although nobody posts anything.
extension SessionHost {
    /// Keeps sessions alive while clients watch them, until the task is cancelled, and tells these of commits whose outcome
    /// was unknown.
    public func keepWatchedAlive() async {
        while !Task.isCancelled {
            try? await sleep(for: .seconds(1))
            guard watcherCount > 0 else { continue }
            if feed.shouldLookAgain() {
                let isComplete = await forEach(feed.watched(before: nil), reportCurrentState)
                if !isComplete { feed.mayHaveMissed() }
            }
            let now = now()
            let due = feed.newestClientStates.filter { state in
                apps.first { $0.name == state.app }.flatMap { settings.expiryIfWatched(state, of: $0, at: now) } != nil
            }
            // What cannot be committed now is due again in a second. In one order, which a simulation can repeat.
            await forEach(due.map(\.id).sorted { $0.text < $1.text }) { (try? await self.keepAlive($0)) != nil }
        }
    }

    private func keepAlive(_ id: SessionID) async throws(SessionError) {
        try await change(try await inMemory(id, for: nil), waiting: .max) { (live) async throws(SessionError) in
            let now = now()
            let before = try live.current(for: nil, at: now)
            guard settings.expiryIfWatched(before, of: live.app, at: now) != nil else { return .unchanged(()) }
            let after = revised(
                before, as: before.identity.withLastUses(), BuiltInEvent.watching, at: now, of: live.app)
            return try await commit(after, after: before, at: now, of: live) ? .committed(()) : .outdated
        }
    }
}
