import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Which of several coordinators that have a signal receives it.
@Suite struct SignalRecipientTests {
    @Test(arguments: ["delivered", "lost"])
    func `a signal reaches the coordinator that it is for`(signal: String) async throws {
        for order in [1, 2, 3] {
            var app = try await CoordinatorTester(DepotApp.app)

            try await app.send(signal: signal, ["order": .integer(order)])

            let heard = app.state.coordinators.compactMap { $0.coordinator as? TrackerCoordinator }.map(\.heard)
            #expect(heard == [1, 2, 3].map { $0 == order ? [signal] : [] })
        }
    }

    @Test(arguments: ["delivered", "lost"])
    func `a signal that all refuse changes nothing, and says who refuses`(signal: String) async throws {
        var app = try await CoordinatorTester(DepotApp.app)
        let before = app.state

        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await app.send(signal: signal, ["order": 4])
        }

        #expect(failure?.reason == .signalRefused(by: ["tracker", "tracker", "tracker"]))
        #expect("\(failure as Any)".contains("refused by “tracker”"))
        #expect(app.state == before)
    }
}

private enum DepotApp {
    static let app = App("depot", root: { DepotCoordinator() }, coordinators: [TrackerCoordinator.self])
}

struct DepotCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("depot"))
        for order in 1...3 { navigator.start(TrackerCoordinator(order: order)) }
    }
}

/// Says of one signal beforehand whether it is its own, and refuses the other one when it has looked at it.
struct TrackerCoordinator: Coordinator {
    let order: Int
    var heard: [String] = []

    enum Signal: NavigationSignal {
        case delivered(order: Int), lost(order: Int)
        static let external: [Signal] = [.delivered(order: 1), .lost(order: 1)]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("tracker")) }

    func accepts(_ signal: Signal) -> Bool {
        guard case .delivered(let order) = signal else { return true }
        return order == self.order
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) throws {
        switch signal {
        case .delivered: heard.append("delivered")
        case .lost(let order):
            heard.append("lost")
            guard order == self.order else { throw SignalNotAccepted() }
        }
    }
}

/// The outcome of an effect that a session has no room for.
@Suite struct LargeOutcomeTests {
    private struct ReaderCoordinator: Coordinator {
        var text = ""
        var failures: [String] = []

        enum Event: NavigationEvent, CaseIterable { case read }
        enum Signal: NavigationSignal { case found(String) }
        enum Effect: NavigationEffect { case find }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("reader")) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.perform(Effect.find) }
        func perform(_ effect: Effect, in context: EffectContext) -> Signal? {
            .found(String(repeating: "x", count: 70_000))
        }

        mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
            if case .found(let text) = signal { self.text = text }
            navigator.push(Screen("found"))
        }

        mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
            failures.append("\(error)")
        }
    }

    @Test func `an outcome that makes the session too large is a failure of the effect`() async throws {
        var app = try await CoordinatorTester(App("reader", root: { ReaderCoordinator() }))
        try await app.send("read")

        try await app.performEffects()

        let reader = app.state.coordinators[0].coordinator as? ReaderCoordinator
        #expect(reader?.failures == ["OutcomeTooLarge()"])
        #expect(reader?.text == "")
        #expect(app.stack == "reader")
        #expect(app.pending.isEmpty)
    }
}
