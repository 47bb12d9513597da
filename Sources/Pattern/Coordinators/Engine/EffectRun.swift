internal import JSONCoding

/// What the engine calls for the effects and timers of a type of coordinator, made once with the concrete type.
struct WorkFunctions: Sendable {
    /// Whether a value is of the coordinator's `Effect` or `Signal`.
    let owns: @Sendable (any Sendable) -> Bool
    /// Whether a saved effect can be decoded.
    let isEffect: @Sendable (JSON) -> Bool
    /// A signal; `nil` if it is not of the coordinator's `Signal`.
    let sent: @Sendable (any NavigationSignal) -> SentSignal?
    /// A saved signal; `nil` if it cannot be decoded.
    let signal: @Sendable (JSON) -> SentSignal?
    /// Whether the coordinator accepts an external signal; `true` also if it cannot be decoded, which is refused otherwise.
    let accepts: @Sendable (any Coordinator, JSON) -> Bool
    let retries: @Sendable (JSON) -> Int
    let perform: @Sendable (any Coordinator, JSON, EffectContext) async throws -> SentSignal?
    let didFail: @Sendable (inout any Coordinator, JSON, any Error, inout Navigator) async throws -> Void
    /// `willBeRemoved`; `nil` if the coordinator does not declare it.
    let willBeRemoved: (@Sendable (any Coordinator, RemovalReason, EffectContext) async throws -> Void)?

    init<C: Coordinator>(of type: C.Type) {
        owns = { $0 is C.Effect || $0 is C.Signal }
        sent = { ($0 as? C.Signal).map { SentSignal($0, to: C.self) } }
        isEffect = { (try? $0.decode(as: C.Effect.self)) != nil }
        signal = { saved in (try? saved.decode(as: C.Signal.self)).map { SentSignal($0, to: C.self) } }
        accepts = { coordinator, signal in
            guard let signal = try? signal.decode(as: C.Signal.self) else { return true }
            return coordinator.known(as: C.self).accepts(signal)
        }
        retries = { effect in (try? effect.decode(as: C.Effect.self)).map { C.retries($0) } ?? 0 }
        perform = { coordinator, effect, context in
            let signal = try await coordinator.known(as: C.self).perform(try effect.decode(), in: context)
            return signal.map { SentSignal($0, to: C.self) }
        }
        didFail = { coordinator, effect, error, navigator in
            var handler = coordinator.known(as: C.self)
            try await handler.effectDidFail(try effect.decode(), error, &navigator)
            coordinator = handler
        }
        if C.RemovalResult.self == Undeclared.self {
            willBeRemoved = nil
        } else {
            willBeRemoved = { coordinator, reason, context in
                _ = try await coordinator.known(as: C.self).willBeRemoved(reason, in: context)
            }
        }
    }
}

/// One attempt of an effect or of a clean-up, not made yet.
public struct EffectRun: Sendable {
    public let app: String
    /// The coordinator's name.
    public let coordinator: String
    /// The name of the effect's case, or that of the function that cleans up.
    public let effect: String
    /// When the effect was recorded.
    public let since: Date
    /// How often an attempt that throws is repeated.
    public let retries: Int
    /// Whether it is the clean-up of a coordinator that is gone.
    public let isCleanUp: Bool
    private let living: LivingCoordinator
    private let job: Job
    private let context: EffectContext

    private enum Job: Sendable {
        /// The effect as it is saved.
        case effect(JSON)
        case cleanUp(RemovalReason)
        /// The app does not know what the clean-up needs.
        case impossible(RestoringFailure)
    }

    /// - Parameters:
    ///   - number: the effect's.
    ///   - session: the session's id.
    ///   - user: who is signed in to it; `nil` for nobody.
    ///   - id: see `EffectContext.effectID`.
    ///   - attempt: 1 for the first one.
    /// - Returns: `nil` if the effect is over.
    public init?(
        of number: Int, in state: NavigationState, of app: App, session: String, user: String?, effectID id: String,
        attempt: Int, at now: Date
    ) {
        guard let work = state.work(number) else { return nil }
        switch work.kind {
        case .timer: return nil
        case .effect(let value, let since):
            guard let living = state[work.coordinator] else { return nil }
            (self.living, self.since, job) = (living, Date(milliseconds: since), .effect(value))
            (retries, isCleanUp) = (max(0, living.type.work.retries(value)), false)
        case .cleanUp(let cleanUp):
            // A newer build knows how to do it.
            guard cleanUp.version <= app.version else { return nil }
            do {
                living = try app.living(cleanUp, id: work.coordinator, in: state.context)
                (job, retries) = (.cleanUp(cleanUp.reason), CleanUp.retries)
            } catch {
                guard let absent = try? LivingCoordinator(absent: cleanUp.name, of: app, in: state.context) else {
                    return nil
                }
                (living, job, retries) = (absent, .impossible(error), 0)
            }
            (since, isCleanUp) = (Date(milliseconds: cleanUp.since), true)
        }
        self.app = app.name
        self.coordinator = living.name
        self.effect = work.name
        self.context = EffectContext(
            state, of: SessionInfo(id: session, user: user), effectID: id, attempt: attempt, at: now, app.dependencies)
    }

    /// The function as its author knows it: `perform(hold)`.
    public var function: String { isCleanUp ? effect : "perform(\(effect))" }

    /// Makes the attempt.
    ///
    /// - Parameter wrapper: `nil` if nobody traces the call.
    package func signal(
        observer: (any CallObserver)? = nil, wrapper: CallWrapper? = nil
    ) async throws -> SentSignal? {
        let running = RunningCall(function, of: living, living.type.conductOfEffects)
        if let observer, try !observer.enter(running) { try await observer.leaveThread(for: running) }
        defer { observer?.leave(running) }
        guard let wrapper else { return try await call() }
        var signal: SentSignal?
        try await wrapper(running) { signal = try await call() }
        return signal
    }

    private func call() async throws -> SentSignal? {
        switch job {
        case .effect(let value): return try await living.type.work.perform(living.coordinator, value, context)
        case .cleanUp(let reason): try await living.type.work.willBeRemoved?(living.coordinator, reason, context)
        case .impossible(let failure): throw failure
        }
        return nil
    }
}

/// Why a clean-up cannot be done: the app has no such coordinator any longer, or cannot read what it has saved.
struct RestoringFailure: Error, CustomStringConvertible {
    let description: String
}

extension App {
    /// A coordinator that is gone, as it was.
    fileprivate func living(
        _ cleanUp: CleanUp, id: Int, in context: NavigationContext
    ) throws(RestoringFailure) -> LivingCoordinator {
        guard let type = types.first(where: { $0.name == cleanUp.name }) else {
            throw RestoringFailure(description: "there is no such coordinator")
        }
        do {
            return try LivingCoordinator(
                id: id, parent: nil, home: 0, type: type,
                coordinator: try type.restore(cleanUp.state, from: cleanUp.version), in: context)
        } catch let error as JSONDecodingError {
            throw RestoringFailure(description: error.explanation(of: "what it has saved"))
        } catch {
            throw RestoringFailure(description: "it cannot be encoded again")
        }
    }
}

extension CoordinatorType {
    /// Why an effect or a timer that an earlier declaration saved is unknown to this one; `nil` if it is known.
    func problem(of pending: PendingWork) -> String? {
        switch pending.kind {
        case .effect(let value, _): work.isEffect(value) ? nil : "there is no such effect"
        case .timer(let value, _, _): work.signal(value) == nil ? "there is no such signal" : nil
        case .cleanUp: nil
        }
    }

    /// - Parameter version: the version of the app that saved it.
    /// - Returns: `nil` to remove it.
    func migrated(_ pending: PendingWork, from version: Int) throws -> PendingWork? {
        let (kind, value): (SavedWork.Kind, JSON) =
            switch pending.kind {
            case .effect(let value, _): (.effect, value)
            case .timer(let value, _, _): (.timer, value)
            case .cleanUp: (.effect, .null)
            }
        // A clean-up says which version has saved it, and is converted when it is done.
        if pending.cleanUp != nil { return pending }
        let saved = SavedWork(kind: kind, id: pending.id, value: value)
        return try type.migrate(saved, from: version).map { pending.with($0) }
    }
}

extension PendingWork {
    fileprivate func with(_ saved: SavedWork) -> PendingWork {
        let kind: Kind =
            switch kind {
            case .effect(_, let since): .effect(saved.value, since: since)
            case .timer(_, let due, let idle): .timer(saved.value, due: due, idle: idle)
            case .cleanUp: self.kind
            }
        return PendingWork(id: saved.id, number: number, coordinator: coordinator, kind: kind)
    }
}
