import Coordinators
import CoordinatorsTesting
import JSONCoding
import TestSupport
import Testing

/// Results without leaving, flows that move, tabs that come and go, screens that the user leaves.
@Suite struct MovingTests {
    // Deliveries.

    @Test func `a child hands its parent a value, and stays with its screens`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("step"))

        try await app.b(.deliver("an address"), .push("next"))

        #expect(app.stack == "a, b, step, next")
        #expect(app.told(ACoordinator.self) == ["b delivered an address"])
        #expect(app.transition.finished == [])
        try await app.b(.deliverNumber(7), .finish)
        #expect(
            app.told(ACoordinator.self) == ["b delivered an address", "b delivered 7", "b finished"])
    }

    @Test func `what the parent does with a value comes before the child's next request`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        try await app.b(.deliver("push"), .push("last"))

        #expect(app.stack == "a, b, after 0, last")
    }

    @Test func `a value that cannot be delivered is refused with the reason`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        await app.expectRefusal(
            .impossibleRequest(coordinator: "a", request: "deliver(String)", reason: "the root has no parent")
        ) { try await $0.a(.deliver("x")) }
        try await app.a(.present("b", .sheet))

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "b", request: "deliver(Int)", reason: "it was removed by an earlier request")
        ) { try await $0.b(.dismiss, .deliverNumber(1)) }
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "b", request: "deliver(String)", reason: "it has already asked to finish")
        ) { try await $0.b(.finish, .deliver("x")) }
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "b", request: "endChildren(asking: false)", reason: "it has already asked to finish")
        ) { try await $0.b(.finish, .endChildrenWithoutAsking) }
    }

    @Test func `a parent that does not declare childDidDeliver is named`() async throws {
        let deaf = App("deaf", root: { DeafParentCoordinator() }, coordinators: [BCoordinator.self])
        var app = try await CoordinatorTester(deaf)

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "b", request: "deliver(String)",
                reason: "its parent “deafParent” does not declare childDidDeliver(_:from:_:) for any Sendable")
        ) { try await $0.b(.deliver("x")) }
    }

    @Test func `a flow that is tested alone shows what it has delivered`() async throws {
        var flow = try await CoordinatorTester(flow: BCoordinator(), of: FlowApp.app)

        try await flow.b(.deliver("one"), .deliverNumber(2), .deliver("three"))

        #expect(flow.delivered(String.self) == ["one", "three"])
        #expect(flow.delivered(Int.self) == [2])
        #expect(flow.stack == "test, b")
    }

    // Leaving.

    @Test func `children are ended without asking, if the parent wants that`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.protect("b"))
        try await app.a(.endChildren)
        #expect(app.alert?.title == "Leave b?")
        try await app.answer("cancel")

        try await app.a(.endChildrenWithoutAsking)

        #expect(app.stack == "a")
        #expect(app.alert == nil)
        #expect(app.transition.dismissed == ["b"])
        #expect(app.told(ACoordinator.self) == [])
    }

    @Test func `a screen is popped to, or pushed if it is not there`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"))

        try await app.a(.popToOrPush("cart"))
        #expect(app.stack == "a, x, cart")
        try await app.a(.push("y"), .push("z"))
        try await app.a(.popToOrPush("cart"))

        #expect(app.stack == "a, x, cart")
        try await app.a(.popToOrPush("cart"))
        #expect(app.transition.operations == [])
    }

    @Test func `a coordinator can read its stack`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .start("b"), .noteStack)
        // As it was before the event.
        #expect(app.told(ACoordinator.self) == ["k1 a*"])
        try await app.b(.push("y"), .present("c", .sheet))

        try await app.b(.noteStack)
        try await app.c(.pushTabs(["x", "y"], selected: "y", back: .nothing), .noteStack)
        try await app.c(.noteStack)

        #expect(app.told(BCoordinator.self) == ["k1 a", "k2 x", "k3 b*", "k4 y*"])
        #expect(app.told(CCoordinator.self) == ["k6 c*", "k9 y*"])
    }

    @Test func `a coordinator is called when the user leaves some of its screens`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("y"), .push("z"), .start("b"))
        try await app.b(.push("t"))

        try await app.back()
        #expect(app.left(BCoordinator.self) == ["t"])
        try await app.back()
        #expect(app.left(ACoordinator.self) == [])
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
        try await app.a(.pop)
        #expect(app.left(ACoordinator.self) == [])
        try await app.backToRoot()

        #expect(app.left(ACoordinator.self) == ["y", "x"])
        try await app.a(.push("sticky"))
        try await app.back()
        #expect(app.stack == "a, sticky")
    }

    @Test func `screens in the tabs of a screen that the user leaves count too, the topmost first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: nil, back: .nothing))
        try await app.a(.push("in x"))

        try await app.selectTab("x")
        #expect(app.left(ACoordinator.self) == ["in x"])
        try await app.back()

        #expect(app.stack == "a")
        #expect(app.left(ACoordinator.self) == ["in x", "x", "tabs"])
    }

    // Moves.

    /// A player in a sheet, with a screen with tabs.
    private func player() async throws -> CoordinatorTester {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .nothing), .present("c", .sheet))
        try await app.c(.push("song"), .start("b"))
        try await app.b(.pushTabs(["p", "q"], selected: "q", back: .nothing))
        #expect(app.stack == "a, tabs[x*: x | y: y] + sheet[c, song, b, tabs[p: p | q*: q]]")
        return app
    }

    @Test func `a flow moves from a sheet into a tab, and the sheet goes`() async throws {
        var app = try await player()
        let before = app.state

        try await app.a(.move("c", toTab: "y"), .selectTab("y"))

        #expect(app.stack == "a, tabs[x: x | y*: y, c, song, b, tabs[p: p | q*: q]]")
        #expect(
            Set(app.state.screens.map(\.key)) == Set(before.screens.map(\.key)),
            "Screens keep their keys")
        #expect(app.coordinators == ["a", "c", "b"])
        #expect(app.transition.dismissed == [])
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        _ = try app.restored()
        // It goes on where it is now.
        try await app.back()
        try await app.c(.push("more"))
        #expect(app.stack == "a, tabs[x: x | y*: y, c, song, b, more]")
    }

    @Test func `a flow moves from a tab over everything, onto the stack, and changes its style`() async throws {
        var app = try await player()
        try await app.a(.move("c", toTab: "y"))
        var before = app.state

        try await app.a(.presentMoving("c", .sheet))
        #expect(app.stack == "a, tabs[x*: x | y: y] + sheet[c, song, b, tabs[p: p | q*: q]]")
        #expect(app.state.presented[0].isDismissable)
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        before = app.state
        try await app.a(.presentMoving("c", .fullScreen))
        #expect(app.stack == "a, tabs[x*: x | y: y] + fullScreen[c, song, b, tabs[p: p | q*: q]]")
        #expect(!app.state.presented[0].isDismissable)
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        before = app.state
        try await app.a(.moveToStack("c"))

        #expect(app.stack == "a, tabs[x*: x | y: y], c, song, b, tabs[p: p | q*: q]")
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        _ = try app.restored()
        try await app.a(.moveToStack("c"))
        #expect(app.transition.operations == [])
    }

    @Test func `of several moves in one transition clients see the last`() async throws {
        var app = try await player()
        try await app.a(.moveToStack("c"))

        try await app.a(.move("c", toTab: "y"), .moveToStack("c"), .push("top"))

        #expect(app.stack == "a, tabs[x*: x, c, song, b, tabs[p: p | q*: q] | y: y], top")
        let pushed = app.transition.operations.filter { if case .push = $0 { true } else { false } }
        #expect(pushed.count == 7)
    }

    @Test func `a flow that cannot be moved is refused with the reason`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        let refusal = { (request: String, reason: String) in
            NavigationError.impossibleRequest(coordinator: "a", request: request, reason: reason)
        }
        try await app.a(.pushTabs(["x", "b"], selected: nil, back: .nothing))
        await app.expectRefusal(refusal("moveToStack(c)", "it has no such child")) {
            try await $0.a(.moveToStack("c"))
        }
        await app.expectRefusal(
            refusal("present(moving: b)", "the stack that the flow is on would have no screen left")
        ) { try await $0.a(.presentMoving("b", .sheet)) }
        try await app.a(.present("c", .sheet))
        await app.expectRefusal(refusal("move(c, toTab: z)", "it has no such tab")) {
            try await $0.a(.move("c", toTab: "z"))
        }
        try await app.c(.present("b", .sheet))
        await app.expectRefusal(
            refusal("move(c, toTab: x)", "the flow has presented “b”, which must be dismissed first")
        ) { try await $0.a(.move("c", toTab: "x")) }
        try await app.b(.dismiss)
        try await app.a(.present("b", .sheet))
        await app.expectRefusal(
            refusal("moveToStack(c)", "“b” is presented over the flow, and must be dismissed first")
        ) { try await $0.a(.moveToStack("c")) }
    }

    @Test func `a moved flow obeys the limit of its new stack`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("c", .sheet))
        for _ in 0..<2 { try await app.c(.push("x")) }
        for _ in 0..<61 { try await app.a(.push("y")) }

        await app.expectRefusal(.stackLimit(coordinator: "a")) { try await $0.a(.moveToStack("c")) }
    }

    // Tabs.

    @Test func `tabs come and go, and those that stay keep their stacks`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b", "y"], selected: "b", back: .history))
        try await app.b(.push("deep"))
        let before = app.state

        try await app.a(.setTabs(["z", "b", "c"]))

        #expect(app.stack == "a, tabs[z: z | b*: b, deep | c: c]")
        #expect(app.coordinators == ["a", "b", "c"])
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        _ = try app.restored()
        try await app.a(.setTabs(["c", "z"]))
        #expect(app.stack == "a, tabs[c: c | z*: z]")
        #expect(app.transition.dismissed == ["b"])
        #expect(app.told(ACoordinator.self) == [])
        try await app.a(.setTabs(["c", "z"]))
        #expect(app.transition.operations == [])
        try await app.a(.setTabs(["y"]))
        #expect(app.stack == "a, tabs[y*: y]")
    }

    @Test func `back leads through the tabs that are left`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y", "z", "w"], selected: nil, back: .history))
        for tab in ["y", "z", "w"] { try await app.selectTab(tab) }

        try await app.a(.setTabs(["w", "v", "x", "z"]))
        #expect(app.stack == "a, tabs[w*: w | v: v | x: x | z: z]")
        try await app.backAsForetold()
        #expect(app.tabs == ["w", "v", "x", "z*"])
        try await app.backAsForetold()

        #expect(app.tabs == ["w", "v", "x*", "z"])
    }

    @Test func `a tab that was selected only because another went is no visit`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("under"), .pushTabs(["x", "y", "z"], selected: "y", back: .history))

        try await app.a(.setTabs(["x", "z"]), .selectTab("x"))

        #expect(app.tabs == ["x*", "z"])
        try await app.backAsForetold()
        #expect(app.stack == "a, under")
    }

    @Test func `flows in tabs that go are asked first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: nil, back: .nothing), .selectTab("b"))
        try await app.b(.protect("b"))

        try await app.a(.setTabs(["x"]))
        #expect(app.alert?.title == "Leave b?")
        #expect(app.tabs == ["x", "b*"])
        try await app.answer("cancel")
        try await app.a(.endChildrenWithoutAsking, .setTabs(["b", "x"]))

        #expect(app.alert == nil)
        #expect(app.stack == "a, tabs[b*: b | x: x]")
        #expect(app.left(BCoordinator.self) == [])
    }

    @Test func `tabs that cannot be are refused with the reason`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        let refusal = { (reason: String) in
            NavigationError.impossibleRequest(coordinator: "a", request: "setTabs()", reason: reason)
        }
        await app.expectRefusal(refusal("it has no screen with tabs")) { try await $0.a(.setTabs(["x"])) }
        try await app.a(.pushTabs(["x"], selected: nil, back: .nothing))
        await app.expectRefusal(refusal("there is no tab")) { try await $0.a(.setTabs([])) }
        await app.expectRefusal(refusal("two tabs are named “y”")) { try await $0.a(.setTabs(["y", "x", "y"])) }
    }

    @Test func `a flow whose tab was removed goes with the sheet that it has presented`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: "b", back: .nothing))
        try await app.b(.present("c", .sheet))

        try await app.a(.popToRoot)

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
        _ = try app.restored()
    }

    // Any order.

    @Test(arguments: [[Ask.alert(["ok"]), .deliver("end")], [.deliver("end"), .alert(["ok"])]])
    func `an alert outlives the flow whose tab goes`(asks: [Ask]) async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: "b", back: .nothing))

        try await app.send(BCoordinator.Event.b(asks))

        #expect(app.stack == "a, tabs[x*: x]")
        #expect(app.coordinators == ["a"])
        #expect(app.alert != nil)
        _ = try app.restored()
        try await app.answer("ok")
    }

    @Test func `tabs that are changed twice go only once they are empty`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y", "b"], selected: nil, back: .nothing))
        let before = app.state

        try await app.a(.setTabs(["y", "b"]), .setTabs(["b", "z"]), .setTabs(["z"]))

        #expect(app.stack == "a, tabs[z*: z]")
        #expect(PlainClient.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        let pops = app.transition.operations.prefix { if case .pop = $0 { true } else { false } }
        #expect(pops.count == 3)
    }

    @Test func `a screen that changes and goes only goes`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"))

        try await app.a(.rename("x", "changed"), .pop)

        #expect(app.transition.operations == [.pop(key: "k2")])
    }
}

/// Starts `b`, and expects nothing of it.
private struct DeafParentCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("deaf"))
        navigator.start(BCoordinator())
    }
}
