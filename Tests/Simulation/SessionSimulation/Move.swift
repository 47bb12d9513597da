import Coordinators
import JSONCoding
import Simulation

/// What a walk does at a time: a request, or what happens to the process, its store and its time.
///
/// Numbers are relative, modulo what there is, so that a shorter sequence still means something.
package struct Move: Codable, Hashable, Simplifiable {
    package enum Verb: String, Codable, Sendable, CaseIterable {
        case create, event, repeated, read, content, preview, watch, unwatch, wait, withdraw, outcome
        case openPairing, pair, revoke, history, past, fork, end, signal, signalUser
        case sweep, compact, backUp, goBack, move, kill, restart, update, fail, heal, advance, leap, finish
    }

    package var verb: Verb
    /// Which session.
    var session: Int?
    /// Which of its devices; tokens that were replaced or revoked count, too.
    var device: Int?
    /// Which of several things.
    var at: Int?
    var to: Int?
    /// The number of the request's `Idempotency-Key`.
    var key: Int?
    /// How many versions before the current one `If-Match` names.
    var condition: Int?
    /// The event, or whose script a signal brings.
    var step: Step?
    /// What becomes of the next commits.
    var fates: [Fate]?
    /// Chooses the order of the jobs; `nil` for the one in which they come.
    var order: UInt64?
    /// After how many jobs the process is killed.
    var cut: Int?
    /// What is requested at the same moment.
    var with: [Move]?

    init(_ verb: Verb) {
        self.verb = verb
    }

    var text: String { JSONText.of(self) }

    package var simpler: [Move] {
        var all: [Move] = []
        func add(_ change: (inout Move) -> Void) {
            var move = self
            change(&move)
            if move != self { all.append(move) }
        }
        add { $0.with = nil }
        for index in with?.indices ?? 0..<0 where (with?.count ?? 0) > 1 { add { $0.with?.remove(at: index) } }
        add { $0.cut = nil }
        add { $0.fates = nil }
        add { $0.order = nil }
        add { $0.key = nil }
        add { $0.condition = nil }
        for simpler in step?.simpler ?? [] { add { $0.step = simpler } }
        for index in with?.indices ?? 0..<0 {
            for simpler in with?[index].simpler ?? [] { add { $0.with?[index] = simpler } }
        }
        add { $0.device = nil }
        add { $0.session = nil }
        add { $0.to = nil }
        add { $0.at = nil }
        return all
    }
}

/// What a walk begins with.
package struct SessionSetup: Codable, Hashable, Simplifiable {
    package enum Store: String, Codable, Sendable, CaseIterable { case memory, sqlite }

    /// The app's.
    var app = Setup()
    var store = Store.memory
    /// How many answers and versions are kept, and how many bytes of each.
    var answers = 256
    var versions = 100
    var answerBytes = 1 << 20
    var versionBytes = 4 << 20
    /// Sessions in memory.
    var live = 1000
    /// Bytes that the store may take; 0 for no limit.
    var room = 0
    /// In seconds.
    var idle = 3600
    var absolute = 86_400
    var tombstone = 3600
    /// For ids, tokens and codes.
    var dice: UInt64 = 1

    package var text: String { JSONText.of(self) }

    package var simpler: [SessionSetup] {
        var all: [SessionSetup] = app.simpler.map { app in
            var setup = self
            setup.app = app
            return setup
        }
        var usual = SessionSetup()
        (usual.app, usual.store) = (app, store)
        if usual != self { all.append(usual) }
        var other = self
        other.store = .memory
        if other != self { all.append(other) }
        return all
    }
}

/// Chooses what happens, from one seed. The weights are drawn anew for each seed.
package struct MoveGenerator {
    private var numbers: Numbers
    private var steps: Generator
    private var verbs: [(Move.Verb, Int)] = []
    /// One of so many requests …
    private let (keyed, conditional, concurrent, cut, troubled, odd): (Int, Int, Int, Int, Int, Int)
    private let hanging: Int
    private let sessions: Int
    /// Whether the walk is about devices more than about events.
    private let isOfDevices: Bool
    private let store: SessionSetup.Store?

    package init(seed: UInt64, store: SessionSetup.Store?) {
        var numbers = Numbers(seed: seed ^ 0x5E55_1014)
        steps = Generator(seed: seed)
        keyed = [1, 2, 4, 16][numbers.below(4)]
        conditional = [2, 8, 32][numbers.below(3)]
        concurrent = [2, 4, 16, 1000][numbers.below(4)]
        cut = [20, 100, 1000][numbers.below(3)]
        troubled = [8, 32, 1000][numbers.below(3)]
        odd = [4, 16, 64][numbers.below(3)]
        hanging = [2, 8, 1000][numbers.below(3)]
        sessions = [1, 2, 3, 6, 12][numbers.below(5)]
        isOfDevices = numbers.isOneIn(4)
        self.store = store
        self.numbers = numbers
        for verb in Move.Verb.allCases { verbs.append((verb, weight(of: verb))) }
    }

    private mutating func weight(of verb: Move.Verb) -> Int {
        let weight = numbers.isOneIn(3) ? 0 : [1, 2, 4, 8][numbers.below(4)]
        return switch verb {
        case .event: isOfDevices ? 16 : 64
        case .openPairing, .pair: isOfDevices ? 8 : weight
        case .fork: isOfDevices ? 8 : weight / 4
        case .create: 4
        case .read: 4
        case .finish: 0
        case .kill, .restart, .sweep, .compact, .backUp, .goBack, .move, .update, .fail, .end, .leap, .signalUser:
            weight / 4
        case .heal: 16
        default: weight
        }
    }

    package mutating func setup() -> SessionSetup {
        var setup = SessionSetup()
        setup.app = steps.setup()
        let kinds = SessionSetup.Store.allCases
        let drawn = numbers.isOneIn(4) ? SessionSetup.Store.sqlite : .memory
        setup.store = store ?? (kinds.contains(drawn) ? drawn : .memory)
        if numbers.isOneIn(2) { setup.answers = [1, 2, 4, 16][numbers.below(4)] }
        if numbers.isOneIn(2) { setup.versions = [1, 2, 5, 20][numbers.below(4)] }
        if numbers.isOneIn(4) { setup.answerBytes = [100, 1000][numbers.below(2)] }
        if numbers.isOneIn(4) { setup.versionBytes = [2000, 20_000][numbers.below(2)] }
        if !numbers.isOneIn(3) { setup.live = [1, 2, 3][numbers.below(3)] }
        if numbers.isOneIn(10) { setup.room = 400_000 }
        if numbers.isOneIn(2) { setup.idle = [60, 600][numbers.below(2)] }
        if numbers.isOneIn(3) { setup.absolute = [300, 3000][numbers.below(2)] }
        if numbers.isOneIn(2) { setup.tombstone = [0, 60][numbers.below(2)] }
        setup.dice = numbers.next()
        return setup
    }

    mutating func move(for walk: SessionWalk) -> Move {
        var verb = numbers.choose(verbs.map { ($0.0, isPossible($0.0, walk) ? $0.1 : 0) }) ?? .create
        if walk.ledger.accounts.isEmpty { verb = .create }
        var move = request(verb, walk)
        guard move.isRequest else { return move }
        if numbers.isOneIn(concurrent) {
            let (session, device, key) = (move.session, move.device, move.key)
            move.with = (0...numbers.below(2)).map { _ in
                // A client that has got no answer yet.
                if let key, verb == .event, numbers.isOneIn(3) {
                    var asking = Move([.repeated, .outcome, .withdraw][numbers.below(3)])
                    (asking.at, asking.session, asking.device, asking.key) = (0, session, device, key)
                    return asking
                }
                let possible = verbs.filter { Move($0.0).isRequest && isPossible($0.0, walk) }
                var other = request(numbers.choose(possible) ?? .event, walk)
                if numbers.isOneIn(2) { other.session = session }
                return other
            }
        }
        if move.with != nil || numbers.isOneIn(4) { move.order = numbers.next() }
        if numbers.isOneIn(troubled) {
            move.fates = (0...numbers.below(2)).map { _ in numbers.choose(Fate.allCases) ?? .done }
        }
        if numbers.isOneIn(cut) { move.cut = numbers.below(12) }
        return move
    }

    private func isPossible(_ verb: Move.Verb, _ walk: SessionWalk) -> Bool {
        switch verb {
        case .create, .fork: walk.living < sessions
        case .heal: walk.isFailing
        case .fail: !walk.isFailing
        case .unwatch: walk.hasWatches
        case .repeated: walk.hasRepeatable
        case .pair: walk.hasCodes
        case .compact, .backUp, .move: walk.setup.store == .sqlite
        case .goBack: walk.hasBackup
        default: true
        }
    }

    private mutating func request(_ verb: Move.Verb, _ walk: SessionWalk) -> Move {
        var move = Move(verb)
        move.at = numbers.below(8)
        switch verb {
        case .sweep, .compact, .backUp, .goBack, .move, .kill, .restart, .heal, .finish: move.at = nil
        case .update: move.at = numbers.below(Edition.allCases.count)
        case .advance: move.at = [10, 250, 300, 1000, 1500, 4000][numbers.below(6)]
        case .leap: move.at = 1000 * [20, 61, 400, 4000][numbers.below(4)]
        case .fail: break
        default:
            move.session = numbers.below(max(1, walk.ledger.accounts.count))
            if !numbers.isOneIn(16), let living = numbers.choose(walk.livingSessions) { move.session = living }
            if numbers.isOneIn(4) { move.device = numbers.below(8) }
        }
        switch verb {
        case .event, .create, .fork, .pair, .signal, .signalUser:
            if numbers.isOneIn(keyed) || verb == .signal || verb == .signalUser {
                move.key = numbers.isOneIn(odd) ? numbers.below(8) : walk.keyCount + numbers.below(2)
            }
        case .withdraw, .outcome: move.key = max(0, walk.keyCount - numbers.below(4))
        default: break
        }
        switch verb {
        case .event, .preview, .signal, .signalUser:
            move.step = step(walk, move.session ?? 0)
        case .create: move.to = numbers.below(3)
        case .pair: move.to = numbers.below(6)
        case .openPairing: move.to = numbers.isOneIn(2) ? numbers.below(4) : nil
        case .repeated:
            move.to = numbers.isOneIn(4) ? 1 : nil
            move.at = numbers.below(6)
        case .past, .fork, .history: move.to = numbers.below(6)
        default: break
        }
        switch verb {
        case .event, .preview, .revoke, .end:
            if numbers.isOneIn(conditional) { move.condition = numbers.isOneIn(3) ? 1 : 0 }
        default: break
        }
        return move
    }

    private mutating func step(_ walk: SessionWalk, _ session: Int) -> Step {
        guard let state = walk.navigation(ofSession: session) else { return Step(.go) }
        var step = steps.step(for: state, Plain(state))
        for _ in 0..<8 where !step.verb.isEvent { step = steps.step(for: state, Plain(state)) }
        if !step.verb.isEvent { step = Step(.go) }
        return numbers.isOneIn(hanging) ? step.hanging : step
    }
}

extension Move {
    /// Whether it asks the host for something, so that it can be sent beside others.
    var isRequest: Bool {
        switch verb {
        case .sweep, .compact, .backUp, .goBack, .move, .kill, .restart, .update, .fail, .heal, .advance, .leap,
            .finish,
            .unwatch:
            false
        default: true
        }
    }
}

extension Step.Verb {
    /// Whether a client posts it.
    var isEvent: Bool {
        switch self {
        case .signal, .pair, .advance, .effect, .read, .fork, .restart: false
        default: true
        }
    }
}
