import Coordinators
import CoordinatorsTesting
import Testing

@Suite struct StackTests {
    @Test func `push and pop`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("y"))
        #expect(app.screens == ["a", "x", "y"])

        try await app.a(.pop)

        #expect(app.screens == ["a", "x"])
        #expect(app.transition.operations == [.pop(key: "k3")])
    }

    @Test func `popTo stops at the topmost screen of that name`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("y"), .push("x"), .push("z"))

        try await app.a(.popTo("x"))

        #expect(app.screens == ["a", "x", "y", "x"])
        #expect(app.state.visible?.key == "k4")
    }

    @Test func `a key selects one of several screens with the same name`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("x"), .push("x"))

        try await app.a(.renameKey("k3", "second"), .rename("x", "topmost"))
        #expect(app.state.screens.map(\.screen.title) == [nil, nil, "second", "topmost"])
        try await app.a(.popToKey("k2"))

        #expect(app.state.screens.map(\.key) == ["k1", "k2"])
    }

    @Test func `backTo goes to a key or a name, and nowhere else`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("y"), .push("x"), .push("x"))

        try await app.backTo("x")
        #expect(app.state.visible?.key == "k4")
        try await app.send("backTo", ["key": "k2"])
        #expect(app.screens == ["a", "x"])

        await app.expectRefusal(
            .invalidEvent(.init(path: ["payload", "name"], reason: "names no screen to go back to"))
        ) { try await $0.backTo("x") }
    }

    @Test func `popToRoot leaves the first screen`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .start("b"))
        try await app.b(.push("y"))

        try await app.a(.popToRoot)

        #expect(app.screens == ["a"])
        #expect(app.coordinators == ["a"])
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
    }

    @Test func `replace puts a screen with a new key in the place of the top one`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"))

        try await app.a(.replace("y"))

        #expect(app.screens == ["a", "y"])
        #expect(app.transition.operations == [.replace(key: "k3", replaced: "k2")])
    }

    @Test func `setStack replaces the coordinator's screens and all above them`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("x"), .start("c"))

        try await app.b(.setStack(["y", "z"]))

        #expect(app.screens == ["a", "y", "z"])
        #expect(app.coordinators == ["a", "b"])
        #expect(app.told(BCoordinator.self) == ["c dismissed"])
    }

    @Test func `setStack in a tab stays in that tab`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: "y", back: .nothing), .push("z"))

        try await app.a(.setStack(["u", "v"]))

        #expect(app.stack == "a, tabs[x: x | y*: u, v]")
    }

    @Test func `setStack removes tabs together with their flows`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.pushTabs(["c"], selected: nil, back: .nothing))
        #expect(app.stack == "a, b, tabs[c*: c]")

        try await app.b(.setStack(["x"]))

        #expect(app.stack == "a, x")
        #expect(app.coordinators == ["a", "b"])
    }

    @Test func `update keeps key and place, and reports only a change`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("x"), .push("y"))

        try await app.a(.rename("x", "X"))
        #expect(app.transition.operations == [.update(key: "k2")])
        #expect(app.state.screens.map(\.screen.title) == [nil, "X", nil])

        try await app.a(.rename("x", "X"))
        #expect(app.transition.operations == [])
    }

    @Test func `update reaches screens in tabs that are not selected, and covered ones`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .nothing), .present("b", .sheet))

        try await app.a(.rename("y", "Y"))

        #expect(app.state.screens.first { $0.screen.name == "y" }?.screen.title == "Y")
    }

    @Test func `onlyIfNew pushes unless the same screen is on top`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)

        for value in [1, 1, 2, 2, 1] { try await app.a(.pushOnce("x", value: value)) }

        #expect(app.state.screens.map { $0.screen.params["value"] } == [nil, 1, 2, 1])
    }

    @Test func `what is not presented is not dismissed`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        try await app.b(.dismiss, .push("x"))

        #expect(app.stack == "a, b, x")
        #expect(app.transition.dismissed == [])
    }

    @Test func `an impossible request is reported with its coordinator and its name`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        let refused: [(Ask, String, String)] = [
            (.popTo("nowhere"), "popTo(nowhere)", "the stack has no such screen"),
            (.popToKey("k99"), "popTo(key:)", "the stack has no such screen"),
            (.rename("a", "A"), "update(a)", "it has no such screen"),
            (.selectTab("x"), "selectTab(x)", "it has no such tab"),
            (.setStack([]), "setStack()", "there is no screen"),
        ]
        for (ask, request, reason) in refused {
            await app.expectRefusal(.impossibleRequest(coordinator: "b", request: request, reason: reason)) {
                try await $0.b(ask)
            }
        }
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "a", request: "replace(with: x)", reason: "the screen on top of the stack is not its own")
        ) { try await $0.a(.replace("x")) }
    }

    @Test func `a coordinator pops what a descendant shows, and a descendant without a screen is dismissed`()
        async throws
    {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("x"), .start("c"))

        try await app.a(.pop)
        #expect(app.stack == "a, b, x")
        #expect(app.transition.dismissed == ["c"])
        try await app.a(.pop, .pop)

        #expect(app.stack == "a")
        #expect(app.transition.dismissed == ["b"])
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
        #expect(app.coordinators == ["a"])
    }

    @Test func `a screen of another flow on top of the stack is not popped`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))

        // `a` pushes a screen when it receives the message.
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "b", request: "pop()", reason: "the screen on top of its stack belongs to another flow")
        ) { try await $0.b(.tell, .pop) }
    }

    @Test func `a pop at the root of a stack changes nothing`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        let before = app.state

        try await app.a(.pop)

        #expect(app.state == before)
        #expect(app.transition.operations == [])
        try await app.a(.present("b", .sheet))
        let presented = app.state
        try await app.b(.pop)
        #expect(app.state == presented)
    }

    @Test func `the root cannot finish`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)

        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "a", request: "finish()", reason: "the root lives as long as the session")
        ) { try await $0.a(.finish) }
    }

    @Test func `a stack holds 64 screens and not one more`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        for _ in 1..<64 { try await app.a(.push("x")) }
        #expect(app.screens.count == 64)

        await app.expectRefusal(.stackLimit(coordinator: "a")) { try await $0.a(.push("x")) }
    }

    @Test func `a handler that throws leaves everything as it was`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)

        await app.expectRefusal(.handlerFailed(coordinator: "a", call: "handle(a)", error: .init(type: "TestError"))) {
            try await $0.a(.keep("x"), .push("x"), .fail)
        }
        await app.expectRefusal(.overloaded(retryAfter: 7)) { try await $0.a(.push("x"), .overload) }
    }
}
