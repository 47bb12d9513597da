public import JSONCoding

/// Something that a coordinator waits for: an effect under way, or a timer. It is part of a session's state.
public struct PendingWork: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// `value` is the effect as it is saved; `since` when it was recorded.
        case effect(JSON, since: Int)
        /// `value` is the signal as it is saved. `idle` is how long the user has to have done nothing; `nil` if what the
        /// user does makes no difference.
        case timer(JSON, due: Int, idle: Int?)
    }

    /// The author's name for it, unique in its coordinator.
    public let id: String
    /// Unique in the session, never reused.
    package let number: Int
    /// The id of the coordinator that waits.
    package let coordinator: Int
    /// Times are in milliseconds, since 1970.
    private(set) var kind: Kind

    init(id: String, number: Int, coordinator: Int, kind: Kind) {
        self.id = id
        self.number = number
        self.coordinator = coordinator
        self.kind = kind
    }

    /// The name of the case of the effect; `nil` for a timer.
    public var effect: String? {
        if case .effect(let value, _) = kind { value.caseName } else { nil }
    }

    /// The name of the case of the signal that a timer sends; `nil` for an effect.
    public var signal: String? {
        if case .timer(let value, _, _) = kind { value.caseName } else { nil }
    }

    /// When an effect was recorded; `nil` for a timer.
    public var since: Date? {
        if case .effect(_, let since) = kind { Date(milliseconds: since) } else { nil }
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
        }
    }

    /// The name of the case.
    var name: String { effect ?? signal ?? "" }

    /// The same if the user has just done something.
    fileprivate func restarted(at now: Int) -> PendingWork {
        guard case .timer(let signal, _, let idle?) = kind else { return self }
        var work = self
        work.kind = .timer(signal, due: min(now + idle, NavigationState.numberLimit), idle: idle)
        return work
    }
}

extension NavigationState {
    /// How many effects and timers a session may have.
    public static let pendingLimit = 64

    /// When the next timer is due; `nil` if there is none.
    package var nextTimer: Date? { pending.lazy.compactMap(\.due).min() }

    /// Whether effects are under way.
    package var hasEffects: Bool { pending.contains { $0.effect != nil } }

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

    /// Without the effects under way, which do not go on in another session, nor in one that returns to this state.
    package var withoutEffects: NavigationState {
        guard hasEffects else { return self }
        var state = self
        state.pending.removeAll { $0.effect != nil }
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
            guard self[work.coordinator] != nil,
                !pending[..<index].contains(where: { $0.id == work.id && $0.coordinator == work.coordinator })
            else { return .strayWork(id: work.id) }
        }
        return nil
    }
}

extension JSON {
    /// Removes the effects under way from a saved state to which the operator returns a session, and starts the timers
    /// that wait for idleness again.
    package mutating func resetSavedWork(at now: Date) {
        guard let pending = self["pending"]?.array else { return }
        let timers = pending.filter { $0["effect"] == nil }.map { timer in
            var timer = timer
            if let idle = timer["idle"]?.integer { timer["due"] = .integer(now.milliseconds + idle) }
            return timer
        }
        self["pending"] = timers.isEmpty ? nil : .array(timers)
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

/// When a timer is due.
enum TimerTime: Sendable {
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
