public import Coordinators
internal import FoundationEssentials
internal import Sodium
internal import Synchronization

/// A committed state of a session, and the transition that led to it. All who watch the session share it.
public final class SessionUpdate: Sendable {
    public let state: SessionState
    /// `nil` if it is not known here.
    public let transition: Transition?
    /// The state before the transition, if that is known here.
    private let before: SessionState?
    private let texts = Mutex<[Int: [UInt8]]>([:])
    private let drawings = Mutex<[SessionUpdate]>([])

    init(_ state: SessionState, _ transition: Transition? = nil, after before: SessionState? = nil) {
        self.state = state
        self.transition = transition
        self.before = before
    }

    /// The update as a device sees it: what has changed for it need not be what has changed for the one that acted.
    fileprivate func drawn(for device: Device?, of app: App) throws(SessionError) -> SessionUpdate {
        let state = try state.drawn(for: device, of: app)
        guard state !== self.state else { return self }
        if let known = drawings.withLock({ $0.first { $0.state === state } }) { return known }
        var transition: Transition?
        if let own = self.transition, let before = try before?.drawn(for: device, of: app) {
            let operations = state.navigation.operations(
                since: before.navigation, replaced: own.operations.replaced)
            transition = own.with(operations)
        }
        let drawn = SessionUpdate(state, transition)
        return drawings.withLock { drawings in
            if let known = drawings.first(where: { $0.state === state }) { return known }
            drawings.append(drawn)
            return drawn
        }
    }

    /// The text that watchers send for this update, made once for all that send the same.
    ///
    /// - Parameter variant: distinguishes the texts that different watchers send.
    public func text(_ variant: Int, _ make: () -> [UInt8]) -> [UInt8] {
        texts.withLock { texts in
            if let text = texts[variant] { return text }
            let text = make()
            texts[variant] = text
            return text
        }
    }
}

/// A watcher of a session. Of changes that come faster than they are read, it keeps the newest.
public final class Watch: Sendable {
    /// Why a watch receives no more changes.
    public enum End: String, Sendable {
        case ended, expired
        case tokenReplaced = "token-replaced"
        case tokenRevoked = "token-revoked"
    }

    private struct State {
        var newest: SessionUpdate?
        var end: End?
        /// Whether something has been received since `wait` last returned.
        var isWoken = false
        var waiting: CheckedContinuation<Void, Never>?
        var onChange: (@Sendable () -> Void)?
    }

    /// How long a client that has gone away may stay unnoticed.
    private static let presenceInterval = Duration.seconds(2)

    let id: SessionID
    /// The watcher's; `nil` for an operator, who needs none.
    private let token: SHA256Digest?
    private let isStillOperator: (@Sendable () -> Bool)?
    private let host: SessionHost
    private let app: App
    private let state = Mutex(State())

    fileprivate init(_ session: AuthorizedSession) {
        id = session.id
        app = session.live.app
        token = session.isOperator ? nil : session.token
        isStillOperator = session.isStillOperator
        host = session.host
    }

    /// Ends the watch. Call it once nobody reads the watch any more.
    public func cancel() {
        host.feed.remove(self)
    }

    /// - Parameter body: is called after each change, from any thread, and must return at once.
    public func onChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = body }
    }

    /// The newest state as the watcher's device sees it, and why no later one follows; `nil` if later ones may.
    ///
    /// - Throws: if it cannot be drawn for that device.
    public func current() throws(SessionError) -> (update: SessionUpdate?, end: End?) {
        if isStillOperator?() == false { return (nil, .tokenRevoked) }
        var (newest, end) = state.withLock { ($0.newest, $0.end) }
        if end == nil, let newest, newest.state.expiresAt <= host.now() { end = .expired }
        if let token, let stored = newest {
            newest = try stored.drawn(for: stored.state.identity.device(of: token, in: app), of: app)
        }
        return (newest, end)
    }

    /// The newest state that this watch has received for a client; `nil` if it is the operator's, or has ended.
    var newestClientState: SessionState? {
        token == nil ? nil : state.withLock { $0.end == nil ? $0.newest?.state : nil }
    }

    /// The newest version that this watch has received; 0 if none.
    var version: Int { state.withLock(\.newest)?.state.version ?? 0 }

    /// How many seconds later `current` may be another although nothing was received; 0 or less if it is already.
    public var secondsToEnd: Double {
        let expiry = state.withLock(\.newest)?.state.expiresAt.timeIntervalSince(host.now()) ?? .infinity
        return isStillOperator == nil ? expiry : min(expiry, 1)
    }

    /// A little more than `secondsToEnd`, so that it has ended by then.
    fileprivate var timeToEnd: Duration { .milliseconds(Int(min(max(0, secondsToEnd), 1e6) * 1000) + 10) }

    /// Waits until something has changed since the last call, or `limit` has passed.
    fileprivate func wait(within limit: Duration, unless hasGone: @escaping @Sendable () -> Bool) async {
        // Not on the connection's thread: it need not be woken only to look for its client.
        let timer = Task {
            let end = ContinuousClock.now + limit
            while .now < end, !hasGone() { try await host.sleep(for: min(end - .now, Watch.presenceInterval)) }
            wake()
        }
        defer { timer.cancel() }
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                if !state.isWoken { state.waiting = continuation }
                return state.isWoken
            }
            if isWoken { continuation.resume() }
        }
        state.withLock { $0.isWoken = false }
    }

    func receive(_ update: SessionUpdate) {
        wake { state in
            if let token, state.end == nil { state.end = update.state.identity.end(of: token, state.newest) }
            // Of a later generation, an earlier version may be the newest.
            let isLater = state.newest.map { $0.state.stamp.precedes(update.state.stamp) } ?? true
            guard state.end == nil, isLater else { return }
            state.newest = update
        }
    }

    func end(_ reason: End) {
        wake { $0.end = $0.end ?? reason }
    }

    /// The session is forgotten: it has expired if its time was up, otherwise it has ended.
    func endForgotten() {
        let hasExpired = state.withLock(\.newest).map { $0.state.expiresAt <= host.now() } ?? false
        end(hasExpired ? .expired : .ended)
    }

    func wake() {
        wake { _ in }
    }

    private func wake(_ change: (inout sending State) -> Void) {
        let (waiting, onChange) = state.withLock { state in
            change(&state)
            state.isWoken = true
            defer { state.waiting = nil }
            return (state.waiting, state.onChange)
        }
        waiting?.resume()
        onChange?()
    }
}

extension SessionIdentity {
    /// Why the token gives access no more; `nil` if it does.
    ///
    /// - Parameter newest: the last state that it gave access to; `nil` if there is none.
    fileprivate func end(of token: SHA256Digest, _ newest: SessionUpdate?) -> Watch.End? {
        guard !isOpen(to: token) else { return nil }
        // A replaced token keeps its number.
        let number = newest?.state.identity.access(of: token)?.number
        return tokens.contains { $0.number == number } ? .tokenReplaced : .tokenRevoked
    }
}

extension AuthorizedSession {
    /// Watches the session from its last committed state on. End it with `Watch.cancel`.
    public func watch() async throws(SessionError) -> Watch {
        let watch = Watch(self)
        try host.feed.add(watch)
        // Read after the watch was registered, so that no change is missed. The session may have been removed from
        // memory, and loaded again.
        do {
            let session = with(try await host.inMemory(id, for: nil))
            try await host.isCurrent(session.live)
            watch.receive(SessionUpdate(try session.committed(at: host.now())))
            _ = try watch.current()
            return watch
        } catch {
            watch.cancel()
            throw error
        }
    }

    /// Waits until the session has another version than the caller knows, but not longer than `limit`.
    ///
    /// - Parameter hasGone: whether the client has gone away meanwhile.
    /// - Returns: the last committed state, with the transition that led to it if that directly followed `known`.
    public func state(
        after known: VersionTag, within limit: Duration, unless hasGone: @escaping @Sendable () -> Bool = { false }
    ) async throws(SessionError) -> (state: SessionState, transition: Transition?) {
        let deadline = ContinuousClock.now + limit
        let watch = try await watch()
        defer { watch.cancel() }
        while true {
            let (update, end) = try watch.current()
            switch end {
            case .ended?: throw .ended
            case .expired?: throw .expired
            case .tokenReplaced?: throw .tokenReplaced
            case .tokenRevoked?: throw .tokenRevoked
            case nil: break
            }
            let left = deadline - .now
            if let update, update.state.tag != known || left <= .zero || host.feed.isClosed || hasGone() {
                return (update.state, update.state.tag.follows(known) ? update.transition : nil)
            }
            await watch.wait(within: min(left, watch.timeToEnd), unless: hasGone)
        }
    }
}

extension SessionHost {
    /// From now on nobody waits for a change: the server is about to stop.
    public func endWatching() {
        feed.close()
    }

    /// The number of watches.
    public var watcherCount: Int { feed.watchers }
}
