import JSONCoding

/// A request of a coordinator, or something else that it does, by the name of the function; what follows a dot tells
/// variants of it apart.
enum Word: String, Codable, Sendable, CaseIterable {
    case push, pushNew = "push.onlyIfNew", pushTabs = "push.tabs", pop, popTo, popToOrPush = "popTo.orPush"
    case popToKey = "popTo.key", popToRoot, replace, setStack, update, updateKey = "update.key", invalidateContent
    case invalidateKey = "invalidateContent.ofKey", selectTab, setBadge, setTabs, start, present, dismiss
    case dismissPresented, alert, dismissAlerts, finish, deliver, endChildren, move, moveToStack
    case presentMoving = "present.moving", tell, tellChildren, rotateToken, requestPairingCode, revokeDevice
    case signIn, signOut, endSessions, perform, schedule, scheduleAt = "schedule.at", scheduleWhenIdle, cancel
    // What is no request.
    case look, resolve, share, remember, guardScreens, enable, conduct, fail, refuse

    /// Whether it is performed although its coordinator is gone.
    var outlivesCoordinator: Bool {
        [.alert, .tell, .rotateToken, .requestPairingCode, .revokeDevice, .signIn, .signOut, .endSessions].contains(
            self)
    }
}

enum Kind: String, Codable, Sendable, CaseIterable {
    case root, alpha, beta
    /// Whatever conforms to the protocol: only for messages.
    case any
}

/// A command of a script. What a word does not need is left out.
package struct Command: Codable, Hashable, Sendable {
    var word: Word
    /// A position or the number of a name, modulo what there is; out of bounds if negative.
    var at: Int?
    var to: Int?
    var isOn: Bool?
    var look: Look?
    var looks: [Look]?
    var tabs: [TabSpec]?
    var kind: Kind?
    var conduct: Conduct?
    var script: [Command]?
    var buttons: [ButtonSpec]?
    /// Whether the effect ends only when its server gives it up; for hosts with a simulated clock.
    var hangs: Bool?

    init(_ word: Word, at: Int? = nil) {
        (self.word, self.at) = (word, at)
    }
}

/// A screen.
struct Look: Codable, Hashable, Sendable {
    var name = 0
    /// How long a text it has.
    var length: Int?
    var isForbidden: Bool?
    /// The events that it offers, by their position in `AnyEvent.names`; `nil` for all.
    var events: [Int]?
    /// What its buttons and rows do.
    var buttons: [[Command]]?
    var rows: [[Command]]?
    var hasLink: Bool?
    var hasContent: Bool?
    /// Whether it offers other events on a television.
    var differs: Bool?
    /// Whose it is: the user's, the helper's or that of both; `nil` for everybody's.
    var isFor: Int?
}

struct TabSpec: Codable, Hashable, Sendable {
    var id: Int
    var badge: Int?
    /// The screen in it; otherwise a child.
    var look: Look?
    var kind: Kind?
    var conduct: Conduct?
}

struct ButtonSpec: Codable, Hashable, Sendable {
    var id: Int
    var isCancel: Bool?
    /// What the event that it sends does.
    var script: [Command]?
    /// Whether its event is for devices of the user alone.
    var isForUser: Bool?
}

/// What a coordinator does when it is called, by the function's name.
struct Conduct: Codable, Hashable, Sendable {
    var on: [Reaction] = []
    /// What `open` returns: 0 taken, 1 passed on, 2 pending.
    var link: Int?
    /// Whether it refuses signals that name another coordinator.
    var isPicky: Bool?
    /// Whether `shouldSelectTab` returns `false`.
    var keepsTab: Bool?

    subscript(callback: Callback) -> [Command] { on.first { $0.callback == callback }?.script ?? [] }
}

struct Reaction: Codable, Hashable, Sendable {
    var callback: Callback
    var script: [Command]
}

/// The functions of a coordinator that a script can stand for.
enum Callback: String, Codable, Sendable, CaseIterable {
    case start, handle, childDidFinish, childWasDismissed, childDidDeliver, screenWasRemoved, shouldSelectTab
    case didSelectTab, receive, open, effectDidFail, deviceDidPair, message
    // These have no navigator: only whether they were called counts.
    case accepts, shouldLeave, willBeRemoved, perform, retries, content, render, isEnabled, title, fields, migrate

    static let scripted: [Callback] = [
        .start, .handle, .childDidFinish, .childWasDismissed, .childDidDeliver, .screenWasRemoved, .shouldSelectTab,
        .didSelectTab, .receive, .open, .effectDidFail, .deviceDidPair,
    ]
}

/// How an effect ends.
struct EffectSpec: Codable, Hashable, Sendable {
    /// What the coordinator does when it receives the outcome; `nil` for no outcome.
    var script: [Command]?
    /// Whether each attempt throws.
    var fails: Bool?
    /// How long a text the outcome has.
    var length: Int?
    var hangs: Bool?
}

/// What a walk does at a time.
package struct Step: Codable, Hashable, Sendable {
    package enum Verb: String, Codable, Sendable, CaseIterable {
        case run, go, plan, anywhere, tap, unknown
        /// Posts the event that was held up, or the last one, once more.
        case again
        case back, backTo, backToRoot, selectTab, dismiss, answer, open, relaunch, describeClient
        case signal, pair, advance, effect, read, fork, restart
    }

    /// Which screen an event names: the one that its device was sent last, or one that was there once.
    package enum Naming: String, Codable, Sendable { case shown, stale }

    package var verb: Verb
    /// Which of several things, modulo their number.
    package var at: Int?
    var to: Int?
    package var script: [Command]?
    /// Which device does it; `nil` for the first.
    var device: Int?
    package var names: Naming?

    package init(_ verb: Verb, at: Int? = nil) {
        (self.verb, self.at) = (verb, at)
    }

    package var text: String { JSONText.of(self) }

    /// The step with less in it, each a bit simpler.
    package var simpler: [Step] {
        var all: [Step] = []
        if let script {
            for shorter in script.shorter {
                var step = self
                step.script = shorter
                all.append(step)
            }
        }
        for clear: (inout Step) -> Void in [{ $0.device = nil }, { $0.names = nil }, { $0.to = nil }, { $0.at = nil }] {
            var step = self
            clear(&step)
            if step != self { all.append(step) }
        }
        return all
    }
}

extension Step {
    /// The step with effects that hang.
    package var hanging: Step {
        var step = self
        for index in script?.indices ?? 0..<0 where script?[index].word == .perform { step.script?[index].hangs = true }
        return step
    }
}

extension [Command] {
    /// The script without one of its commands, or with a simpler one.
    fileprivate var shorter: [[Command]] {
        var all: [[Command]] = []
        for index in indices {
            var fewer = self
            fewer.remove(at: index)
            all.append(fewer)
        }
        for index in indices {
            for simpler in self[index].simpler {
                var other = self
                other[index] = simpler
                all.append(other)
            }
        }
        return all
    }
}

extension Command {
    fileprivate var simpler: [Command] {
        var all: [Command] = []
        func add(_ change: (inout Command) -> Void) {
            var command = self
            change(&command)
            if command != self { all.append(command) }
        }
        if let script { for shorter in script.shorter { add { $0.script = shorter } } }
        if let conduct { for simpler in conduct.simpler { add { $0.conduct = simpler } } }
        if let tabs, tabs.count > 1 { for index in tabs.indices { add { $0.tabs?.remove(at: index) } } }
        for index in tabs?.indices ?? 0..<0 {
            add { $0.tabs?[index].badge = nil }
            if tabs?[index].look == nil {
                add {
                    $0.tabs?[index].look = Look()
                    $0.tabs?[index].kind = nil
                    $0.tabs?[index].conduct = nil
                }
            }
            for simpler in tabs?[index].conduct?.simpler ?? [] { add { $0.tabs?[index].conduct = simpler } }
            if let look = tabs?[index].look { add { $0.tabs?[index].look = Look(name: look.name) } }
        }
        if let look { add { $0.look = Look(name: look.name) } }
        if let buttons, buttons.count > 1 { for index in buttons.indices { add { $0.buttons?.remove(at: index) } } }
        add { $0.at = nil }
        add { $0.to = nil }
        add { $0.hangs = nil }
        return all
    }
}

extension Conduct {
    fileprivate static let least = Conduct(on: [Reaction(callback: .start, script: [Command(.push)])])

    fileprivate var simpler: [Conduct] {
        var all: [Conduct] = self == .least ? [] : [.least]
        for index in on.indices {
            var other = self
            other.on.remove(at: index)
            all.append(other)
            for shorter in on[index].script.shorter {
                var other = self
                other.on[index].script = shorter
                all.append(other)
            }
        }
        if link != nil || isPicky != nil || keepsTab != nil { all.append(Conduct(on: on)) }
        return all
    }
}

extension Setup {
    package var simpler: [Setup] {
        var all = conduct.simpler.map { conduct in
            var setup = self
            setup.conduct = conduct
            return setup
        }
        var usual = Setup()
        usual.conduct = conduct
        if usual != self { all.append(usual) }
        return all
    }
}

/// What a walk begins with.
package struct Setup: Codable, Hashable, Sendable {
    var conduct = Conduct()
    var sizeLimit = 64 * 1024
    var stack = 64
    var depth = 32
    var alerts = 16
    var pending = 64
    /// Whether an error of a coordinator becomes an alert.
    var showsErrors = false

    package init() {}

    package var text: String { JSONText.of(self) }
}

package enum JSONText {
    package static func of(_ value: some Encodable) -> String {
        guard let json = try? JSON(encoding: value) else { return "" }
        return String(decoding: JSONWriter.bytes(capacity: 256) { json.write(to: &$0) }, as: UTF8.self)
    }
}

/// Steele, Lea and Flood's SplitMix: the same numbers from the same seed, everywhere.
package struct Numbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// From 0 to `count` - 1; 0 if there is none.
    package mutating func below(_ count: Int) -> Int { count <= 1 ? 0 : Int(next() % UInt64(count)) }

    package mutating func isOneIn(_ count: Int) -> Bool { below(count) == 0 }

    package mutating func choose<Value>(_ values: [Value]) -> Value? {
        values.isEmpty ? nil : values[below(values.count)]
    }

    /// One of the values, by their weights; `nil` if all weights are 0.
    package mutating func choose<Value>(_ values: [(Value, Int)]) -> Value? {
        var rest = below(values.reduce(0) { $0 + $1.1 })
        for (value, weight) in values where weight > 0 {
            if rest < weight { return value }
            rest -= weight
        }
        return nil
    }
}
