import Coordinators
import CoordinatorsTesting
import Testing

@Suite struct FlowTests {
    @Test func `a presented flow has its own stack, which back pops before it dismisses the flow`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .present("b", .sheet))
        try await app.b(.push("y"))
        #expect(app.stack == "a, x + sheet[b, y]")
        #expect(app.presented == ["sheet[b, y]"])
        #expect(app.backPlan == .pop(key: "k5", revealed: "k4"))

        try await app.backAsForetold()
        #expect(app.backPlan == .dismiss(key: "p3", revealed: "k2"))
        try await app.backAsForetold()

        #expect(app.stack == "a, x")
        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
        #expect(app.transition.operations == [.dismiss(key: "p3")])
    }

    @Test func `flows can be presented over each other, and dismiss removes the top one`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.present("c", .fullScreen))
        try await app.c(.present("b", .sheet))
        #expect(app.stack == "a + sheet[b] + fullScreen[c] + sheet[b]")

        try await app.dismiss()

        #expect(app.stack == "a + sheet[b] + fullScreen[c]")
        #expect(app.told(CCoordinator.self) == ["b dismissed"])
    }

    @Test func `dismissing a flow in the middle removes all above it, and notifies only its parent`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.present("c", .sheet))
        try await app.c(.present("b", .sheet))

        try await app.send("dismiss", ["key": .string(app.state.presented[1].key)])

        #expect(app.stack == "a + sheet[b]")
        #expect(app.coordinators == ["a", "b"])
        #expect(app.told(BCoordinator.self) == ["c dismissed"])
        #expect(app.told(ACoordinator.self) == [])
    }

    @Test func `a coordinator may dismiss its own flow, or everything presented over its stack`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.start("c"))
        try await app.c(.dismiss)
        #expect(app.stack == "a")
        #expect(app.told(ACoordinator.self) == ["b dismissed"])

        try await app.a(.present("b", .sheet))
        try await app.b(.present("c", .sheet))
        try await app.a(.dismissPresented)

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
    }

    @Test func `dismissPresented without anything presented does nothing`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)

        try await app.a(.dismissPresented)

        #expect(app.transition.operations == [])
    }

    @Test func `a coordinator knows whether any coordinator has presented something over its stack`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.noteWhetherPresenting, .present("b", .sheet), .noteWhetherPresenting)
        try await app.a(.noteWhetherPresenting)
        try await app.b(.noteWhetherPresenting, .pushTabs(["x", "c"], selected: "c", back: .nothing))
        try await app.c(.present("c", .sheet))

        try await app.b(.noteWhetherPresenting)

        #expect(app.told(ACoordinator.self) == ["not presenting", "not presenting", "presenting"])
        #expect(app.told(BCoordinator.self) == ["not presenting", "presenting"])
        try await app.back()
        try await app.b(.noteWhetherPresenting)
        #expect(app.told(BCoordinator.self).last == "not presenting")
    }

    @Test func `a presented flow that finishes is dismissed, and handed to its parent`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .fullScreen))
        try await app.b(.present("c", .sheet))

        try await app.b(.finish)

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == ["b finished"])
        #expect(app.transition.finished == ["b"])
        #expect(app.transition.dismissed == ["c"])
        #expect(app.transition.operations == [.dismiss(key: "p4"), .dismiss(key: "p2")])
    }

    @Test func `endChildren ends all flows, however deep, and notifies nobody`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.present("c", .sheet))
        try await app.c(.start("b"))

        try await app.a(.endChildren)

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == [])
    }

    @Test func `back leaves flows one by one, the last one first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.present("c", .sheet))
        try await app.c(.pushTabs(["x", "b"], selected: "b", back: .nothing))
        #expect(app.stack == "a, b + sheet[c, tabs[x: x | b*: b]]")

        for stack in ["a, b + sheet[c]", "a, b", "a"] {
            try await app.backAsForetold()
            #expect(app.stack == stack)
        }
        await app.expectRefusal(.nothingToGoBack) { try await $0.back() }
    }

    @Test func `tell reaches the nearest ancestor that implements the protocol`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("c"))
        try await app.c(.start("b"))
        try await app.b(.tell)
        #expect(app.told(CCoordinator.self) == ["touched"])
        #expect(app.told(ACoordinator.self) == [])

        try await app.c(.tell)

        #expect(app.told(ACoordinator.self) == ["touched"])
        #expect(app.visible == "touched")
    }

    @Test func `a message that no ancestor implements is heard by nobody, and its sender can know that`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.start("c"))

        try await app.c(.tellStranger, .push("x"))
        try await app.a(.tellStranger)

        #expect(app.stack == "a, b, c, x")
        #expect(app.told(CCoordinator.self) == ["delegate: true, stranger: false"])
        #expect(app.told(ACoordinator.self) == ["delegate: false, stranger: false"])
    }

    @Test func `an alert covers everything`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.push("x"), .alert(["yes", "cancel"]))
        #expect(app.alert?.title == "Alert")
        #expect(app.events == ["back", "answer"])
        try await app.backAsForetold()
        #expect(app.stack == "a + sheet[b, x]")
    }

    @Test func `an alert without a cancel button must be answered`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.alert(["yes"]))
        #expect(app.events == ["answer"])
        await app.expectRefusal(.eventNotAccepted) { try await $0.back() }

        try await app.answer("yes")

        #expect(app.alert == nil)
    }
}
