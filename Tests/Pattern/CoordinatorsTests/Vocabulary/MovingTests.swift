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
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
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
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        before = app.state
        try await app.a(.presentMoving("c", .fullScreen))
        #expect(app.stack == "a, tabs[x*: x | y: y] + fullScreen[c, song, b, tabs[p: p | q*: q]]")
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
        before = app.state
        try await app.a(.moveToStack("c"))

        #expect(app.stack == "a, tabs[x*: x | y: y], c, song, b, tabs[p: p | q*: q]")
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
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
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
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

    @Test func `no sequence of requests breaks a session, whatever is asked for`() async throws {
        let done = try await withThrowingTaskGroup(of: Set<String>.self) { walks in
            for seed in 0..<24 as Range<UInt64> { walks.addTask { try await walk(seed: seed) } }
            return try await walks.reduce(into: Set()) { $0.formUnion($1) }
        }

        // Otherwise the walks would prove little.
        var numbers = Numbers64(seed: 0)
        #expect(Set(Ask.choice(&numbers).map(\.kind)).subtracting(done) == [])
    }

    /// - Returns: the kinds of requests that were made.
    private func walk(seed: UInt64) async throws -> Set<String> {
        var numbers = Numbers64(seed: seed)
        var app = try await CoordinatorTester(FlowApp.app)
        let delta = DeltaCheck()
        var done: Set<String> = []
        for _ in 0..<400 {
            let before = app.state
            let step = app.randomStep(&numbers)
            guard try await app.takes(step) else { continue }
            try app.check(since: before, delta)
            done.formUnion(step.asks.map(\.kind))
            if app.state.screens.count > 60 { try await app.relaunch() }
        }
        return done
    }

    @Test func `tabs that are changed twice go only once they are empty`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y", "b"], selected: nil, back: .nothing))
        let before = app.state

        try await app.a(.setTabs(["y", "b"]), .setTabs(["b", "z"]), .setTabs(["z"]))

        #expect(app.stack == "a, tabs[z*: z]")
        #expect(ReplayCheck.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
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

extension CoordinatorTester.Failure {
    /// Whether an event was refused because of what the coordinators asked for, or because of a limit.
    fileprivate var isAuthorsFault: Bool {
        switch reason {
        case .impossibleRequest, .stackLimit, .depthLimit, .stateLimit, .runawayTransition: true
        case .invariantViolated(.emptyTab), .invariantViolated(.emptyFlow), .invariantViolated(.nothingVisible): true
        default: false
        }
    }
}

/// What a random walk does next: it asks things of a coordinator, or posts a built-in event.
private struct RandomStep {
    /// The name of the coordinator or of the event.
    let name: String
    var asks: [Ask] = []
    var payload: JSON?
}

extension CoordinatorTester {
    fileprivate mutating func take(_ step: RandomStep) async throws(Failure) {
        switch step.name {
        case "a": try await send(ACoordinator.Event.a(step.asks))
        case "b": try await send(BCoordinator.Event.b(step.asks))
        case "c": try await send(CCoordinator.Event.c(step.asks))
        default: try await send(step.name, step.payload)
        }
    }

    /// - Returns: whether the step was taken; `false` if it was refused because of what was asked for.
    fileprivate mutating func takes(_ step: RandomStep) async throws -> Bool {
        let before = state
        var refusal: Failure?
        do { try await take(step) } catch { refusal = error }
        guard let refusal else { return true }
        #expect(state == before)
        if !refusal.isAuthorsFault { throw refusal }
        return false
    }

    fileprivate func check(since before: NavigationState, _ delta: DeltaCheck) throws {
        let result = TransitionResult(state: state, transition: transition)
        try state.checkInvariants()
        try #require(ReplayCheck.fault(before, result) == nil)
        try #require(delta.fault(before, result) == nil)
        _ = try restored()
        var named = transition.finished + transition.dismissed
        for gone in before.coordinators where state[gone.id] == nil {
            let index = try #require(named.firstIndex(of: gone.name))
            named.remove(at: index)
        }
    }

    fileprivate func randomStep(_ numbers: inout Numbers64) -> RandomStep {
        if let alert, let button = alert.buttons.randomElement(using: &numbers) {
            return RandomStep(name: "answer", payload: ["button": .string(button.id)])
        }
        let user = events.filter { ["back", "backToRoot", "dismiss", "selectTab"].contains($0) }
        if Int.random(in: 0..<4, using: &numbers) == 0, let event = user.randomElement(using: &numbers) {
            guard event == "selectTab" else { return RandomStep(name: event) }
            let index = Int.random(in: 0..<max(1, tabs.count), using: &numbers)
            return RandomStep(name: event, payload: ["index": .integer(index)])
        }
        var asks: [Ask] = []
        for _ in 0..<Int.random(in: 1...4, using: &numbers) { asks.append(Ask.random(&numbers)) }
        let names = events.filter { ["a", "b", "c"].contains($0) }
        return RandomStep(name: names.randomElement(using: &numbers) ?? "a", asks: asks)
    }
}

extension Ask {
    fileprivate var kind: String { String("\(self)".prefix { $0 != "(" }) }

    fileprivate static func random(_ numbers: inout Numbers64) -> Ask {
        choice(&numbers).randomElement(using: &numbers) ?? .pop
    }

    /// One of each kind, and more of those that seldom succeed.
    fileprivate static func choice(_ numbers: inout Numbers64) -> [Ask] {
        let child = Bool.random(using: &numbers) ? "b" : "c"
        let name = ["x", "y", "z", "sticky"].randomElement(using: &numbers) ?? "x"
        let style = Bool.random(using: &numbers) ? PresentedFlow.Style.sheet : .fullScreen
        let ids = ["x", "y", "b", "c"].shuffled(using: &numbers).prefix(Int.random(in: 1...4, using: &numbers))
        let back = [TabBackRule.nothing, .firstTab, .history].randomElement(using: &numbers) ?? .nothing
        return [
            .push(name), .pushOnce(name, value: 1),
            .pushTabs(Array(ids), selected: ids.randomElement(using: &numbers), back: back), .pop,
            .popToOrPush(name), .popToRoot, .replace(name), .setStack([name, "y"]), .selectTab(ids[0]),
            .setTabs(Array(ids)), .setTabs(Array(ids)), .start(child), .start(child), .present(child, style),
            .dismiss, .dismissPresented, .finish, .endChildren, .endChildrenWithoutAsking, .deliver("x"),
            .deliver("push"), .move(child, toTab: ids[0]), .move(child, toTab: ids[0]), .moveToStack(child),
            .moveToStack(child), .presentMoving(child, style), .presentMoving(child, style), .alert(["cancel"]),
            .protect(name), .rename(name, "renamed"), .noteStack, .pushForbidden(name), .popTo(name), .tell,
            .tellChildren, .badge("1", tab: ids[0]), .pushContent, .invalidateContent, .dismissAlerts, .keep(name),
        ]
    }
}

/// The same numbers from the same seed: a linear congruential generator of Knuth's.
private struct Numbers64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &+ 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 33)
    }
}
