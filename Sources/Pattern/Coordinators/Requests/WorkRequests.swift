internal import JSONCoding

// Work that goes on after the transition. It begins once the transition is committed, never in a dry run, and ends with
// its coordinator. Each piece of work has an id, unique in its coordinator: work that is recorded under the id of earlier
// work replaces that.
extension Navigator {
    /// Has `Coordinator.perform` called, outside the session's turn: meanwhile the screens are shown, and events go on.
    /// It is called at least once, also if the server crashes, and exactly one outcome counts: the signal that it
    /// returns, or the error of its last attempt. An outcome that comes after the effect was cancelled or replaced, or
    /// its coordinator has ended, is discarded.
    ///
    /// - Parameters:
    ///   - effect: a value of this coordinator's `Effect`.
    ///   - id: for `cancel`, and for clients, which are shown what is under way. By default the name of the case.
    public mutating func perform(_ effect: some NavigationEffect, id: String? = nil) {
        record(PerformEffect(effect: effect, id: id))
    }

    /// Sends a signal to this coordinator when a time has passed.
    ///
    /// - Parameters:
    ///   - signal: a value of this coordinator's `Signal`.
    ///   - id: for `cancel`; by default the name of the case.
    public mutating func schedule(_ signal: some NavigationSignal, after delay: Duration, id: String? = nil) {
        record(Schedule(signal: signal, time: .after(delay), id: id))
    }

    /// Sends a signal to this coordinator at a time; at once if that has passed. A timer does not prolong the session's
    /// life: if the session expires before, the signal is never sent.
    public mutating func schedule(_ signal: some NavigationSignal, at time: Date, id: String? = nil) {
        record(Schedule(signal: signal, time: .at(time), id: id))
    }

    /// Sends a signal to this coordinator when the user has done nothing for some time: each accepted event of the user
    /// starts the wait again.
    public mutating func scheduleWhenIdle(_ signal: some NavigationSignal, after delay: Duration, id: String? = nil) {
        record(Schedule(signal: signal, time: .whenIdle(delay), id: id))
    }

    /// Ends this coordinator's effect or timer of that id, if there is one. The task of an effect is cancelled.
    public mutating func cancel(_ id: String) {
        record(Cancel(id: id))
    }

    /// Whether this coordinator has an effect under way, or a timer, of that id. The value is from before the
    /// coordinator's function was called.
    public func isPending(_ id: String) -> Bool { pending.contains { $0.id == id } }
}

private struct PerformEffect: Request {
    let effect: any NavigationEffect
    let id: String?
    var name: String { "perform(\(effect.caseName))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard coordinator.type.work.owns(effect) else { throw run.impossible("it is no Effect of this coordinator") }
        let value = try run.saved(effect, by: coordinator)
        guard coordinator.type.work.isEffect(value) else { throw run.impossible("the effect cannot be decoded again") }
        try run.record(.effect(value, since: run.now.milliseconds), id: id ?? value.caseName, by: coordinator)
    }
}

private struct Schedule: Request {
    let signal: any NavigationSignal
    let time: TimerTime
    let id: String?
    var name: String { "schedule(\(signal.caseName))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard coordinator.type.work.owns(signal) else { throw run.impossible("it is no Signal of this coordinator") }
        let value = try run.saved(signal, by: coordinator)
        guard coordinator.type.work.signal(value) != nil else {
            throw run.impossible("the signal cannot be decoded again")
        }
        let (due, idle) = time.due(from: run.now)
        try run.record(.timer(value, due: due, idle: idle), id: id ?? value.caseName, by: coordinator)
    }
}

private struct Cancel: Request {
    let id: String
    var name: String { "cancel(\(id))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        run.state.pending.removeAll { $0.id == id && $0.coordinator == coordinator.id }
    }
}

/// When a timer is due.
private enum TimerTime {
    case after(Duration), at(Date), whenIdle(Duration)

    /// - Returns: in milliseconds since 1970, and how long the user has to have done nothing.
    func due(from now: Date) -> (due: Int, idle: Int?) {
        switch self {
        case .after(let delay): (now.milliseconds + delay.milliseconds, nil)
        case .at(let time): (max(time, now).milliseconds, nil)
        case .whenIdle(let delay): (now.milliseconds + delay.milliseconds, delay.milliseconds)
        }
    }
}

extension Duration {
    /// From 0 to about 300 years, rounded up.
    fileprivate var milliseconds: Int {
        Int(min(max(self / .milliseconds(1), 0), 1e13).rounded(.up))
    }
}

extension TransitionRun {
    /// Adds an effect or a timer to the state, in the place of one of the same id. A host performs an effect after the
    /// commit.
    fileprivate mutating func record(
        _ kind: PendingWork.Kind, id: String?, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let id = id ?? ""
        state.pending.removeAll { $0.id == id && $0.coordinator == coordinator.id }
        guard state.pending.count(where: { $0.cleanUp == nil }) < app.limits.pending else {
            throw .workLimit(coordinator: coordinator.name)
        }
        state.pending.append(PendingWork(id: id, number: state.nextID(), coordinator: coordinator.id, kind: kind))
    }

    /// An effect or a signal as it is saved.
    fileprivate func saved(
        _ value: any Encodable & Sendable, by coordinator: LivingCoordinator
    ) throws(NavigationError) -> JSON {
        do {
            let saved = try JSON(encoding: value)
            guard saved == (try JSON(encoding: value, userInfo: [.revealsSecrets: true])) else {
                throw impossible("it holds a secret, which is not saved")
            }
            var writer = JSONWriter()
            writer.value(saved)
            if writer.isUnwritable { throw JSONEncodingError(unwritable: saved) }
            return saved
        } catch let error as NavigationError {
            throw error
        } catch let error as JSONEncodingError {
            throw .unsavable(error, of: requestName, by: coordinator.name)
        } catch {
            throw .handlerFailed(coordinator: coordinator.name, call: "encode", error: ThrownError(error))
        }
    }
}

extension Encodable {
    /// The name of an enum's case, also if its values cannot be encoded; empty if the value is no enum.
    fileprivate var caseName: String {
        (try? JSON(encoding: self))?.caseName ?? Mirror(reflecting: self).children.first?.label ?? ""
    }
}
