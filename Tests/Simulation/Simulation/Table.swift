import Coordinators
import JSONCoding
import Synchronization

/// What stands beside the session: the scripts, of which events and coordinators have only the numbers, and what the
/// coordinators of the walk's current transition have heard and asked for.
package final class Table: Sendable {
    /// The table of the walk that is under way.
    @TaskLocal package static var current = Table()

    private struct State {
        var scripts = Numbered<[Command]>(first: [])
        var conducts = Numbered<Conduct>(first: Conduct())
        var effects = Numbered<EffectSpec>(first: EffectSpec())
        var usage = Usage()
        var edition = Edition.first
        /// Whether nothing is noted, because the transition is only a trial.
        var isTrial = false
        /// The coordinator that is being called.
        var called = 0
        var heard: [Heard] = []
        /// What coordinators have asked for and the engine has not performed: what is last is performed first.
        var open: [(coordinator: Int, issued: [Issued])] = []
        var tags = 0
        /// Whether what a coordinator that is gone has asked for was dropped.
        var hasDropped = false
        var overloads = 0
        var revokes = false
        /// The coordinators that were called as they were afterwards, by their names.
        var last: [String: Me] = [:]
    }

    private let state = Mutex(State())
    /// What an effect that hangs waits for.
    let hold: @Sendable () async throws -> Void

    package init(hold: @escaping @Sendable () async throws -> Void = {}) {
        self.hold = hold
    }

    package func number(of script: [Command]?) -> Int {
        script.map { script in state.withLock { $0.scripts[script] } } ?? 0
    }
    func number(of conduct: Conduct?) -> Int { conduct.map { conduct in state.withLock { $0.conducts[conduct] } } ?? 0 }
    func number(of effect: EffectSpec) -> Int { state.withLock { $0.effects[effect] } }
    func script(_ number: Int) -> [Command] { state.withLock { $0.scripts.value(number) } }
    func conduct(_ number: Int) -> Conduct { state.withLock { $0.conducts.value(number) } }
    func effect(_ number: Int) -> EffectSpec { state.withLock { $0.effects.value(number) } }
    package var usage: Usage { state.withLock { $0.usage } }

    /// The edition of the app that runs.
    package var edition: Edition {
        get { state.withLock(\.edition) }
        set { state.withLock { $0.edition = newValue } }
    }

    /// A new number for a message.
    func tag() -> Int {
        state.withLock { state in
            state.tags += 1
            return state.tags
        }
    }

    func note(_ word: Word) { state.withLock { if !$0.isTrial { $0.usage.words[word, default: 0] += 1 } } }
    func note(callback: Callback) { state.withLock { $0.usage.callbacks[callback, default: 0] += 1 } }
    func note(_ event: BuiltInEvent) { state.withLock { $0.usage.events[event, default: 0] += 1 } }

    /// A function of a coordinator was called.
    ///
    /// - Parameter child: the one that it is about, as the engine hands it over.
    func hear(
        _ callback: Callback, _ name: String, about child: Me? = nil, tag: Int? = nil, screen: String? = nil,
        decision: LinkDecision? = nil
    ) {
        state.withLock { state in
            guard !state.isTrial else { return }
            state.usage.callbacks[callback, default: 0] += 1
            state.heard.append(
                Heard(
                    coordinator: state.called, name: name, callback: callback, about: child?.name,
                    isStale: child.map { state.last[$0.name] ?? $0 } != child, tag: tag, screen: screen,
                    decision: decision))
        }
    }

    /// The function has returned, and asks for this.
    func issue(_ issued: [Issued], _ me: Me) {
        state.withLock { state in
            guard !state.isTrial else { return }
            state.last[me.name] = me
            if let called = state.heard.indices.last { state.heard[called].hasReturned = true }
            guard !issued.isEmpty else { return }
            state.open.append((state.called, issued.reversed()))
        }
    }

    /// Begins to note what happens in a transition.
    package func begin(isTrial: Bool) {
        state.withLock { state in
            state.isTrial = isTrial
            guard !isTrial else { return }
            (state.heard, state.open, state.called, state.last, state.hasDropped) = ([], [], 0, [:], false)
        }
    }

    /// Nothing of what has happened in the transition counts.
    func startOver() { begin(isTrial: state.withLock { $0.isTrial }) }

    func call(_ coordinator: Int) { state.withLock { if !$0.isTrial { $0.called = coordinator } } }

    /// Whether a coordinator asks before its screens are left; `nil` if it was not called.
    func guards(_ name: String) -> Bool? { state.withLock { $0.last[name]?.guards } }

    var hasDropped: Bool { state.withLock { $0.hasDropped || $0.open.contains { !$0.issued.isEmpty } } }

    /// How often a coordinator has had no capacity.
    package var overloads: Int { state.withLock { $0.overloads } }

    /// Whether a coordinator has revoked a device.
    package var revokes: Bool { state.withLock { $0.revokes } }

    func noteRevocation() { state.withLock { $0.revokes = true } }

    func noteOverload() { state.withLock { $0.overloads += 1 } }

    var heard: [Heard] { state.withLock { $0.heard } }

    /// What the coordinator has asked for next. What coordinators that are gone have asked for is dropped.
    func next(of coordinator: Int, living: (Int) -> Bool) -> Issued? {
        state.withLock { state in
            while let last = state.open.last {
                guard !last.issued.isEmpty, last.coordinator == coordinator || living(last.coordinator) else {
                    if !last.issued.isEmpty { state.hasDropped = true }
                    state.open.removeLast()
                    continue
                }
                guard last.coordinator == coordinator else { return nil }
                if !living(coordinator) { state.hasDropped = true }
                return state.open[state.open.count - 1].issued.removeLast()
            }
            return nil
        }
    }

    /// What would be performed next; `nil` if it is of a coordinator that is gone.
    func refused(living: (Int) -> Bool) -> (coordinator: Int, issued: Issued)? {
        state.withLock { state in
            for last in state.open.reversed() {
                if living(last.coordinator) {
                    if let issued = last.issued.last { return (last.coordinator, issued) }
                } else if last.issued.contains(where: \.command.word.outlivesCoordinator) {
                    return nil
                }
            }
            return nil
        }
    }
}

/// Gives numbers to values, from 0; equal values have the same one.
private struct Numbered<Value: Hashable> {
    private var values: [Value]
    private var numbers: [Value: Int]

    init(first: Value) { (values, numbers) = ([first], [first: 0]) }

    subscript(value: Value) -> Int {
        mutating get {
            if let number = numbers[value] { return number }
            numbers[value] = values.count
            values.append(value)
            return values.count - 1
        }
    }

    func value(_ number: Int) -> Value { values.indices.contains(number) ? values[number] : values[0] }
}

/// A call, as the coordinator that was called has noted it.
struct Heard: Sendable {
    /// The id that the engine gave it.
    let coordinator: Int
    /// The name that its parent gave it.
    let name: String
    let callback: Callback
    /// The name of the child that it is about.
    let about: String?
    /// Whether that child is not as its last function has left it.
    let isStale: Bool
    /// The number of the message.
    let tag: Int?
    /// The name of the screen that was removed.
    let screen: String?
    /// What becomes of a link.
    let decision: LinkDecision?
    /// Whether it has returned, and not failed.
    var hasReturned = false

    /// Whether the link is offered to it again.
    var isKept: Bool { decision == .pending || waitsForFlow }
    var waitsForFlow: Bool { if case .pendingUntilEnd = decision { true } else { false } }
}

/// A request, with what its numbers stand for.
struct Issued: Sendable {
    let command: Command
    /// The screen's name or key, the tab's id, the work's id.
    var text = ""
    /// The name of the child.
    var child = ""
    var tag = 0
    /// The ids of the tabs.
    var tabs: [String] = []
}

/// What was used how often: what is never used is not tested.
package struct Usage: Sendable {
    var words: [Word: Int] = [:]
    var callbacks: [Callback: Int] = [:]
    var events: [BuiltInEvent: Int] = [:]

    package init() {}

    mutating package func add(_ other: Usage) {
        words.merge(other.words) { $0 + $1 }
        callbacks.merge(other.callbacks) { $0 + $1 }
        events.merge(other.events) { $0 + $1 }
    }

    /// The functions of `Navigator` that were called.
    package var functions: Set<String> { Set(words.keys.map { String($0.rawValue.prefix { $0 != "." }) }) }
    package var calledBack: Set<String> { Set(callbacks.keys.map(\.rawValue)) }
    package var builtIn: Set<String> { Set(events.keys.map(\.rawValue)) }
    /// The words of scripts that were never used.
    package var unused: [String] { Word.allCases.filter { words[$0] == nil }.map(\.rawValue) }
    /// The functions of coordinators that were never called, and the built-in events that were never posted.
    package var unmet: [String] {
        Callback.allCases.filter { callbacks[$0] == nil }.map(\.rawValue)
            + BuiltInEvent.allCases.filter { events[$0] == nil }.map(\.rawValue)
    }
}
