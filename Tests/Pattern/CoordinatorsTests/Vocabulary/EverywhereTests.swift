import Coordinators
import CoordinatorsTesting
import Testing

/// A coordinator's events on the screens of its descendants.
@Suite struct EverywhereTests {
    /// Offers `done` on a screen that comes later, and `help` everywhere.
    struct TripCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case begin, done, confirmed, help }
        static let everywhere: [Event] = [.help]
        private(set) var helped = 0

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("trip", events: [Event.begin]))
            navigator.start(SeatCoordinator())
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .begin: navigator.start(SeatCoordinator())
            case .done: navigator.popToRoot()
            case .confirmed: break
            case .help: helped += 1
            }
        }

        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            let yes = AlertButton("yes", title: "Yes", sends: Event.confirmed)
            navigator.push(Screen("boardingPass", events: [Event.done]))
            navigator.alert(Alert("Sure?", buttons: [yes]))
        }
    }

    struct SeatCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case choose }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("seat", events: [Event.choose])) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
    }

    static let app = App("trip", root: { TripCoordinator() }, coordinators: [SeatCoordinator.self])

    @Test func `what is accepted does not depend on which screens there happen to be`() async throws {
        var app = try await CoordinatorTester(EverywhereTests.app)
        #expect(app.visible == "seat")
        #expect(app.state.acceptedEvents.prefix(2) == ["choose", "help"])
        for event in ["begin", "done", "confirmed"] {
            await app.expectRefusal(.eventNotAccepted) { try await $0.send(event) }
        }

        try await app.send("choose")
        try await app.answer("yes")
        #expect(app.visible == "boardingPass")
        #expect(app.state.acceptedEvents.prefix(2) == ["done", "help"])
        try await app.send("done")
        #expect(app.visible == "trip")
        #expect(app.state.acceptedEvents.prefix(2) == ["begin", "help"])
        try await app.send("help")
        try await app.send("begin")
        #expect(app.state.acceptedEvents.prefix(2) == ["choose", "help"])
        try await app.send("help")

        #expect((app.state.coordinators[0].coordinator as? TripCoordinator)?.helped == 2)
    }
}

/// What no rule forbids, and an author hardly wants.
@Suite(.simulatedTime) struct FindingTests {
    /// Presents a flow that nothing ends, and pushes under it.
    struct TrapCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case fall, peek }
        static let everywhere: [Event] = [.peek]
        var offersEnd = false

        func start(_ navigator: inout Navigator) { navigator.push(Screen("ground")) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .fall: navigator.present(PitCoordinator(isOpen: offersEnd), isDismissable: false)
            case .peek: navigator.push(Screen("peek"), onlyIfNew: true)
            }
        }
    }

    struct PitCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case wait, climb }
        let isOpen: Bool

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("pit", events: isOpen ? [Event.wait, .climb] : [Event.wait]))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            if event == .climb { navigator.finish() }
        }
    }

    static func app(offersEnd: Bool) -> App {
        App("trap", root: { TrapCoordinator(offersEnd: offersEnd) }, coordinators: [PitCoordinator.self])
    }

    static let endless =
        "nothing that was tried ends the flow “pit”: it neither finishes, nor does the user get back from it."
    static let hidden = "“trap” shows screen “peek” under the flow “pit”, where the user does not see it."

    @Test func `random walks name a flow that nothing ends, and a screen that nobody sees`() async throws {
        let trap = try await RandomWalk.cover(FindingTests.app(offersEnd: false), seeds: 0..<5, atLeast: 0.5)
        let open = try await RandomWalk.cover(FindingTests.app(offersEnd: true), seeds: 0..<5, atLeast: 0.5)

        #expect(trap.warnings == [FindingTests.hidden, FindingTests.endless])
        #expect(open.warnings == [FindingTests.hidden])
        #expect(trap.description.hasSuffix(FindingTests.endless))
    }

    /// Does in one function what the event says.
    private struct DozingCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case block, blockAfterWait, blockAndFail, wait, hurry }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("bed")) }

        func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            let time = SimulatedTime.current
            switch event {
            case .block: time.pass(.milliseconds(1100))
            case .blockAfterWait:
                await time.passSuspended(.milliseconds(1))
                time.pass(.milliseconds(1100))
            case .blockAndFail:
                time.pass(.milliseconds(1100))
                throw TestError()
            case .wait:
                time.pass(.milliseconds(600))
                await time.passSuspended(.milliseconds(1100))
                time.pass(.milliseconds(600))
            case .hurry: navigator.push(Screen("door"))
            }
        }
    }

    @Test(arguments: ["block", "blockAfterWait", "blockAndFail"])
    func `a tester names a function that blocks its thread`(event: String) async throws {
        var app = try await CoordinatorTester(App("dozing", root: { DozingCoordinator() }))

        try? await app.send(event)

        #expect(
            app.warnings == ["“dozing” blocks its thread in handle(\(event)) for more than a second, without await."])
    }

    @Test(arguments: ["wait", "hurry"])
    func `a tester does not mind a function that awaits`(event: String) async throws {
        var app = try await CoordinatorTester(App("dozing", root: { DozingCoordinator() }))

        try await app.send(event)

        #expect(app.warnings == [])
    }

    @Test func `a tester names a screen that nobody sees`() async throws {
        var app = try await CoordinatorTester(FindingTests.app(offersEnd: true))
        try await app.send("peek")
        #expect(app.warnings == [])
        try await app.back()
        try await app.send("fall")
        #expect(app.warnings == [])

        try await app.send("peek")

        #expect(app.stack == "ground, peek + sheet[pit]")
        #expect(app.warnings == [FindingTests.hidden])
    }

    @Test func `a flow without a screen is refused with the name of its coordinator`() async throws {
        let app = App("empty", root: { EmptyCoordinator() }, coordinators: [SilentFlowCoordinator.self])
        var session = try await CoordinatorTester(app)

        await session.expectRefusal(.invariantViolated(.emptyFlow(key: "p2", coordinator: "silentFlow"))) {
            try await $0.send("present")
        }
    }

    struct EmptyCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case present }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("empty")) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.present(SilentFlowCoordinator()) }
    }

    struct SilentFlowCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) {}
    }
}
