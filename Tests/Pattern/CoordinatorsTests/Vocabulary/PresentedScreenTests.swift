import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// A screen that is presented without a coordinator of its own.
@Suite struct PresentedScreenTests {
    @Test func `it belongs to the coordinator that has presented it, and back dismisses it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.presentScreen("text"))
        #expect(app.stack == "a, b + sheet[text]")
        #expect(app.coordinators == ["a", "b"])
        #expect(app.transition.operations == [.present(key: "p3", style: .sheet), .push(key: "k4", stack: "p3")])
        #expect(app.events.contains("dismiss"))

        try await app.b(.rename("text", "Text"), .noteWhetherPresenting)
        #expect(app.state.visible?.screen.title == "Text")
        #expect(try app.restored().presented.count == 1)
        try await app.backAsForetold()

        #expect(app.stack == "a, b")
        #expect(app.transition.operations == [.dismiss(key: "p3")])
        #expect(app.transition.dismissed == [])
        #expect(app.told(BCoordinator.self) == ["presenting"])
        #expect(app.told(ACoordinator.self) == [])
        #expect(app.left(BCoordinator.self) == ["text"])
    }

    @Test func `what is pushed and started while it is visible comes on top of it, and goes with it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.presentScreen("text"))
        try await app.a(.push("more"))
        try await app.a(.start("b"))
        #expect(app.stack == "a + sheet[text, more, b]")
        try await app.backAsForetold()
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
        try await app.a(.start("b"))
        try await app.b(.present("c", .sheet))
        #expect(app.stack == "a + sheet[text, more, b] + sheet[c]")
        #expect(try app.restored().coordinators.count == 3)

        try await app.send("dismiss", ["key": .string(app.state.presented[0].key)])

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == ["b dismissed", "b dismissed"])
        #expect(app.left(ACoordinator.self) == ["more", "text"])
    }

    @Test func `its coordinator dismisses it, and what is over it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.presentScreen("text"), .dismiss, .push("x"))
        #expect(app.stack == "a + sheet[b, x]")

        try await app.b(.presentScreen("text"), .present("c", .sheet), .dismissPresented, .dismiss)

        #expect(app.stack == "a")
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
    }

    @Test func `it goes with its coordinator, and others over it are dismissed`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.presentScreen("text"))
        try await app.a(.present("c", .sheet))
        #expect(app.stack == "a, b + sheet[text] + sheet[c]")

        try await app.send("dismiss", ["key": .string(app.state.presented[0].key)])

        #expect(app.stack == "a, b")
        #expect(app.told(ACoordinator.self) == ["c dismissed"])
        try await app.b(.presentScreen("text"))
        try await app.a(.present("c", .sheet), .endChildren)
        #expect(app.stack == "a")
        try await app.a(.start("b"))
        try await app.b(.presentScreen("text"), .finish)
        #expect(app.stack == "a")
        #expect(app.told(ACoordinator.self) == ["c dismissed", "b finished"])
    }

    @Test func `a coordinator whose only screen it was is dismissed with it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.presentScreen("text"))
        try await app.a(.popTo("a"))
        #expect(app.stack == "a + sheet[text]")
        #expect(app.coordinators == ["a", "b"])

        try await app.backAsForetold()

        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
    }

    @Test func `shouldLeave of its coordinator is asked`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.protect("text"), .presentScreen("text"))
        #expect(app.state.asks(beforeDismissing: 0))

        try await app.back()

        #expect(app.alert?.title == "Leave text?")
        #expect(app.stack == "a + sheet[text]")
        try await app.answer("leave")
        #expect(app.stack == "a")
    }

    @Test func `a flow that has presented one cannot be moved`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("x"), .presentScreen("text"))
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "a", request: "present(moving: b)",
                reason: "the flow has presented “text”, which must be dismissed first")
        ) { try await $0.a(.presentMoving("b", .sheet)) }

        try await app.b(.dismiss)
        try await app.a(.presentScreen("other"), .moveToStack("b"))

        #expect(app.stack == "a + sheet[other, b, x]")
        try await app.dismiss()
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
    }

    struct ReaderCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case read }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("main", events: [Event.read])) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            navigator.present(Screen("text"), as: .fullScreen)
            navigator.present(NoteCoordinator())
        }

        static func migrate(_ screen: Screen, from version: Int) -> Screen? { screen.name == "text" ? nil : screen }
    }

    struct NoteCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("note")) }
    }

    @Test func `a new version that drops the screen drops what is over it, too`() async throws {
        func app(version: Int) -> App {
            App("reader", version: version, root: { ReaderCoordinator() }, coordinators: [NoteCoordinator.self])
        }
        var session = try await CoordinatorTester(app(version: 1))
        try await session.send("read")
        #expect(session.stack == "main + fullScreen[text] + sheet[note]")
        let same = try await CoordinatorTester(app(version: 1), restoring: session.saved)
        #expect(same.stack == session.stack)

        let other = try await CoordinatorTester(app(version: 2), restoring: session.saved)

        #expect(other.stack == "main")
        #expect(other.coordinators == ["reader"])
    }
}
