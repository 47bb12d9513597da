public import Coordinators
public import FoundationEssentials
internal import JSONCoding
internal import Sodium
internal import Synchronization

/// The sessions of some apps on one store.
///
/// Reads answer the last committed state. Events of one session are applied one after the other, those of different
/// sessions side by side. Nothing here blocks: what must wait suspends.
public final class SessionHost: Sendable {
    /// In the order in which they were declared; the first is the default.
    public let apps: [App]
    public let store: any SessionStore
    private let settings: SessionSettings
    fileprivate let now: @Sendable () -> Date
    private let live = Mutex<[SessionID: LiveSession]>([:])

    /// - Parameter now: the clock.
    public init(
        apps: [App], store: any SessionStore, settings: SessionSettings = SessionSettings(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.apps = apps
        self.store = store
        self.settings = settings
        self.now = now
    }

    /// Opens a session of the named app, or of the first one.
    public func create(app name: String? = nil) async throws(SessionError) -> CreatedSession {
        guard let app = apps.first(where: { name == nil || $0.name == name }) else { throw .unknownApp }
        let createdAt = now()
        let first: TransitionResult
        switch try await run({ () async throws(NavigationError) in try await app.launch(at: createdAt) }) {
        case .success(let result): first = result
        case .failure(let error): throw .cannotLaunch(error)
        }

        let token = SessionToken.random()
        let expiresAt = expiry(createdAt: createdAt, usedAt: createdAt)
        let content = StoredSession.Content(
            app: app.name, createdAt: createdAt, expiresAt: expiresAt, state: .navigation(first.state))
        while true {
            let stored = StoredSession(
                id: .random(), version: 1, token: token.digest, keptUntil: expiresAt + settings.graveTime,
                content: content)
            let change = SessionChange(expectedVersion: 0, session: stored, event: nil)
            // The id is taken, which will not happen; if it does, another one is not.
            guard try await commit(change) else { continue }
            let session = LiveSession(stored, content, of: app, navigation: first.state)
            live.withLock { $0[stored.id] = session }
            return CreatedSession(
                state: try session.current(at: createdAt), transition: first.transition, token: token)
        }
    }

    /// The session that the token gives a right to; brought back from the store when it is not in memory.
    public func session(_ id: SessionID, token: String) async throws(SessionError) -> AuthorizedSession {
        let digest = SessionToken.digest(of: token)
        if let session = live.withLock({ $0[id] }) {
            guard session.token == digest else { throw .unauthorized }
            return AuthorizedSession(host: self, live: session)
        }
        guard let stored = try await load(id), stored.token == digest else { throw .unauthorized }
        guard let content = stored.content else { throw .ended }
        guard content.expiresAt > now() else { throw .expired }
        return AuthorizedSession(host: self, live: remember(try restore(stored, content)))
    }

    /// Forgets sessions that need not be kept any longer, a bounded number at a time.
    ///
    /// - Returns: how many.
    @discardableResult
    public func sweep(limit: Int = 1000) async throws(StoreError) -> Int {
        let swept = try await store.sweep(at: now(), limit: limit)
        live.withLock { live in
            for id in swept { live[id] = nil }
        }
        return swept.count
    }
}

/// A session, for one who has proved the right to it.
public struct AuthorizedSession: Sendable {
    fileprivate let host: SessionHost
    fileprivate let live: LiveSession

    /// The last committed state.
    public func state() throws(SessionError) -> SessionState {
        try live.current(at: host.now())
    }

    /// Applies one event, whole or not at all, and returns when it is committed.
    public func apply(_ event: PostedEvent) async throws(SessionError) -> AppliedEvent {
        try await host.apply(event, to: live)
    }

    /// Ends the session. It is known as ended for `SessionSettings.graveTime`.
    public func end() async throws(SessionError) {
        try await host.end(live)
    }
}

// Finding a session.
extension SessionHost {
    private func load(_ id: SessionID) async throws(SessionError) -> StoredSession? {
        do { return try await store.load(id) } catch { throw .notApplied }
    }

    private func restore(
        _ stored: StoredSession, _ content: StoredSession.Content
    ) throws(SessionError) -> LiveSession {
        guard let app = apps.first(where: { $0.name == content.app }),
            let json = try? JSON(parsing: content.state.text, maximumDepth: SessionHost.savedDepthLimit),
            let navigation = try? app.restore(json)
        else { throw .incompatible }
        return LiveSession(stored, content, of: app, navigation: navigation)
    }

    /// Tabs in tabs nest a saved state deeper than any request may be.
    private static let savedDepthLimit = 512

    /// Two requests may bring a session back at the same time; all must queue at one.
    private func remember(_ session: LiveSession) -> LiveSession {
        live.withLock { live in
            if let earlier = live[session.id] { return earlier }
            live[session.id] = session
            return session
        }
    }

    private func forget(_ session: LiveSession) {
        live.withLock { live in
            if live[session.id] === session { live[session.id] = nil }
        }
    }
}

// Changing a session.
extension SessionHost {
    fileprivate func apply(
        _ event: PostedEvent, to session: LiveSession
    ) async throws(SessionError) -> AppliedEvent {
        guard await session.turns.enter(limit: settings.waitingLimit) else { throw .tooManyWaiting }
        defer { session.turns.leave() }
        let now = now()
        let before = try session.current(at: now)

        let outcome = try await run { () async throws(NavigationError) in
            let result = try await session.app.apply(event, to: before.navigation, at: now)
            guard result.state != before.navigation else {
                return AppliedEvent(state: before, transition: result.transition)
            }
            let state = SessionState(
                id: session.id, app: before.app, version: before.version + 1,
                expiresAt: self.expiry(createdAt: session.createdAt, usedAt: now), navigation: result.state)
            return AppliedEvent(state: state, transition: result.transition)
        }
        switch outcome {
        case .failure(let error): throw .refused(error, state: before)
        case .success(let applied):
            if applied.state !== before {
                try await replace(session, at: before.version, by: stored(session, applied.state), event: event.type)
                session.publish(applied.state)
            }
            return applied
        }
    }

    fileprivate func end(_ session: LiveSession) async throws(SessionError) {
        guard await session.turns.enter(limit: settings.waitingLimit) else { throw .tooManyWaiting }
        defer { session.turns.leave() }
        let now = now()
        let last = try session.current(at: now)
        let tombstone = StoredSession(
            id: session.id, version: last.version + 1, token: session.token, keptUntil: now + settings.graveTime,
            content: nil)
        try await replace(session, at: last.version, by: tombstone, event: nil)
        session.end()
        forget(session)
    }

    /// Runs an app's code under the deadline.
    private func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(NavigationError) -> Value
    ) async throws(SessionError) -> Result<Value, NavigationError> {
        do {
            return try await withDeadline(settings.handlerDeadline) {
                do throws(NavigationError) {
                    return .success(try await work())
                } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .deadlineExceeded
        }
    }

    private func stored(_ session: LiveSession, _ state: SessionState) -> StoredSession {
        StoredSession(
            id: session.id, version: state.version, token: session.token,
            keptUntil: state.expiresAt + settings.graveTime,
            content: .init(
                app: session.app.name, createdAt: session.createdAt, expiresAt: state.expiresAt,
                state: .navigation(state.navigation)))
    }

    /// Commits the next form of a session. When another server was faster, the copy in memory is out of date: the next
    /// request loads the session anew.
    private func replace(
        _ session: LiveSession, at version: Int, by next: StoredSession, event: String?
    ) async throws(SessionError) {
        let change = SessionChange(expectedVersion: version, session: next, event: event)
        let isCommitted: Bool
        do {
            isCommitted = try await commit(change)
        } catch {
            if error == .unknownOutcome { forget(session) }
            throw error
        }
        guard isCommitted else {
            forget(session)
            throw .notApplied
        }
    }

    private func commit(_ change: SessionChange) async throws(SessionError) -> Bool {
        do {
            return try await store.commit([change]) == [.committed]
        } catch {
            switch error {
            case .unavailable: throw .notApplied
            case .unknownOutcome: throw .unknownOutcome
            }
        }
    }

    /// Whole seconds, as clients are told it.
    private func expiry(createdAt: Date, usedAt: Date) -> Date {
        let expiry = min(usedAt + settings.idleLifetime, createdAt + settings.absoluteLifetime)
        return Date(timeIntervalSince1970: expiry.timeIntervalSince1970.rounded(.down))
    }
}
