internal import Coordinators

/// An app with work in the background, timers, and signals of other systems.
struct Booking: Coordinator {
    static var app: App { App("booking", root: { Booking() }) }

    private var log: [String] = []

    enum Event: NavigationEvent, CaseIterable { case hold, release, ask, remind }

    enum Signal: NavigationSignal {
        case answered, reminded, nobodyThere
        case paid(reference: String)
        case cancelled
        static let external: [Signal] = [.paid(reference: "r-1"), .cancelled]
    }

    /// `holdSeat` does not end by itself, `askDesk` soon.
    enum Effect: NavigationEffect { case holdSeat, askDesk }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("booking")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .hold: navigator.perform(Effect.holdSeat)
        case .release: navigator.cancel("holdSeat")
        case .ask: navigator.perform(Effect.askDesk, id: "desk")
        case .remind:
            navigator.schedule(Signal.reminded, after: .seconds(90))
            navigator.scheduleWhenIdle(Signal.nobodyThere, after: .seconds(3600), id: "idle")
        }
    }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        try await Task.sleep(for: effect == .holdSeat ? .seconds(3600) : .seconds(1))
        return .answered
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
        switch signal {
        case .answered: log.append("answered")
        case .reminded: log.append("reminded")
        case .nobodyThere: log.append("nobody there")
        case .paid(let reference): log.append("paid \(reference)")
        case .cancelled: log.append("cancelled")
        }
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params["log"] = .array(log.map(JSON.string))
    }
}
