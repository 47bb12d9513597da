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
    let retries: @Sendable (JSON) -> Int
    let perform: @Sendable (any Coordinator, JSON, EffectContext) async throws -> SentSignal?
    let didFail: @Sendable (inout any Coordinator, JSON, any Error, inout Navigator) async throws -> Void

    init<C: Coordinator>(of type: C.Type) {
        owns = { $0 is C.Effect || $0 is C.Signal }
        sent = { ($0 as? C.Signal).map { SentSignal($0, to: C.self) } }
        isEffect = { (try? $0.decode(as: C.Effect.self)) != nil }
        signal = { saved in (try? saved.decode(as: C.Signal.self)).map { SentSignal($0, to: C.self) } }
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
    }
}

/// One attempt of an effect, not made yet.
public struct EffectRun: Sendable {
    public let app: String
    /// The coordinator's name.
    public let coordinator: String
    /// The name of the effect's case.
    public let effect: String
    /// When the effect was recorded.
    public let since: Date
    /// How often an attempt that throws is repeated.
    public let retries: Int
    private let living: LivingCoordinator
    private let value: JSON
    private let context: EffectContext

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
        guard let work = state.work(number), case .effect(let value, let since) = work.kind,
            let living = state[work.coordinator]
        else { return nil }
        self.app = app.name
        self.coordinator = living.name
        self.effect = work.name
        self.since = Date(milliseconds: since)
        self.retries = max(0, living.type.work.retries(value))
        self.living = living
        self.value = value
        self.context = EffectContext(
            state, of: SessionInfo(id: session, user: user), effectID: id, attempt: attempt, at: now, app.dependencies)
    }

    /// The function as its author knows it: `perform(hold)`.
    public var function: String { "perform(\(effect))" }

    /// Makes the attempt.
    ///
    /// - Parameter wrapper: `nil` if nobody traces the call.
    package func signal(
        observer: (any CallObserver)? = nil, wrapper: CallWrapper? = nil
    ) async throws -> SentSignal? {
        let call = RunningCall(effect: function, of: living)
        if let observer, try !observer.enter(call) { try await observer.leaveThread(for: call) }
        defer { observer?.leave(call) }
        let perform = living.type.work.perform
        guard let wrapper else { return try await perform(living.coordinator, value, context) }
        var signal: SentSignal?
        try await wrapper(call) { signal = try await perform(living.coordinator, value, context) }
        return signal
    }
}

extension CoordinatorType {
    /// Why an effect or a timer that an earlier declaration saved is unknown to this one; `nil` if it is known.
    func problem(of pending: PendingWork) -> String? {
        switch pending.kind {
        case .effect(let value, _): work.isEffect(value) ? nil : "there is no such effect"
        case .timer(let value, _, _): work.signal(value) == nil ? "there is no such signal" : nil
        }
    }

    /// - Parameter version: the version of the app that saved it.
    /// - Returns: `nil` to remove it.
    func migrated(_ pending: PendingWork, from version: Int) throws -> PendingWork? {
        let (kind, value): (SavedWork.Kind, JSON) =
            switch pending.kind {
            case .effect(let value, _): (.effect, value)
            case .timer(let value, _, _): (.timer, value)
            }
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
            }
        return PendingWork(id: saved.id, number: number, coordinator: coordinator, kind: kind)
    }
}
