internal import JSONCoding

/// Something that happened elsewhere than on the session's screens, and is carried out by a transition.
public enum Occurrence: Sendable {
    /// Another system has sent a signal.
    case signal(PostedEvent)
    /// The timer of that number is due.
    case timer(Int)
    /// The effect of that number has ended.
    case effect(Int, EffectOutcome)
    /// Another device was paired with the session.
    case pairing(PairedDevice)
}

/// How an effect has ended.
public enum EffectOutcome: Sendable {
    /// With a signal, or without one.
    case done(SentSignal?)
    /// Its last attempt threw.
    case failed(any Error)
}

extension App {
    /// Begins the transition for something that happened elsewhere, up to the first call of a coordinator.
    ///
    /// - Parameter showsErrors: whether an error of a coordinator may become an alert; if not, the transition fails.
    /// - Returns: `nil` if the effect or timer is over, the timer is not due, or the root does not declare
    ///   `deviceDidPair`: then there is nothing to do.
    /// - Throws: `signalNotAccepted`, `signalRefused`, `unknownSignal`, or `invalidEvent` for a signal of another system.
    public func begin(
        _ occurrence: Occurrence, on state: NavigationState, at now: Date, showsErrors: Bool = true
    ) throws(NavigationError) -> TransitionRun? {
        let (name, cause): (String, Transition.Cause)
        let call: TransitionRun.Call?
        let recipient: Int
        var state = state
        var failure: TransitionRun.Step?
        var (others, refusers): ([(id: Int, signal: SentSignal)], [String]) = ([], [])
        switch occurrence {
        case .signal(let posted):
            (others, refusers) = try state.recipients(of: posted, in: self)
            guard let first = others.first else { throw .signalRefused(by: refusers) }
            others.removeFirst()
            call = .receiveSignal(first.signal)
            (name, cause, recipient) = (posted.type, .signal, first.id)
        case .timer(let number):
            // An event may have restarted it meanwhile.
            guard let due = state.work(number)?.due, due <= now, let (work, living) = state.remove(number),
                case .timer(let signal, _, _) = work.kind, let sent = living.type.work.signal(signal)
            else { return nil }
            call = .receiveSignal(sent)
            (name, cause, recipient) = (sent.name, .timer, living.id)
        case .effect(let number, let outcome):
            if state.work(number)?.cleanUp != nil { return cleanedUp(number, on: state, at: now) }
            guard let (work, living) = state.remove(number), case .effect(let effect, _) = work.kind else { return nil }
            switch outcome {
            case .done(let signal):
                call = signal.map { .receiveSignal($0) }
                let failed = FailedEffect(name: work.name, effect, OutcomeTooLarge(), living.type.work)
                failure = .call(.effectDidFail(failed), living.id)
            case .failed(let error):
                call = .effectDidFail(FailedEffect(name: work.name, effect, error, living.type.work))
            }
            if case .done(let signal?) = outcome { name = signal.name } else { name = work.name }
            (cause, recipient) = (.effect, living.id)
        case .pairing(let device):
            guard isToldOfDevices, let root = state.coordinators.first else { return nil }
            call = .deviceDidPair(device)
            (name, cause, recipient) = (BuiltInEvent.tokenAddition, .signal, root.id)
        }
        var run = TransitionRun(of: self, on: state, at: now, event: PostedEvent(name))
        run.cause = cause
        (run.otherRecipients, run.refusers) = (others, refusers)
        run.failureIfTooLarge = failure
        run.showsErrors = showsErrors
        run.leavesWithoutAsking = true
        if let call { run.agenda.append(.call(call, recipient)) }
        return run
    }

    /// The transition after a clean-up, which nobody is told of.
    private func cleanedUp(_ number: Int, on state: NavigationState, at now: Date) -> TransitionRun {
        var state = state
        state.pending.removeAll { $0.number == number }
        var run = TransitionRun(of: self, on: state, at: now, event: PostedEvent(CleanUp.function))
        run.cause = .effect
        return run
    }

    /// The transition that only removes an effect or timer, because its signal cannot be received.
    ///
    /// - Returns: `nil` if the effect or timer is over.
    public func dropping(_ number: Int, from state: NavigationState) -> TransitionResult? {
        var after = state
        guard let (work, _) = after.remove(number) else { return nil }
        let transition = Transition(event: work.name, cause: work.effect == nil ? .timer : .effect)
        return TransitionResult(state: after, transition: transition)
    }
}

extension App {
    /// The signals that other systems may send, each with the name of a coordinator that has it.
    package var externalSignals: [(coordinator: String, signal: String)] {
        types.flatMap { type in type.signals.map { (type.name, $0.name) } }
    }
}

extension TransitionRun {
    /// The signal that is received, and the name of the coordinator that receives it, until the transition is carried
    /// out; `nil` if it is made for something else.
    package var receivedSignal: (coordinator: String, signal: String)? {
        guard case .call(.receiveSignal(let signal), let id)? = agenda.last, let living = state[id] else { return nil }
        return (living.name, signal.name)
    }
}

extension NavigationState {
    /// Removes an effect or a timer.
    ///
    /// - Returns: what was removed, and its coordinator; `nil` if it is over.
    fileprivate mutating func remove(_ number: Int) -> (PendingWork, LivingCoordinator)? {
        guard let work = work(number), let living = self[work.coordinator] else { return nil }
        pending.removeAll { $0.number == number }
        return (work, living)
    }

    /// The signals that other systems may send now, each with the first coordinator that has it.
    package var acceptedSignals: [(coordinator: LivingCoordinator, signal: EventShape)] {
        var accepted: [(coordinator: LivingCoordinator, signal: EventShape)] = []
        for living in inOrderOfSignals {
            for signal in living.type.signals where !accepted.contains(where: { $0.signal.name == signal.name }) {
                accepted.append((living, signal))
            }
        }
        return accepted
    }

    /// The coordinators from the visible screen's up to the root, then all others, parents before their children.
    private var inOrderOfSignals: [LivingCoordinator] {
        let visible = visible.map { lineage(of: $0.coordinator) } ?? []
        let others = coordinators.lazy.map(\.id).filter { !visible.contains($0) }
        return (visible + others).compactMap { self[$0] }
    }

    /// The coordinators that accept a signal of another system, in the order in which they may receive it, and the names of
    /// those that have it and do not.
    fileprivate func recipients(
        of posted: PostedEvent, in app: App
    ) throws(NavigationError) -> ([(id: Int, signal: SentSignal)], refusers: [String]) {
        var (recipients, refusers): ([(id: Int, signal: SentSignal)], [String]) = ([], [])
        var fault: NavigationError?
        for living in inOrderOfSignals {
            guard let shape = living.type.signals.first(where: { $0.name == posted.type }) else { continue }
            do throws(NavigationError) {
                let signal = try shape.decodable(posted.payload)
                if living.type.work.accepts(living.coordinator, signal) {
                    recipients.append((living.id, SentSignal(shape, signal)))
                } else {
                    refusers.append(living.name)
                }
            } catch {
                fault = fault ?? error
            }
        }
        if recipients.isEmpty, let fault { throw fault }
        guard recipients.isEmpty, refusers.isEmpty else { return (recipients, refusers) }
        let isKnown = app.types.contains { $0.signals.contains { $0.name == posted.type } }
        throw isKnown ? .signalNotAccepted : .unknownSignal
    }
}

/// A signal on its way to a coordinator of the type that it belongs to.
public struct SentSignal: Sendable {
    /// The name of its case.
    public let name: String
    let receive: @Sendable (inout any Coordinator, inout Navigator) async throws -> Void
    /// The error to answer if the payload that another system has sent cannot be decoded.
    let refusal: @Sendable (JSONDecodingError) -> NavigationError?

    /// The signal that an author's value is for the coordinator that waits for some work; `nil` if it is of another type.
    package init?(_ signal: any NavigationSignal, for work: PendingWork, in state: NavigationState) {
        guard let sent = state[work.coordinator]?.type.work.sent(signal) else { return nil }
        self = sent
    }

    init<C: Coordinator>(_ signal: C.Signal, to type: C.Type) {
        self.name = EncodedEvent(signal)?.name ?? ""
        self.receive = { coordinator, navigator in
            var receiver = coordinator.known(as: C.self)
            try await receiver.receive(signal, &navigator)
            coordinator = receiver
        }
        self.refusal = { _ in nil }
    }

    /// - Parameter signal: the result of `decodable`.
    fileprivate init(_ shape: EventShape, _ signal: JSON) {
        self.name = shape.name
        self.receive = { try await shape.handle(&$0, signal, &$1) }
        self.refusal = { shape.refusal(of: signal, $0) }
    }
}

/// An effect whose last attempt has failed.
struct FailedEffect: Sendable {
    let name: String
    let didFail: @Sendable (inout any Coordinator, inout Navigator) async throws -> Void

    fileprivate init(name: String, _ effect: JSON, _ error: any Error, _ functions: WorkFunctions) {
        self.name = name
        self.didFail = { try await functions.didFail(&$0, effect, error, &$1) }
    }
}
