public import Coordinators
public import FoundationEssentials
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
    let retention: Retention
    let eventRate: RateLimit?
    let now: @Sendable () -> Date
    /// Is told what an operator should know, in words that hold nothing of a request.
    let report: @Sendable (String) -> Void
    let live: Mutex<LiveSessions>
    let creations = KeyedTurns()
    let pastReads = KeyedTurns()
    /// Sessions that were started anew, because there was no way to bring them back.
    let relaunches = Atomic(0)

    /// - Parameters:
    ///   - retention: as the store has it.
    ///   - now: the clock.
    public init(
        apps: [App], store: any SessionStore, settings: SessionSettings = SessionSettings(),
        retention: Retention = Retention(), now: @escaping @Sendable () -> Date = { Date() },
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.apps = apps
        self.store = store
        self.settings = settings
        self.retention = retention
        self.eventRate = RateLimit(perSecond: settings.eventRate)
        self.now = now
        self.report = report
        self.live = Mutex(LiveSessions(limit: settings.liveLimit))
    }

    /// The same as `session(_:token:)` for a session in memory, which needs no `await`; `nil` where it is not there.
    public func liveSession(_ id: SessionID, token: String) throws(SessionError) -> AuthorizedSession? {
        guard let session = sessionInMemory(id) else { return nil }
        let token = SessionToken.digest(of: token)
        guard session.isOpen(to: token) else { throw .unauthorized }
        return AuthorizedSession(host: self, live: session, token: token)
    }

    /// The session that the token gives a right to; brought back from the store when it is not in memory.
    public func session(_ id: SessionID, token: String) async throws(SessionError) -> AuthorizedSession {
        if let session = try liveSession(id, token: token) { return session }
        let token = SessionToken.digest(of: token)
        guard let loaded = try await load(id), loaded.record.identity.token == token else { throw .unauthorized }
        return AuthorizedSession(host: self, live: try await wake(loaded), token: token)
    }

    /// The first answer to an event that has replaced the session's token, for who posts it again under its key and with
    /// the token from before, because the answer has never come. Nothing else is left to that token.
    public func answer(
        to repeated: IdempotentRequest, of id: SessionID, replacedToken: String
    ) async throws(SessionError) -> Outcome {
        let answer: StoredAnswer?
        do { answer = try await store.answer(to: repeated.key, of: id) } catch { throw SessionError(error) }
        guard let answer, answer.fingerprint == repeated.fingerprint,
            answer.replacedToken == SessionToken.digest(of: replacedToken),
            let loaded = try await load(id), let expiresAt = loaded.record.expiresAt, expiresAt > now(),
            let token = repeated.token(toldBy: answer, to: loaded.record.identity, secret: store.secret)
        else { throw .unauthorized }
        return .answered(answer, isReplay: true, token: token)
    }

    public static let sweepLimit = 1000

    /// Forgets sessions that need not be kept any longer, a bounded number at a time.
    ///
    /// - Returns: how many.
    @discardableResult
    public func sweep(limit: Int = sweepLimit) async throws(StoreError) -> Int {
        let swept = try await store.sweep(at: now(), limit: limit)
        live.withLock { live in
            for id in swept { live.remove(id) }
        }
        return swept.count
    }

    /// The number of sessions in memory.
    public var liveCount: Int { live.withLock { $0.count } }

    func sessionInMemory(_ id: SessionID) -> LiveSession? {
        live.withLock { $0[id] }
    }

    func forget(_ session: LiveSession) {
        live.withLock { $0.remove(session) }
    }

    func remember(_ session: LiveSession) -> LiveSession {
        live.withLock { $0.insert(session) }
    }

    /// What the store has of the session, unless its time is over.
    func load(_ id: SessionID) async throws(SessionError) -> LoadedSession? {
        let loaded: LoadedSession?
        do { loaded = try await store.load(id, token: nil) } catch { throw SessionError(error) }
        return loaded.flatMap { $0.record.keptUntil > now() ? $0 : nil }
    }

    func launched(
        _ app: App, _ begin: () throws(NavigationError) -> TransitionRun
    ) async throws(SessionError) -> TransitionResult {
        let run: TransitionRun
        do throws(NavigationError) { run = try begin() } catch { throw .cannotLaunch(error, app: app.name) }
        return try await result(of: run, within: settings.handlerDeadline) { .cannotLaunch($0, app: app.name) }
    }
}

extension SessionError {
    init(_ error: StoreError) {
        switch error {
        case .full: self = .storageFull
        case .unavailable(let reason), .damaged(let reason): self = .notApplied(reason: reason)
        case .unknownOutcome(let reason): self = .unknownOutcome(reason: reason)
        }
    }

    /// Another server was faster.
    static let conflict = SessionError.notApplied(reason: "another server has changed the session meanwhile")
}
