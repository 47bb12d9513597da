import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct CoordinatorTesterTests {
    struct DoorCoordinator: Coordinator {
        static let links: [LinkPattern] = ["/greeting/{name}"]
        var heard = ""

        enum Event: NavigationEvent {
            case knock(word: Secret), whisper(Secret), leave
            static let examples: [Event] = [.knock(word: "sesame"), .whisper("sesame"), .leave]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("door")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .knock(let word), .whisper(let word): heard = String(word.value.reversed())
            case .leave: navigator.pop()
            }
        }

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
            navigator.push(Screen("greeting", params: link.params, link: link.pattern))
            return .taken
        }
    }

    static let app = App("door", root: { DoorCoordinator() })

    @Test(arguments: [DoorCoordinator.Event.knock(word: "open"), .whisper("open")])
    func `a secret reaches the handler unmasked`(event: DoorCoordinator.Event) async throws {
        var app = try await CoordinatorTester(CoordinatorTesterTests.app)

        try await app.send(event)

        #expect((app.state.coordinators[0].coordinator as? DoorCoordinator)?.heard == "nepo")
    }

    @Test func `a secret in a description of the app stays hidden`() {
        let events = CoordinatorTesterTests.app.coordinators[0].events

        #expect(events.map(\.payload) == [["word": "•••"], "•••", nil])
    }

    @Test func `a failure names the line of the test`() async throws {
        var app = try await CoordinatorTester(CoordinatorTesterTests.app)

        let line = #line + 1
        let error = await #expect(throws: CoordinatorTester.Failure.self) { try await app.back() }

        #expect(
            error?.description
                == "CoordinatorsTests/CoordinatorTesterTests.swift:\(line): “back” was refused: nothingToGoBack")
        #expect(error == CoordinatorTester.Failure(.nothingToGoBack, fileID: "elsewhere", line: 1))
        #expect(error != CoordinatorTester.Failure(.eventNotAccepted))
    }

    @Test func `a session may start with a link`() async throws {
        let app = try await CoordinatorTester(CoordinatorTesterTests.app, link: "/greeting/Ann")

        #expect(app.screens == ["door", "greeting"])
        #expect(app.state.visible?.screen.params == ["name": "Ann"])
        await #expect(
            throws: CoordinatorTester.Failure(.unknownLink(reason: "No link of the app begins like this one."))
        ) {
            try await CoordinatorTester(CoordinatorTesterTests.app, link: "/nowhere")
        }
    }

    @Test func `an event of another coordinator is refused`() async throws {
        var app = try await CoordinatorTester(CoordinatorTesterTests.app)

        await #expect(throws: CoordinatorTester.Failure(.unknownEvent)) {
            try await app.send(HomeCoordinator.Event.visit)
        }
    }
}

/// A flow with a result, alone.
@Suite struct FlowAloneTests {
    private struct PickerCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [Int.self]
        private(set) var picked: Int?

        enum Event: NavigationEvent, CaseIterable { case pick, more, give }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("picker")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
            switch event {
            case .pick:
                picked = try navigator.resolve(Int.self)
                navigator.finish()
            case .more: navigator.start(PickerCoordinator())
            case .give: navigator.dismiss()
            }
        }
    }

    private struct RootCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("root")) }
    }

    private static let app = App(
        "picker", root: { RootCoordinator() }, coordinators: [PickerCoordinator.self],
        dependencies: {
            var dependencies = Dependencies()
            dependencies.register(Int.self) { _ in 7 }
            return dependencies
        }())

    @Test func `a flow finishes with its result`() async throws {
        var flow = try await CoordinatorTester(flow: PickerCoordinator(), of: FlowAloneTests.app)
        #expect(flow.stack == "test, picker" && flow.result(of: PickerCoordinator.self) == nil)

        try await flow.send(PickerCoordinator.Event.pick)

        #expect(flow.result(of: PickerCoordinator.self)?.picked == 7 && flow.visible == "test")
        #expect(flow.transition.finished == ["picker"] && !flow.wasDismissed(PickerCoordinator.self))
    }

    @Test func `a flow is left, and dismissed where it was presented`() async throws {
        var flow = try await CoordinatorTester(flow: PickerCoordinator(), of: FlowAloneTests.app)
        try await flow.back()
        #expect(flow.wasDismissed(PickerCoordinator.self) && flow.result(of: PickerCoordinator.self) == nil)

        var sheet = try await CoordinatorTester(flow: PickerCoordinator(), of: FlowAloneTests.app, as: .sheet)
        #expect(sheet.stack == "test + sheet[picker]")
        try await sheet.send("give")
        #expect(sheet.wasDismissed(PickerCoordinator.self) && sheet.stack == "test")
    }
}
