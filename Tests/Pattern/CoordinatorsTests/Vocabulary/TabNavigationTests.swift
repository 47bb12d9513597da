import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

@Suite struct TabNavigationTests {
    @Test func `tabs keep their stacks while another one is selected`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: nil, back: .nothing), .push("y"))

        try await app.selectTab("b")
        try await app.b(.push("z"))
        #expect(app.stack == "a, tabs[x: x, y | b*: b, z]")
        #expect(app.tabs == ["x", "b*"])
        try await app.selectTab("x")

        #expect(app.stack == "a, tabs[x*: x, y | b: b, z]")
        #expect(app.visible == "y")
    }

    @Test func `selecting the selected tab again pops it to its first screen`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .nothing), .push("u"), .push("v"))

        try await app.selectTab("x")
        #expect(app.stack == "a, tabs[x*: x | y: y]")
        #expect(app.transition.operations == [.pop(key: "k6", stack: "k2/x"), .pop(key: "k5", stack: "k2/x")])

        try await app.selectTab("x")
        #expect(app.transition.operations == [])
    }

    @Test func `the tab given as selected is shown first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)

        try await app.a(.pushTabs(["x", "b"], selected: "b", back: .nothing))

        #expect(app.tabs == ["x", "b*"])
        await app.expectRefusal(
            .impossibleRequest(
                coordinator: "a", request: "push(tabs, tabs:)", reason: "no tab has the id to be selected")
        ) { try await $0.a(.pushTabs(["x"], selected: "nowhere", back: .nothing)) }
    }

    @Test func `back at the first screen of a tab leaves the tabs by default`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .nothing))
        try await app.selectTab("y")

        try await app.backAsForetold()

        #expect(app.stack == "a")
    }

    @Test func `back at the first screen of a tab may select the first tab`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y", "z"], selected: nil, back: .firstTab))
        try await app.selectTab("y")
        try await app.selectTab("z")

        try await app.backAsForetold()
        #expect(app.tabs == ["x*", "y", "z"])
        try await app.backAsForetold()

        #expect(app.stack == "a")
    }

    @Test func `back at the first screen of a tab may go back through the tabs that were selected`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y", "z"], selected: nil, back: .history))
        for tab in ["y", "x", "z", "y"] { try await app.selectTab(tab) }
        try await app.a(.push("u"))

        var selected: [[String]] = []
        for _ in 0..<3 {
            try await app.backAsForetold()
            selected.append(app.tabs)
            _ = try app.restored()
        }

        #expect(selected == [["x", "y*", "z"], ["x", "y", "z*"], ["x*", "y", "z"]])
        try await app.backAsForetold()
        #expect(app.stack == "a")
    }

    @Test func `in nested tabs, back acts on the inner ones first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: "b", back: .firstTab))
        try await app.b(.pushTabs(["x", "y"], selected: "y", back: .firstTab), .push("z"))
        #expect(app.stack == "a, tabs[x: x | b*: b, tabs[x: x | y*: y, z]]")

        for stack in [
            "a, tabs[x: x | b*: b, tabs[x: x | y*: y]]", "a, tabs[x: x | b*: b, tabs[x*: x | y: y]]",
            "a, tabs[x: x | b*: b]", "a, tabs[x*: x | b: b]", "a",
        ] {
            try await app.backAsForetold()
            #expect(app.stack == stack)
        }
    }

    @Test func `a tab is chosen by name or position among the innermost tabs that have it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "b"], selected: "b", back: .nothing))
        try await app.b(.pushTabs(["x", "y"], selected: "y", back: .nothing))

        try await app.selectTab("x")
        #expect(app.stack == "a, tabs[x: x | b*: b, tabs[x*: x | y: y]]")
        try await app.send("selectTab", ["index": 1])
        #expect(app.stack == "a, tabs[x: x | b*: b, tabs[x: x | y*: y]]")

        await app.expectRefusal(.invalidEvent(.init(path: ["payload", "tab"], reason: "names no tab"))) {
            try await $0.selectTab("nowhere")
        }
    }

    @Test func `backToRoot pops the innermost stack that has something to pop`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.push("u"), .pushTabs(["x", "y"], selected: nil, back: .nothing), .push("v"), .push("w"))

        try await app.backToRoot()
        #expect(app.stack == "a, u, tabs[x*: x | y: y]")
        try await app.backToRoot()

        #expect(app.stack == "a")
    }

    @Test func `a presented flow hides the tabs below it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .firstTab), .present("b", .sheet))

        #expect(!app.events.contains("selectTab"))
        #expect(app.tabs == [])
        await app.expectRefusal(.eventNotAccepted) { try await $0.selectTab("y") }
    }

    @Test func `no event goes back from a screen that forbids it`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.push("x"), .pushForbidden("receipt"))

        #expect(app.events == ["b", "a", "relaunch", "describeClient"])
        #expect(app.backPlan == nil)
        for event in ["back", "backTo", "backToRoot"] {
            await app.expectRefusal(.nothingToGoBack) { try await $0.send(event) }
        }
        await app.expectRefusal(.eventNotAccepted) { try await $0.dismiss() }
        _ = try app.restored()
        try await app.b(.finish)
        #expect(app.stack == "a")
    }

    @Test func `a screen that forbids going back stays when its tab is selected again`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["x", "y"], selected: nil, back: .history), .pushForbidden("receipt"))

        try await app.selectTab("x")
        #expect(app.stack == "a, tabs[x*: x, receipt | y: y]")

        try await app.selectTab("y")
        #expect(app.visible == "y")
    }
}

/// Tabs in tabs, each started by a coordinator that shows a notice when its child is dismissed.
struct NestCoordinator: Coordinator {
    var depth = 0

    func start(_ navigator: inout Navigator) {
        navigator.push(depth == 0 ? Screen("nest") : Screen("tabs"), tabs: [Tab("x", starting: EggCoordinator(depth))])
    }

    func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) { navigator.push(Screen("notice")) }
}

struct EggCoordinator: Coordinator {
    var depth: Int

    init(_ depth: Int) { self.depth = depth }

    enum Event: NavigationEvent, CaseIterable { case hatch }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("egg")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.start(NestCoordinator(depth: depth + 1)) }
    func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) { navigator.push(Screen("notice")) }
}

@Suite struct NestedTabsTests {
    @Test func `only the parent of what has gone as a whole is notified`() async throws {
        let app = App("nest", root: { NestCoordinator() }, coordinators: [EggCoordinator.self])
        var tester = try await CoordinatorTester(app)
        try await tester.send("hatch")
        try await tester.send("hatch")
        #expect(tester.stack == "nest[x*: egg, tabs[x*: egg, tabs[x*: egg]]]")

        try await tester.send("backTo", ["key": .string(tester.state.screens[1].key)])

        #expect(tester.stack == "nest[x*: egg, notice]")
        #expect(tester.coordinators == ["nest", "egg"])
    }
}
