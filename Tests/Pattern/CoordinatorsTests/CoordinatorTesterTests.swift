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

/// What handlers learn of the session and of the transition.
@Suite struct TesterSessionTests {
    /// Lends a book to one session only.
    private actor Shelf {
        private var owner: String?

        func take(for session: String) -> Bool {
            owner = owner ?? session
            return owner == session
        }
    }

    private struct LoanCoordinator: Coordinator {
        static let dependencies: [any Any.Type] = [Shelf.self]
        private(set) var hasBook: Bool?
        private(set) var tickets: [String] = []

        enum Event: NavigationEvent, CaseIterable { case borrow }

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("shelf", title: navigator.client.language))
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
            tickets.append(navigator.transitionID)
            guard !navigator.isDryRun else { return navigator.push(Screen("preview")) }
            hasBook = try await navigator.resolve(Shelf.self).take(for: navigator.session.id)
        }
    }

    private static func app() -> App {
        var dependencies = Dependencies()
        dependencies.register(Shelf.self) { _ in Shelf() }
        return App("loans", root: { LoanCoordinator() }, dependencies: dependencies)
    }

    private func loans(_ tester: CoordinatorTester) -> LoanCoordinator? {
        tester.state.coordinators[0].coordinator as? LoanCoordinator
    }

    @Test func `two sessions act at the same time, each under its own id`() async throws {
        let app = TesterSessionTests.app()
        let ann = try await CoordinatorTester(app, id: "s_ann0000000001")
        let bob = try await CoordinatorTester(app, id: "s_bob0000000001")

        async let anns = ann.after("borrow")
        async let bobs = bob.after(LoanCoordinator.Event.borrow)

        let outcomes = try await [loans(anns)?.hasBook, loans(bobs)?.hasBook]
        #expect(outcomes.compactMap(\.self).sorted { !$0 && $1 } == [false, true])
        #expect(loans(ann)?.hasBook == nil, "what was before stays")
    }

    @Test func `each transition has an id of its own`() async throws {
        var app = try await CoordinatorTester(TesterSessionTests.app())
        try await app.send("borrow")
        try await app.send("borrow")

        let tickets = try #require(loans(app)?.tickets)
        #expect(tickets.count == 2 && Set(tickets).count == 2 && !tickets.contains(""))
    }

    @Test func `a dry run shows what would be, and is known to handlers`() async throws {
        let app = try await CoordinatorTester(TesterSessionTests.app())

        let preview = try await app.preview(LoanCoordinator.Event.borrow)

        #expect(preview.visible == "preview" && app.visible == "shelf")
        #expect(loans(preview)?.hasBook == nil)
    }

    @Test func `random walks begin with what the client says`() async throws {
        let client = ClientInfo(locale: "de")
        try await RandomWalk(TesterSessionTests.app(), seed: 1, count: 5, client: client).run(andCheck: { _, result in
            result.state.client.locale == nil ? "the client is unknown" : nil
        })
    }
}

/// A door that opens only to one way among many.
@Suite struct ExploredCoverageTests {
    private struct MazeCoordinator: Coordinator {
        private(set) var depth = 0

        enum Event: NavigationEvent, CaseIterable { case right, wrong, restart }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("room0")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            depth = event == .right ? depth + 1 : 0
            navigator.setStack([Screen("room\(depth)")])
        }

        func isEnabled(_ event: Event, in context: NavigationContext) -> Bool { event != .right || depth < 9 }
    }

    @Test func `cover finds what random walks miss`() async throws {
        let coverage = try await RandomWalk.cover(
            App("maze", root: { MazeCoordinator() }), seeds: 0..<1, count: 20, screens: ["room9"])

        #expect(coverage.missed.isEmpty)
    }
}
