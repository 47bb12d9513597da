import Coordinators
import JSONCoding

/// What a `StationCoordinator` asks its navigator for.
indirect enum StationOrder: Codable, Sendable {
    case perform(StationCoordinator.Effect, id: String? = nil)
    case wait(String, seconds: Double, id: String? = nil)
    /// A time in seconds since 1970.
    case waitUntil(String, Double)
    case idle(String, seconds: Double)
    case cancel(String)
    case many(Int)
    case push(String), pop, alert(String), ask(String), finish, open([StationOrder] = []), cover, endChildren, porter
    case rotateToken, fail, fragile, foreignEffect, foreignSignal, oddSignal, secretSignal
    /// What to ask for when the next signal comes.
    case react([StationOrder])
    /// Objects to leaving its screens.
    case guardScreens
}

/// Does what it is told, and logs what reaches it.
struct StationCoordinator: Coordinator {
    static let everywhere = ["order"]
    var log: [String] = []
    var isGuarded = false
    private var reaction: [StationOrder]
    private let first: [StationOrder]

    enum Event: NavigationEvent {
        case order([StationOrder]), confirm
        static let examples: [Event] = [.order([]), .confirm]
    }

    enum Signal: NavigationSignal {
        case done(String), due(String), odd(Double), locked(Secret)
        case paid(reference: String, amount: Int), ping
        static let external: [Signal] = [.paid(reference: "r-1", amount: 1), .ping]
    }

    enum Effect: NavigationEffect, Equatable {
        /// Ends with a signal.
        case work(String)
        /// Ends without a signal.
        case note
        /// Throws in each attempt, and is repeated that often.
        case refuse(retries: Int)
        /// Throws in the first two attempts.
        case stumble
        case locked(Secret)
        case fragile(Fragile)
        /// Ends with what its context says.
        case look
    }

    /// Is encoded in a form that cannot be decoded.
    struct Fragile: Codable, Sendable, Equatable {
        init() {}
        init(from decoder: any Decoder) throws { throw TestError() }
        func encode(to encoder: any Encoder) throws { try "fragile".encode(to: encoder) }
    }

    init(_ first: [StationOrder] = []) {
        self.first = first
        reaction = []
    }

    mutating func start(_ navigator: inout Navigator) throws {
        navigator.push(Screen("station"))
        try ask(first, &navigator)
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .order(let orders): try ask(orders, &navigator)
        case .confirm: log.append("confirmed")
        }
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) throws {
        log.append("\(signal)")
        let orders = reaction
        reaction = []
        try ask(orders, &navigator)
    }

    func perform(_ effect: Effect, in context: EffectContext) throws -> Signal? {
        switch effect {
        case .work(let name): return .done(name)
        case .refuse: throw TestError()
        case .stumble where context.attempt < 3: throw TestError()
        case .stumble: return .done("attempt \(context.attempt)")
        case .look: return .done("\(context.effectID) of \(context.session.id) at \(context.now.milliseconds)")
        case .note, .locked, .fragile: return nil
        }
    }

    static func retries(_ effect: Effect) -> Int {
        if case .refuse(let retries) = effect { retries } else { 5 }
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        isGuarded ? Alert("Leave?", buttons: [.cancel, .leave("leave", title: "Leave")]) : nil
    }

    private mutating func ask(_ orders: [StationOrder], _ navigator: inout Navigator) throws {
        for order in orders {
            switch order {
            case .perform(let effect, let id): navigator.perform(effect, id: id)
            case .wait(let name, let seconds, let id):
                navigator.schedule(Signal.due(name), after: .seconds(seconds), id: id)
            case .waitUntil(let name, let time):
                navigator.schedule(Signal.due(name), at: Date(timeIntervalSince1970: time), id: name)
            case .idle(let name, let seconds):
                navigator.scheduleWhenIdle(Signal.due(name), after: .seconds(seconds), id: name)
            case .cancel(let id): navigator.cancel(id)
            case .many(let count):
                for number in 0..<count { navigator.perform(Effect.note, id: "\(number)") }
            case .push(let name): navigator.push(Screen(name))
            case .pop: navigator.pop()
            case .alert(let title): navigator.alert(Alert(title))
            case .ask(let title):
                navigator.alert(Alert(title, buttons: [AlertButton("yes", title: "Yes", sends: Event.confirm)]))
            case .finish: navigator.finish()
            case .open(let orders): navigator.start(StationCoordinator(orders))
            case .cover: navigator.present(StationCoordinator())
            case .porter: navigator.start(PorterCoordinator())
            case .endChildren: navigator.endChildren()
            case .rotateToken: navigator.rotateToken()
            case .fail: throw TestError()
            case .fragile: navigator.perform(Effect.fragile(Fragile()))
            case .foreignEffect: navigator.perform(PorterCoordinator.Effect.file)
            case .foreignSignal: navigator.schedule(PorterCoordinator.Signal.call, after: .seconds(1))
            case .oddSignal: navigator.schedule(Signal.odd(.infinity), after: .seconds(1))
            case .secretSignal: navigator.schedule(Signal.locked("canary"), after: .seconds(1))
            case .react(let orders): reaction = orders
            case .guardScreens: isGuarded = true
            }
        }
    }
}

/// Handles the failure of its effect.
struct PorterCoordinator: Coordinator {
    var log: [String] = []

    enum Event: NavigationEvent, CaseIterable { case file }

    enum Signal: NavigationSignal {
        case call, ping
        static let external: [Signal] = [.call, .ping]
    }

    enum Effect: NavigationEffect { case file }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("porter")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.perform(Effect.file) }
    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) { log.append("\(signal)") }
    func perform(_ effect: Effect, in context: EffectContext) throws -> Signal? { throw TestError() }

    mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
        log.append("\(effect) failed: \(type(of: error))")
    }
}

extension Date {
    /// Since `CoordinatorTester.someTime`.
    var milliseconds: Int { Int(((timeIntervalSince1970 - 1_800_000_000) * 1000).rounded()) }
}

enum SignalApp {
    static let app = make()

    static func make(
        version: Int = 1, sizeLimit: Int = 64 * 1024,
        onError: (@Sendable (any Error, NavigationContext) -> Alert?)? = nil
    ) -> App {
        App(
            "signals", version: version, root: { StationCoordinator() }, coordinators: [PorterCoordinator.self],
            sizeLimit: sizeLimit, onError: onError)
    }
}
