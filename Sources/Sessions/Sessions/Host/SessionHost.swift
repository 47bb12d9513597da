public import Coordinators
public import FoundationEssentials
internal import JSONCoding
public import Sodium
internal import Synchronization
internal import Tracing

/// The sessions of some apps on one store.
///
/// Reads return the last committed state. Events of one session are applied one after the other, those of different
/// sessions concurrently. Nothing here blocks a thread: what must wait suspends.
public final class SessionHost: Sendable {
    /// In the order in which they were declared; the first is the default.
    public let apps: [App]
    public let store: any SessionStore
    let settings: SessionSettings
    let retention: Retention
    let eventRate: RateLimit?
    private let clock: SteadyClock
    /// The time that `clock` follows, and goes on from where it was if that is set back.
    private let wall: @Sendable () -> Date
    /// Receives what an operator should know, in words that contain no data of a request.
    let report: @Sendable (String) -> Void
    let live: Mutex<LiveSessions>
    let usage: LiveUsage
    let feed: ChangeFeed
    let callWatch: CallWatch
    /// For the attempts of effects.
    let effectWatch: CallWatch
    let effects: EffectQueue
    let timers = TimersUnderWay()
    /// How long handlers take; `nil` if that is not measured.
    public let timings: HandlerTimings?
    let creations = KeyedTurns()
    /// How many sessions are being created, and are not in the store's count yet.
    let creating = Mutex(0)
    let pairings: any PairingStore
    let pastReads = KeyedTurns()
    /// What has happened to sessions since the host was made.
    public let measures: SessionMeasures

    /// - Parameters:
    ///   - retention: the same as the store's.
    ///   - now: the caller's own clock; `nil` for the system's. If it is set back, the host's time is not.
    public init(
        apps: [App], store: any SessionStore, settings: SessionSettings = SessionSettings(),
        retention: Retention = Retention(), now: (@Sendable () -> Date)? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.apps = apps
        self.store = store
        self.settings = settings
        self.retention = retention
        self.pairings = store.pairings ?? PairingsInMemory()
        self.eventRate = RateLimit(perSecond: settings.eventRate)
        self.report = report
        let observeDeadline = settings.observeDeadline
        let reportBlocking: @Sendable (String, RunningCall) -> Void = { app, call in
            report(
                """
                \(app): \(call.coordinator) has blocked its thread in \(call.function): other clients had to wait; now it \
                is called on other threads
                """)
        }
        self.callWatch = CallWatch(
            limit: settings.handlerDeadline, observeDeadline: observeDeadline,
            reportBlocking: settings.surroundings.movesBlockingCalls ? reportBlocking : nil)
        self.effectWatch = CallWatch(
            limit: settings.effectDeadline, observeDeadline: observeDeadline,
            executor: settings.surroundings.effectExecutor)
        self.effects = EffectQueue(limit: settings.effectLimit)
        self.timings = settings.measuresHandlers ? HandlerTimings() : nil
        self.feed = ChangeFeed(limit: settings.watcherLimit)
        self.usage = LiveUsage(count: settings.liveLimit, bytes: settings.liveMemory)
        self.measures = SessionMeasures(of: settings.measuresEvents ? apps : nil)
        self.live = Mutex(LiveSessions(usage, measures))
        // What the store has recorded is past: a clock that was set back since does not revive what has expired.
        let start = store.latestTime
        let wall = now ?? { store.now }
        self.wall = wall
        self.clock =
            now == nil
            ? SteadyClock(startingAt: start, wall: wall)
            : SteadyClock(startingAt: start, wall: wall, uptime: { 0 }, patience: 0)
        let behind = start.timeIntervalSince(wall())
        if behind > 1 {
            report("the clock is \(Int(min(behind, 1e12))) seconds behind the newest record; time goes on from there")
        }
    }

    /// The time, which never goes back.
    func now() -> Date { clock.now() }

    func sleep(for duration: Duration) async throws { try await settings.surroundings.sleep(duration) }

    /// The condition of the store, and of the time that goes on from its newest record.
    public var condition: StoreCondition {
        var condition = store.condition
        condition.failure = condition.failure ?? clockFailure
        return condition
    }

    /// Why sessions are not created, and none is forgotten: the time goes on from one that the clock has once had, and that is
    /// far ahead.
    var clockFailure: String? {
        let (now, wall) = (now(), wall())
        guard now.timeIntervalSince(wall) > TimeInterval(SteadyClock.farAhead) else { return nil }
        let way = store.isShared ? "restart it" : "stop it and use `coordinatord sessions reset-clock`"
        return "the server's time is \(now.timestamp), and the clock's \(wall.timestamp); if the clock is right, \(way)"
    }

    /// Like `session(_:token:)`, without `await`; `nil` if the session is not in memory, or a shared store has to
    /// confirm it.
    public func liveSession(_ id: SessionID, token: String) throws(SessionError) -> AuthorizedSession? {
        guard !store.isShared, let session = live.withLock({ $0[id] }) else { return nil }
        return try authorized(session, SHA256Digest(of: token))
    }

    /// The session that the token gives access to, loaded from the store if it is not in memory.
    ///
    /// - Parameter isConfirmed: whether a shared store is asked if the copy in memory is current. A change need not
    ///   ask: it finds that out itself.
    public func session(
        _ id: SessionID, token: String, isConfirmed: Bool = true
    ) async throws(SessionError) -> AuthorizedSession {
        let token = SHA256Digest(of: token)
        let session = try await inMemory(id, for: token)
        if isConfirmed || !session.isOpen(to: token) { try await isCurrent(session) }
        return try authorized(session, token)
    }

    /// Whether the session is in memory and the token is one of its tokens, as far as this server knows.
    public func isOpen(_ id: SessionID, to token: String) -> Bool {
        live.withLock { $0[id] }?.isOpen(to: SHA256Digest(of: token)) ?? false
    }

    private func authorized(
        _ session: Session, _ token: SHA256Digest
    ) throws(SessionError) -> AuthorizedSession {
        guard session.isOpen(to: token) else { throw .unauthorized }
        return AuthorizedSession(host: self, live: session, token: token)
    }

    /// The first answer to an event that has replaced the session's token, for a client that did not receive it and
    /// posts the event again under its key with the replaced token. That token gives access to nothing else.
    public func answer(
        to repeated: IdempotentRequest, of id: SessionID, replacedToken: String
    ) async throws(SessionError) -> Outcome {
        try await answer(to: repeated.key, of: id, replacedToken: replacedToken, fingerprint: repeated.fingerprint)
    }

    /// The same for a client that asks for the outcome of the event with that key.
    ///
    /// - Parameter fingerprint: the event's; `nil` for whatever event had the key.
    public func answer(
        to key: RequestKey, of id: SessionID, replacedToken: String, fingerprint: SHA256Digest? = nil
    ) async throws(SessionError) -> Outcome {
        let replaced = SHA256Digest(of: replacedToken)
        guard let answer = try await answer(to: key.digest, of: id),
            fingerprint == nil || answer.fingerprint == fingerprint, answer.replacedToken == replaced,
            let loaded = try await loaded(id, for: nil), loaded.record.goesOn(at: now()),
            let token = key.token(
                replayedBy: answer, to: loaded.record.identity, for: replaced, secret: store.secret)
        else { throw .unauthorized }
        guard answer.body != nil else { throw .answerForgotten(nil) }
        let outcome = Outcome.answered(
            answer, generation: loaded.stamp.generation, replayedAt: loaded.record.version, token: token,
            pairing: key.pairing(replayedBy: answer, to: token.digest, secret: store.secret))
        if !outcome.endings.isEmpty { try await carryOutEndings(of: outcome, for: id) }
        return outcome
    }

    /// The answer that is kept under the key.
    func answer(to key: String, of id: SessionID) async throws(SessionError) -> StoredAnswer? {
        do throws(StoreError) { return try await store.answer(to: key, of: id) } catch { throw failure(error) }
    }

    /// The answer again, for a request that is sent again and has given nobody another token.
    ///
    /// - Parameter stamp: the session's now.
    func replay(
        _ answer: StoredAnswer, to once: IdempotentRequest, at stamp: SessionStamp
    ) throws(SessionError) -> Outcome {
        try once.check(answer, measures)
        guard answer.body != nil else { throw .answerForgotten(nil) }
        measures.count(.replayed)
        return .answered(answer, generation: stamp.generation, replayedAt: stamp.version)
    }

    public static let sweepLimit = 1000

    /// Forgets sessions that need not be kept any longer, a bounded number at a time.
    ///
    /// - Returns: the number of forgotten sessions.
    @discardableResult
    public func sweep(limit: Int = sweepLimit) async throws(StoreError) -> Int {
        guard clockFailure == nil else { return 0 }
        let swept: [SessionID]
        do throws(StoreError) {
            swept = try await store.sweep(at: now(), limit: limit)
        } catch {
            measures.count(error)
            throw error
        }
        measures.count(.removed, swept.count)
        live.withLock { live in
            for id in swept { live.remove(id) }
        }
        // Without requests, nothing else evicts what exceeds the limits.
        for _ in 0...2 * liveCount / LiveSessions.searchLimit where usage.isOverLimit { evictIfOverLimit() }
        return swept.count
    }

    /// The sessions in memory, about how many bytes they take, and the coordinators that live in them.
    public var liveFigures: (sessions: Int, bytes: Int, coordinators: Int) { usage.figures }

    /// The calls of coordinators' functions that are still running after their deadline.
    public var lateCalls: Int { callWatch.lateCalls + effectWatch.lateCalls }

    /// How many effects run on this server, and how many wait or are repeated later.
    public var effectFigures: (running: Int, waiting: Int) { effects.figures }

    /// The error of a request for which the store has failed. Counts the failure.
    func failure(_ error: StoreError) -> SessionError {
        measures.count(error)
        return SessionError(error)
    }

    /// The number of sessions in memory.
    public var liveCount: Int { live.withLock { $0.count } }

    /// - Parameter version: the session's version before.
    func launched(
        _ app: App, _ id: SessionID, user: String? = nil, version: Int = 0, once: IdempotentRequest? = nil,
        _ begin: () throws(NavigationError) -> TransitionRun
    ) async throws(SessionError) -> TransitionResult {
        let run: TransitionRun
        do throws(NavigationError) { run = try begin() } catch { throw .cannotLaunch(error, app: app.name) }
        let origin = HostOrigin(self, id, user: user, version: version, once: once)
        return try await RunningTransition(run, from: origin).outcome(callWatch).value {
            .cannotLaunch($0, app: app.name)
        }
    }
}

extension SessionError {
    init(_ error: StoreError) {
        switch error {
        case .full: self = .storageFull
        case .unavailable(let reason): self = .notApplied(reason: reason)
        case .damaged(let reason): self = .damaged(reason: reason)
        case .unknownOutcome(let reason): self = .unknownOutcome(reason: reason)
        }
    }

    /// Another server changed the session first.
    public static let conflict = SessionError.notApplied(reason: "another server has changed the session meanwhile")
}

/// Where a transition of a session in a host comes from.
final class HostOrigin: TransitionOrigin {
    /// The state before, and the token of the device that acts, if one does; `nil` if no client has brought it about.
    typealias Scene = (state: SessionState, app: App, caller: SHA256Digest?)

    private let host: SessionHost
    private let id: SessionID
    let user: String?
    /// The session's version before.
    private let version: Int
    private let event: PostedEvent?
    private let once: IdempotentRequest?
    let isDryRun: Bool
    private let scene: Scene?

    /// The most sessions of a user that an app learns of.
    private static let limit = 100

    init(
        _ host: SessionHost, _ id: SessionID, user: String?, version: Int, _ event: PostedEvent? = nil,
        once: IdempotentRequest? = nil, isDryRun: Bool = false, _ scene: Scene? = nil
    ) {
        (self.host, self.id, self.user, self.version) = (host, id, user, version)
        (self.event, self.once, self.isDryRun, self.scene) = (event, once, isDryRun, scene)
    }

    /// - Parameter state: the one before.
    convenience init(
        _ host: SessionHost, of event: PostedEvent?, in state: SessionState, of app: App,
        by caller: SHA256Digest? = nil, once: IdempotentRequest? = nil, isDryRun: Bool = false
    ) {
        self.init(
            host, state.id, user: state.identity.user, version: state.version, event, once: once, isDryRun: isDryRun,
            (state, app, caller))
    }

    var session: String { id.text }

    var transitionID: String {
        let request = once.map { "key \($0.key.text)" } ?? "version \(version)"
        let payload = event?.payload?.description ?? ""
        let text = "transition \(isDryRun) \(id.text) \(request) \(event?.type ?? "") \(payload)"
        return "t_" + Base64URL.text(of: Array(KeyedDigest(of: text, key: host.store.secret).bytes.prefix(18)))
    }

    var devices: (acting: Device?, all: [Device]) {
        guard let (state, app, caller) = scene else { return (nil, []) }
        let (identity, devices) = (state.identity, state.identity.devices(with: state.navigation, in: app))
        let acting = identity.tokens.firstIndex { $0.digest == caller }
        return (acting.map { devices[$0] }, devices)
    }

    func sessions(ofUser user: String) async throws -> [UserSession] {
        try await host.sessions(ofUser: user, limit: HostOrigin.limit)
    }

    /// See `SessionHost.wrapper`.
    func wrapper(for app: String) -> CallWrapper? { host.wrapper(of: id, app) }
}

extension SessionHost {
    /// Logs the error of a handler that is no error for the client: the user is shown an alert, or a link that had waited
    /// for an answer is dropped.
    func reportCaught(_ result: TransitionResult, in id: SessionID, of app: App) {
        guard case .handlerFailed(let coordinator, let call, let error)? = result.caught else { return }
        let outcome = result.state.alert == nil ? "the link is dropped" : "the user is shown an alert"
        report("\(app.name), session \(id.text): \(coordinator) failed in \(call): \(error); \(outcome)")
    }
}

// Spans of what a host does for a request. Without a tracer, nothing of this runs.
extension SessionHost {
    func commitTraced(_ change: SessionChange) async -> CommitOutcome {
        guard let tracer = settings.tracer else { return await store.commit([change]) }
        let span = tracer.startSpan("commit", ofKind: store.isShared ? .client : .internal)
        defer { span.end() }
        span.attributes["coordinatord.store"] = store.name
        let outcome = await store.commit([change])
        switch outcome {
        case .success(let conflicts): span.attributes["coordinatord.conflicts"] = conflicts.count
        case .failure(let error): span.setStatus(SpanStatus(code: .error, message: error.description))
        }
        return outcome
    }

    /// Makes each call of a coordinator's function of that session a span.
    func wrapper(of id: SessionID, _ app: String) -> CallWrapper? {
        guard let tracer = settings.tracer else { return nil }
        return { running, call in
            let span = tracer.startSpan("\(running.coordinator).\(running.function)")
            defer { span.end() }
            if span.isRecording {
                span.attributes["session.id"] = id.text
                span.attributes["coordinatord.app"] = app
                span.attributes["coordinatord.coordinator"] = running.coordinator
                span.attributes["coordinatord.function"] = running.function
            }
            // Not `withSpan`, which may change threads: then even a function that never suspends would have to be
            // waited for.
            try await InstrumentationContext.$current.withValue(span.context) {
                do { try await call() } catch {
                    span.recordError(error)
                    span.setStatus(SpanStatus(code: .error))
                    throw error
                }
            }
        }
    }
}

// What the operator may see and do, without a session's token.
extension SessionHost {
    /// A session, for an operator.
    ///
    /// - Parameter isStillOperator: whether the caller still may see it. Who watches the session is asked each second.
    /// - Throws: `unknownSession` if there is none.
    public func sessionForOperator(
        _ id: SessionID, while isStillOperator: @escaping @Sendable () -> Bool = { true }
    ) async throws(SessionError) -> AuthorizedSession {
        let live: Session
        do throws(SessionError) {
            live = try await inMemory(id, for: nil)
            try await isCurrent(live)
        } catch {
            if case .unauthorized = error { throw .unknownSession }
            throw error
        }
        return AuthorizedSession(host: self, live: live, token: live.identity.token, isStillOperator: isStillOperator)
    }

    /// The last committed states of sessions in memory that are not over, in no order.
    ///
    /// - Parameter limit: of how many sessions at most.
    public func liveStates(limit: Int) -> [SessionState] {
        let now = now()
        return live.withLock { $0.sample(limit) }.compactMap { try? $0.current(for: nil, at: now) }
    }

    /// The schema version of an app.
    public func version(of app: String) -> Int? {
        apps.first { $0.name == app }?.version
    }
}

extension SessionState {
    /// When a client last used the session, to the minute.
    public var usedAt: Date {
        identity.tokens.reduce(identity.createdAt) { max($0, $1.usedAt) }
    }
}
