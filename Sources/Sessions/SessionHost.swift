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
    let settings: SessionSettings
    let now: @Sendable () -> Date
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
    ///
    /// - Parameter link: opened right away.
    public func create(app name: String? = nil, link: String? = nil) async throws(SessionError) -> CreatedSession {
        guard let app = apps.first(where: { name == nil || $0.name == name }) else { throw .unknownApp }
        let createdAt = now()
        let first = try await launch(app, at: createdAt, link: link)
        let token = SessionToken.random()
        while true {
            let state = SessionState(
                id: .random(), app: app.name, version: 1,
                expiresAt: expiry(createdAt: createdAt, usedAt: createdAt), navigation: first.state)
            let session = LiveSession(state, of: app, token: token.digest, createdAt: createdAt)
            let change = SessionChange(
                expectedVersion: 0, session: session.stored(state, graveTime: settings.graveTime), event: nil)
            switch await store.commit([change]) {
            case .failure(let error): throw SessionError(error)
            // The id is taken, which will not happen; if it does, another one is not.
            case .success(let conflicts) where !conflicts.isEmpty: continue
            case .success: break
            }
            live.withLock { $0[state.id] = session }
            return CreatedSession(state: state, transition: first.transition, token: token)
        }
    }

    private func launch(
        _ app: App, at now: Date, link: String?
    ) async throws(SessionError) -> TransitionResult {
        let run: TransitionRun
        do { run = try app.beginLaunch(at: now, link: link) } catch { throw .cannotLaunch(error) }
        return try await result(of: run, within: settings.handlerDeadline) { .cannotLaunch($0) }
    }

    /// The same as `session(_:token:)` for a session in memory, which needs no `await`; `nil` where it is not there.
    public func liveSession(_ id: SessionID, token: String) throws(SessionError) -> AuthorizedSession? {
        guard let session = live.withLock({ $0[id] }) else { return nil }
        guard session.token == SessionToken.digest(of: token) else { throw .unauthorized }
        return AuthorizedSession(host: self, live: session)
    }

    /// The session that the token gives a right to; brought back from the store when it is not in memory.
    public func session(_ id: SessionID, token: String) async throws(SessionError) -> AuthorizedSession {
        if let session = try liveSession(id, token: token) { return session }
        guard let stored = try await load(id), stored.token == SessionToken.digest(of: token) else {
            throw .unauthorized
        }
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
        let state = SessionState(
            id: stored.id, app: content.app, version: stored.version, expiresAt: content.expiresAt,
            navigation: navigation)
        return LiveSession(state, of: app, token: stored.token, createdAt: content.createdAt)
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

    func forget(_ session: LiveSession) {
        live.withLock { live in
            if live[session.id] === session { live[session.id] = nil }
        }
    }
}

extension SessionHost {
    /// Whole seconds, as clients are told it.
    func expiry(createdAt: Date, usedAt: Date) -> Date {
        let expiry = min(usedAt + settings.idleLifetime, createdAt + settings.absoluteLifetime)
        return Date(timeIntervalSince1970: expiry.timeIntervalSince1970.rounded(.down))
    }
}

extension SessionError {
    init(_ error: StoreError) {
        switch error {
        case .unavailable: self = .notApplied
        case .unknownOutcome: self = .unknownOutcome
        }
    }
}
