import Coordinators
@testable import CoordinatorsTesting
import JSONCoding
import Synchronization
import Testing

/// What authors test effects, timers and signals with.
@Suite(.simulatedTime) struct SignalTestingTests {
    // MARK: CoordinatorTester

    @Test func `effects that begin while others end stay pending`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.work("a")), .react([.perform(.work("b"))]))

        try await app.performEffects()

        #expect(app.log == ["done(\"a\")"])
        #expect(app.work == ["work: work"])
        try await app.performEffects()
        #expect(app.log == ["done(\"a\")", "done(\"b\")"])
    }

    @Test func `effects are performed together, and an outcome may end another effect`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.react([.cancel("b")]), .perform(.work("a"), id: "a"), .perform(.work("b"), id: "b"))

        try await app.performEffects()

        #expect(app.log == ["done(\"a\")"])
        #expect(app.work == [])
    }

    @Test func `a test chooses the order in which effects end, and their outcomes`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(
            .perform(.work("a"), id: "a"), .perform(.work("b"), id: "b"), .perform(.work("c"), id: "c"),
            .perform(.note, id: "d"))

        try await app.perform(effect: "b")
        try await app.finish(effect: "a", with: StationCoordinator.Signal.locked("secret"))
        #expect(app.transition.cause == .effect)
        try await app.finish(effect: "c")

        #expect(app.log == ["done(\"b\")", "locked(•••)"])
        #expect(app.work == ["d: note"])
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.fail(effect: "d") }
        #expect("\(failure as Any)".contains("EffectFailure"))
    }

    @Test func `an effect that is not under way and a signal of another coordinator are refused on the test's line`()
        async throws
    {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.note, id: "a"), .wait("t", seconds: 1, id: "t"))

        let line: UInt = #line + 1
        let unknown = await #expect(throws: CoordinatorTester.Failure.self) {
            try await app.perform(effect: "t")
        }
        #expect(unknown?.line == line)
        #expect("\(unknown as Any)".contains("no effect “t” is under way, but: a"))
        let foreign = await #expect(throws: CoordinatorTester.Failure.self) {
            try await app.finish(effect: "a", with: PorterCoordinator.Signal.call)
        }
        #expect("\(foreign as Any)".contains("Signal is not the Signal of “station”, whose effect “a” is"))
        #expect(app.pending.count == 2)
    }

    @Test func `if several coordinators have an effect of an id, it is that of the last one`() async throws {
        var session = try await CoordinatorTester(SignalApp.app)
        try await session.order(.perform(.work("parent"), id: "x"), .open([.perform(.work("child"), id: "x")]))

        try await session.perform(effect: "x")

        #expect(session.logs == [[], ["done(\"child\")"]])
    }

    @Test func `each timer fires at its time, also one that another has set`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(
            .wait("a", seconds: 0.1, id: "a"), .react([.wait("b", seconds: 0.2, id: "b"), .perform(.look)]))

        try await app.advance(by: .milliseconds(300))

        #expect(app.log == ["due(\"a\")", "due(\"b\")"])
        // The clock has moved on to the end, whatever a sum of seconds in binary is.
        for _ in 0..<50 {
            try await app.order(.wait("c", seconds: 0.3, id: "c"))
            try await app.advance(by: .milliseconds(300))
            #expect(app.log.last == "due(\"c\")")
        }
        #expect(app.now.milliseconds == 300 * 51)
        try await app.performEffects()
        #expect(app.log.last?.hasSuffix("at 15300\")") == true)
    }

    @Test func `a timer that sets itself again without delay is refused`() async throws {
        var app = try await CoordinatorTester(App("busy", root: { BusyCoordinator(delay: 0) }))

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.advance(by: .seconds(1)) }

        #expect("\(failure as Any)".contains("timer “again” is scheduled again and again without delay"))
        var slower = try await CoordinatorTester(App("busy", root: { BusyCoordinator(delay: 1) }))
        try await slower.advance(by: .seconds(5000))
        #expect((slower.state.coordinators[0].coordinator as? BusyCoordinator)?.count == 5000)
    }

    @Test func `a timer whose signal a coordinator throws for stays, and may fire again`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.wait("a", seconds: 1), .wait("b", seconds: 2, id: "b"), .react([.fail]))

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.advance(by: .seconds(5)) }

        #expect(failure?.event == "due")
        #expect(app.now.milliseconds == 1000)
        #expect(app.pending.count == 2)
    }

    @Test func `the end of a session performs the clean-ups, children first, and repeats one that throws`()
        async throws
    {
        let lockers = Lockers()
        var app = try await CoordinatorTester(lockers.app)
        try await app.send(LockerCoordinator.Event.next)
        try await app.send(LockerCoordinator.Event.next)
        lockers.fail(2)

        try await app.end(.expired)

        #expect(lockers.released == ["3 expired", "2 expired", "1 expired"])
        #expect(app.pending.isEmpty)
    }

    @Test func `a clean-up that always throws fails the test on its line, and the others are performed all the same`()
        async throws
    {
        let lockers = Lockers()
        var app = try await CoordinatorTester(lockers.app)
        try await app.send(LockerCoordinator.Event.next)
        lockers.fail(6)

        let line: UInt = #line + 1
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.end() }

        #expect(failure?.line == line)
        #expect("\(failure as Any)".contains("willBeRemoved of “locker” threw"))
        #expect(lockers.released == ["1 ended"])
    }

    @Test func `after a relaunch, clean-ups are among what is pending`() async throws {
        let lockers = Lockers()
        var app = try await CoordinatorTester(lockers.app)
        try await app.send(LockerCoordinator.Event.next)

        try await app.relaunch()
        #expect(app.pending.count == 2 && lockers.released == [])
        try await app.performEffects()

        #expect(app.pending.isEmpty && lockers.released == ["2 relaunched", "1 relaunched"])
    }

    // MARK: RandomWalk

    @Test func `walks reach every signal, also those of effects that fail`() async throws {
        let coverage = try await RandomWalk.cover(
            ParcelApp.app, seeds: 0..<3, count: 60, screens: ["failed", "delivered"], alerts: ["Late"])

        #expect(coverage.missed == [])
        #expect(coverage.description.hasPrefix("reached 12 of 12"))
    }

    @Test func `a signal that nothing sends is missed`() async throws {
        let app = App("parcel", root: { ParcelCoordinator() }, coordinators: [PorterCoordinator.self])

        let failure = await #expect(throws: RandomWalk.TooLittle.self) {
            try await RandomWalk.cover(app, seeds: 0..<2, count: 40)
        }

        #expect(
            failure?.coverage.missed == [
                "coordinator porter", "event porter.file", "signal porter.call", "signal porter.ping",
            ])
    }

    @Test func `a walk finds what goes wrong only after a failure and some time, and says how`() async throws {
        let app = App("parcel", root: { ParcelCoordinator(isForgetful: true) })

        let failure = await #expect(throws: RandomWalk.Failure.self) { try await RandomWalk(app, seed: 1).run() }

        #expect(failure?.steps.contains(.fail(effect: "pack")) == true)
        let lines = failure?.description.split(separator: "\n").map(String.init) ?? []
        try #require(lines.count > 3)
        #expect(lines[0].contains("“late” is listed, but was refused: impossibleRequest"))
        #expect(lines[2] == "try await app.send(\"order\")")
        #expect(lines.contains("try await app.fail(effect: \"pack\")"))
        #expect(lines.last?.hasPrefix("try await app.advance(by: .milliseconds(") == true)
        #expect(failure?.events == [PostedEvent("order")])
        // The steps lead to it in a test.
        var session = try await CoordinatorTester(app)
        await #expect(throws: CoordinatorTester.Failure.self) {
            for step in failure?.steps ?? [] { try await session.take(step) }
        }
    }

    @Test func `a failure that nobody handles ends the effect, and the walk goes on`() async throws {
        try await RandomWalk(SignalTestingTests.unhandled, seed: 1, count: 60).run()

        let error = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(App("refusing", root: { RefusingCoordinator() }), seed: 1, count: 60).run()
        }
        #expect(error?.reason == "effectDidFail(go) of “refusing” threw TestError, which is not expected")
    }

    @Test func `a timer without delay fails a walk`() async throws {
        let app = App("busy", root: { BusyCoordinator(delay: 0) })

        let failure = await #expect(throws: RandomWalk.Failure.self) { try await RandomWalk(app, seed: 1).run() }

        #expect(failure?.reason == "timer “again” is scheduled again and again without delay")
        #expect(failure?.steps.count == 1)
    }

    @Test func `each step is the tester's function that does the same`() {
        let steps: [RandomWalk.Step] = [
            .event(PostedEvent("a", payload: ["b": 1])), .signal(PostedEvent("paid")), .advance(.seconds(2)),
            .perform(effect: "x"), .fail(effect: "y"),
        ]
        let failure = RandomWalk.Failure(seed: 1, reason: "r", steps: steps)

        #expect(
            failure.description == """
                // Seed 1: r
                var app = try await CoordinatorTester(app)
                try await app.send("a", ["b": 1])
                try await app.send(signal: "paid")
                try await app.advance(by: .milliseconds(2000))
                try await app.perform(effect: "x")
                try await app.fail(effect: "y")
                """)
    }

    private static let unhandled = App("obliging", root: { ObligingCoordinator() })

    // MARK: Maps

    private func map(of app: App) async throws -> AppMap {
        let map = try await AppMap(exploring: app, limit: 500) { (run) async throws(NavigationError) in
            var run = run
            return try await run.result()
        }
        return try #require(map)
    }

    @Test func `signals are on the map as thick lines`() async throws {
        let map = try await map(of: ParcelApp.app)

        #expect(map.isComplete && map.failedEvents == [] && map.slowEvents == [])
        #expect(
            map.drawn(as: .mermaid) == """
                flowchart TD
                    app(["parcel"])
                    subgraph c1["parcel"]
                        n1["shop"]
                        n2["waiting"]
                        n3["delivered"]
                        n4{{"Late"}}
                        n5["packed"]
                        n6["failed"]
                    end
                    app --> n1
                    n1 -->|"order"| n2
                    n1 ==>|"delivered"| n3
                    n1 ==>|"late"| n4
                    n1 ==>|"packed"| n5
                    n1 ==>|"pack fails"| n6
                    n2 ==>|"delivered"| n3
                    n2 ==>|"late"| n4
                    n2 ==>|"packed"| n5
                    n2 ==>|"pack fails"| n6
                    n3 ==>|"delivered"| n3
                    n4 -->|"“OK”"| n1
                    n4 -->|"“OK”"| n2
                    n4 -->|"“OK”"| n3
                    n4 -->|"“OK”"| n5
                    n4 -->|"“OK”"| n6
                    n5 ==>|"delivered"| n3
                    n5 ==>|"late"| n4
                    n6 ==>|"delivered"| n3
                """)
    }

    @Test func `a map has signals in every format`() async throws {
        let map = try await map(of: ParcelApp.app)

        let dot = map.drawn(as: .dot)
        #expect(dot.contains(#"n1 -> n2 [label="order"];"#))
        #expect(dot.contains(#"[label="packed", style=bold];"#))
        let json = try JSON(parsing: Array(map.drawn(as: .json).utf8))
        let edges = json["edges"]?.array ?? []
        #expect(edges.contains { $0["signals"] == ["packed"] && $0["events"] == nil && $0["isBuiltIn"] == false })
        #expect(edges.contains { $0["events"] == ["order"] && $0["signals"] == nil })
    }

    @Test func `a failure that nobody handles leaves a map without warnings`() async throws {
        let map = try await map(of: SignalTestingTests.unhandled)

        #expect(map.failedEvents == [])
        let refusing = try await self.map(of: App("refusing", root: { RefusingCoordinator() }))
        #expect(refusing.failedEvents == ["refusing.perform(go) (TestError)"])
    }
}

extension CoordinatorTester {
    fileprivate mutating func take(_ step: RandomWalk.Step) async throws(Failure) {
        switch step {
        case .event(let event): try await send(event.type, event.payload)
        case .signal(let signal): try await send(signal: signal.type, signal.payload)
        case .pair: try await pair()
        case .use(let role): try use(role: role)
        case .advance(let duration): try await advance(by: duration)
        case .perform(let id): try await perform(effect: id)
        case .fail(let id): try await fail(effect: id)
        }
    }
}

/// Packs a parcel, unless that fails, waits for another system to deliver it, and says if that is late.
private struct ParcelCoordinator: Coordinator {
    /// Whether it forgets its timer if packing fails.
    var isForgetful = false
    private var hasFailed = false

    enum Event: NavigationEvent, CaseIterable { case order }

    enum Signal: NavigationSignal {
        case packed, late
        case delivered(to: String)
        static let external: [Signal] = [.delivered(to: "Ann")]
    }

    enum Effect: NavigationEffect { case pack }

    init(isForgetful: Bool = false) { self.isForgetful = isForgetful }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shop", events: [Event.order])) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        hasFailed = false
        navigator.push(Screen("waiting", events: [Event]()))
        navigator.perform(Effect.pack)
        navigator.schedule(Signal.late, after: .seconds(600))
    }

    func perform(_ effect: Effect, in context: EffectContext) -> Signal? { .packed }

    func receive(_ signal: Signal, _ navigator: inout Navigator) {
        switch signal {
        case .packed: navigator.setStack([Screen("shop", events: [Event.order]), Screen("packed", events: [Event]())])
        case .late where hasFailed: navigator.popTo("nowhere")
        case .late: navigator.alert(Alert("Late"))
        case .delivered:
            navigator.cancel("late")
            navigator.cancel("pack")
            navigator.setStack([Screen("shop", events: [Event.order]), Screen("delivered", events: [Event]())])
        }
    }

    mutating func effectDidFail(_ effect: Effect, _ error: any Error, _ navigator: inout Navigator) {
        hasFailed = true
        if !isForgetful { navigator.cancel("late") }
        navigator.setStack([Screen("shop", events: [Event.order]), Screen("failed", events: [Event]())])
    }
}

private enum ParcelApp {
    static let app = App("parcel", root: { ParcelCoordinator() })
}

/// Sets its timer again whenever it fires.
private struct BusyCoordinator: Coordinator {
    let delay: Int
    private(set) var count = 0

    enum Signal: NavigationSignal { case again }

    init(delay: Int) { self.delay = delay }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("busy"))
        navigator.schedule(Signal.again, after: .seconds(delay))
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
        count += 1
        navigator.schedule(signal, after: .seconds(delay))
    }
}

/// Notes which lockers were released; it fails as often as a test wants.
private final class Lockers: Sendable {
    private let state = Mutex((released: [String](), failures: 0))

    var released: [String] { state.withLock { $0.released } }
    func fail(_ count: Int) { state.withLock { $0.failures = count } }

    func release(_ what: String) throws {
        try state.withLock { state in
            state.failures -= 1
            if state.failures >= 0 { throw TestError() }
            state.released.append(what)
        }
    }

    var app: App {
        var dependencies = Dependencies()
        dependencies.register(Lockers.self) { _ in self }
        return App("lockers", root: { LockerCoordinator(number: 1) }, dependencies: dependencies)
    }
}

private struct LockerCoordinator: Coordinator {
    let number: Int
    enum Event: NavigationEvent, CaseIterable { case next }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("locker")) }
    func handle(_ event: Event, _ navigator: inout Navigator) {
        navigator.start(LockerCoordinator(number: number + 1))
    }

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws {
        try context.resolve(Lockers.self).release("\(number) \(reason.rawValue)")
    }
}

/// Has an effect whose failure it does not handle.
private struct ObligingCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case go }
    enum Effect: NavigationEffect { case go }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("obliging")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.perform(Effect.go) }
    func perform(_ effect: Effect, in context: EffectContext) -> NoSignal? { nil }
}

/// Has an effect that always fails.
private struct RefusingCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case go }
    enum Effect: NavigationEffect { case go }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("refusing")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.perform(Effect.go) }
    func perform(_ effect: Effect, in context: EffectContext) throws -> NoSignal? { throw TestError() }
    static func retries(_ effect: Effect) -> Int { 0 }
}
