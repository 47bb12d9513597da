public import JSONCoding

/// Something that a coordinator waits for: an effect under way, or a timer; or the clean-up of a coordinator that is gone,
/// see `Coordinator.willBeRemoved`. It is part of a session's state.
public struct PendingWork: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// `value` is the effect as it is saved; `since` when it was recorded.
        case effect(JSON, since: Int)
        /// `value` is the signal as it is saved. `idle` is how long the user has to have done nothing; `nil` if what the
        /// user does makes no difference.
        case timer(JSON, due: Int, idle: Int?)
        indirect case cleanUp(CleanUp)
    }

    /// The author's name for it, unique in its coordinator.
    public let id: String
    /// Unique in the session, never reused.
    package let number: Int
    /// The id of the coordinator that waits. That of a clean-up is gone.
    package let coordinator: Int
    /// Times are in milliseconds, since 1970.
    private(set) var kind: Kind

    /// The name of the case of the effect; `nil` for a timer.
    public var effect: String? {
        if case .effect(let value, _) = kind { value.caseName } else { nil }
    }

    /// The name of the case of the signal that a timer sends; `nil` for an effect.
    public var signal: String? {
        if case .timer(let value, _, _) = kind { value.caseName } else { nil }
    }

    /// When an effect or a clean-up was recorded; `nil` for a timer.
    public var since: Date? {
        switch kind {
        case .effect(_, let since): Date(milliseconds: since)
        case .cleanUp(let cleanUp): Date(milliseconds: cleanUp.since)
        case .timer: nil
        }
    }

    /// The coordinator that a clean-up is for, by its name, and why it is gone; `nil` for an effect or a timer.
    public var cleanUp: (coordinator: String, reason: RemovalReason)? {
        if case .cleanUp(let cleanUp) = kind { (cleanUp.name, cleanUp.reason) } else { nil }
    }

    /// When a timer is due; `nil` for an effect.
    public var due: Date? {
        if case .timer(_, let due, _) = kind { Date(milliseconds: due) } else { nil }
    }

    /// Whether a timer starts again with each event of the user.
    public var waitsForIdleness: Bool {
        if case .timer(_, _, _?) = kind { true } else { false }
    }

    /// The effect, or the signal, as it is saved.
    package var values: JSON {
        switch kind {
        case .effect(let value, _), .timer(let value, _, _): value
        case .cleanUp(let cleanUp): .string(cleanUp.reason.rawValue)
        }
    }

    /// The name of the case, or of the function that cleans up.
    var name: String { effect ?? signal ?? CleanUp.function }

    /// Whether somebody has to perform it: an effect, or a clean-up.
    package var isPerformed: Bool { due == nil }

    /// The same if the user has just done something.
    fileprivate func restarted(at now: Int) -> PendingWork {
        guard case .timer(let signal, _, let idle?) = kind else { return self }
        var work = self
        work.kind = .timer(signal, due: min(now + idle, NavigationState.numberLimit), idle: idle)
        return work
    }
}

/// A coordinator that is gone and has still to undo what it holds.
struct CleanUp: Sendable, Equatable {
    static let function = "willBeRemoved"
    static let retries = 5
    /// The coordinator's name.
    let name: String
    /// The coordinator as it is saved.
    let state: JSON
    /// Of the app that saved it.
    let version: Int
    let reason: RemovalReason
    /// When it was recorded, in milliseconds since 1970.
    let since: Int
}

extension NavigationState {
    /// How many effects and timers a session may have.
    public static let pendingLimit = 64
    /// How much may be under way, with what has to be cleaned up, when a transition adds to it.
    static let cleanUpLimit = 256

    /// When the next timer is due; `nil` if there is none.
    package var nextTimer: Date? { pending.lazy.compactMap(\.due).min() }

    /// Whether effects are under way.
    package var hasEffects: Bool { pending.contains { $0.effect != nil } }

    /// The numbers of the effects and the clean-ups under way.
    package var performed: [Int] { pending.compactMap { $0.isPerformed ? $0.number : nil } }

    /// Forgets what is to be cleaned up, because it is done.
    package mutating func removeCleanUps() { pending.removeAll { $0.cleanUp != nil } }

    /// Whether something remains to be done when the session ends. A fork does not tell the coordinators that it has taken
    /// along: what they hold belongs to the session that it was forked from.
    package var endsWithCleanUps: Bool {
        coordinators.contains { $0.id > inheritedID && $0.type.work.willBeRemoved != nil }
            || pending.contains { $0.cleanUp != nil }
    }

    /// The work of that number; `nil` if it is over.
    func work(_ number: Int) -> PendingWork? { pending.first { $0.number == number } }

    /// Whether a coordinator has work of that id.
    func hasWork(_ id: String, of coordinator: Int) -> Bool {
        pending.contains { $0.id == id && $0.coordinator == coordinator }
    }

    /// The timers that are due, in the order in which they are.
    package func timersDue(at now: Date) -> [PendingWork] {
        var timers: [(due: Date, work: PendingWork)] = []
        for work in pending {
            if let due = work.due, due <= now { timers.append((due, work)) }
        }
        timers.sort { ($0.due, $0.work.number) < ($1.due, $1.work.number) }
        return timers.map(\.work)
    }

    /// The state without what goes on in the session that a fork is made of: effects and clean-ups under way, and what the
    /// user has agreed to there.
    fileprivate var forked: NavigationState {
        var state = self
        if state.pending.contains(where: \.isPerformed) { state.pending.removeAll(where: \.isPerformed) }
        // It is for one device of the session, and a fork has another.
        state.agreement = nil
        state.inheritedID = lastID
        return state
    }

    /// The user has done something: timers that wait for idleness start again.
    package mutating func restartIdleTimers(at now: Date) {
        guard !pending.isEmpty else { return }
        pending = pending.map { $0.restarted(at: now.milliseconds) }
    }

    /// Removes the work of coordinators that are gone.
    mutating func removeWork(of coordinators: Set<Int>) {
        guard !pending.isEmpty else { return }
        pending.removeAll { coordinators.contains($0.coordinator) }
    }

    /// A violation of the rules for work; `nil` if there is none.
    var violationOfWork: InvariantViolation? {
        for (index, work) in pending.enumerated() {
            guard self[work.coordinator] != nil || work.cleanUp != nil,
                !pending[..<index].contains(where: { $0.id == work.id && $0.coordinator == work.coordinator })
            else { return .strayWork(id: work.id) }
        }
        return nil
    }
}

extension PendingWork {
    /// The clean-up of a coordinator that is gone.
    fileprivate init(_ cleanUp: CleanUp, number: Int, coordinator: Int) {
        self.init(id: CleanUp.function, number: number, coordinator: coordinator, kind: .cleanUp(cleanUp))
    }
}

extension NavigationState {
    /// Records what coordinators that are gone have to undo, descendants before their ancestors.
    mutating func cleanUp(
        _ gone: [LivingCoordinator], version: Int, at now: Date, for reason: (Int) -> RemovalReason
    ) {
        for living in gone.reversed() where living.type.work.willBeRemoved != nil && living.id > inheritedID {
            let cleanUp = CleanUp(
                name: living.name, state: living.savedState, version: version, reason: reason(living.id),
                since: now.milliseconds)
            pending.append(PendingWork(cleanUp, number: nextID(), coordinator: living.id))
        }
    }
}

// Saved states, of sessions that nobody restores.
extension JSON {
    /// Removes the effects under way from a saved state to which the operator returns a session, and starts the timers
    /// that wait for idleness again.
    ///
    /// - Parameter last: the session's last state. What is to be cleaned up there still is, and so are coordinators
    ///   that this state does not have.
    package mutating func resetSavedWork(at now: Date, after last: JSON) {
        let timers = (self["pending"]?.array ?? []).filter { $0["effect"] == nil && $0["cleanUp"] == nil }.map {
            timer in
            var timer = timer
            if let idle = timer["idle"]?.integer { timer["due"] = .integer(now.milliseconds + idle) }
            return timer
        }
        let kept = Set((self["coordinators"]?.array ?? []).compactMap { $0["id"]?.integer })
        let gone = last.savedEndObservers.filter { !kept.contains($0["id"]?.integer ?? 0) }
        cleanUp(gone, of: last, .removed, beside: timers, at: now)
    }

    /// What the session is over for, if only its clean-ups remain.
    package var savedEnd: RemovalReason? { self["ended"]?.string.flatMap { RemovalReason(rawValue: $0) } }

    /// Whether something remains to be done when the session ends.
    package var savedEndsWithCleanUps: Bool { !savedEndObservers.isEmpty || !savedCleanUps.isEmpty }

    private var savedCleanUps: [JSON] { (self["pending"]?.array ?? []).filter { $0["cleanUp"] != nil } }

    private var savedEndObservers: [JSON] {
        let inherited = self["inheritedID"]?.integer ?? 0
        return (self["coordinators"]?.array ?? []).filter { living in
            living["isTold"] == true && living["id"]?.integer ?? 0 > inherited
        }
    }

    /// The state of a session that is over: it is not restored any more, and only its clean-ups go on.
    package func ended(_ reason: RemovalReason, at now: Date) -> JSON {
        var state = self
        state["ended"] = .string(reason.rawValue)
        state.cleanUp(savedEndObservers, of: self, reason, beside: [], at: now)
        return state
    }

    /// Removes a clean-up from the state of a session that is over.
    ///
    /// - Returns: `nil` if it is done already.
    package func cleanedUp(_ number: Int) -> JSON? {
        let cleanUps = savedCleanUps
        let left = cleanUps.filter { $0["number"]?.integer != number }
        guard left.count < cleanUps.count else { return nil }
        var state = self
        state["pending"] = .array(left)
        return state
    }

    /// Keeps what another state has to clean up, records what coordinators of it that are gone have to undo, descendants
    /// before their ancestors, and replaces all other work.
    private mutating func cleanUp(
        _ gone: [JSON], of last: JSON, _ reason: RemovalReason, beside others: [JSON], at now: Date
    ) {
        var number = self["lastID"]?.integer ?? 0
        var work = last.savedCleanUps
        for living in gone.reversed() {
            number += 1
            let cleanUp = CleanUp(
                name: living["name"]?.string ?? "", state: living["state"] ?? [:],
                version: last["version"]?.integer ?? 0, reason: reason, since: now.milliseconds)
            work.append(PendingWork(cleanUp, number: number, coordinator: living["id"]?.integer ?? 0).json)
        }
        work += others
        self["lastID"] = .integer(number)
        self["pending"] = work.isEmpty ? nil : .array(work)
    }

    /// The name of an enum's case in Swift's own encoding.
    var caseName: String? { string ?? object?.names.first }
}

extension Date {
    /// The last time that is saved: the end of the year 9999.
    private static let latest = 253_402_300_799_999

    /// Since 1970, at least 0.
    var milliseconds: Int {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded(.up)
        guard milliseconds < Double(Date.latest) else { return Date.latest }
        return milliseconds > 0 ? Int(milliseconds) : 0
    }

    init(milliseconds: Int) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

extension App {
    /// The state with which a fork begins.
    ///
    /// - Parameter device: the one that asks for it, which is the fork's only one; `nil` for the one that the state is
    ///   drawn for.
    package func fork(
        of state: NavigationState, for device: Device?, at now: Date
    ) throws(NavigationError) -> NavigationState {
        var run = TransitionRun(of: self, on: state.forked, at: now, event: nil)
        // Whoever makes a fork does something.
        run.state.restartIdleTimers(at: now)
        if let device { run.state.show(to: device) }
        guard try run.redraw(run.state.screens) else { return run.state }
        try run.check(run.state.screens)
        return run.state
    }
}
