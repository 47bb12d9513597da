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
