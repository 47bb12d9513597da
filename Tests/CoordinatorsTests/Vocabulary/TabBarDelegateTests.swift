import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Three pages. Notes which one is selected at each `ask`, and which ones the user has selected.
struct BarCoordinator: Coordinator, TabBarDelegate {
    var current: [String?] = []
    var selected: [String] = []

    enum Event: NavigationEvent, CaseIterable { case show, ask, push, cover, select, fail }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("first")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .show:
            navigator.push(
                Screen("bar"), tabs: ["x", "y", "z"].map { Tab($0, Screen($0)) }, back: .history)
        case .ask: current.append(navigator.selectedTab)
        case .push: navigator.push(Screen("detail"))
        case .cover: navigator.present(CoverCoordinator())
        case .select: navigator.selectTab("z")
        case .fail: selected.append("fail")
        }
    }

    mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) throws {
        if selected.contains("fail") { throw TestError() }
        selected.append(tab)
        #expect(navigator.selectedTab == tab)
        if tab == "y", !selected.contains("z") { navigator.push(Screen("welcome")) }
    }
}

/// A sheet without events of its own: they go to its parent.
struct CoverCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("cover")) }
}

@Suite struct TabBarDelegateTests {
    static let app = App("bar", root: { BarCoordinator() }, coordinators: [CoverCoordinator.self])

    static func bar(_ app: CoordinatorTester) throws -> BarCoordinator {
        try #require(app.state.coordinators.first?.coordinator as? BarCoordinator)
    }

    @Test func `a coordinator can read its selected tab at any time`() async throws {
        var app = try await CoordinatorTester(TabBarDelegateTests.app)
        for event in ["ask", "show", "ask"] { try await app.send(event) }
        try await app.selectTab("z")

        for event in ["ask", "push", "ask", "cover", "ask"] { try await app.send(event) }

        #expect(app.stack == "first, bar[x: x | y: y | z*: z, detail] + sheet[cover]")
        #expect(try TabBarDelegateTests.bar(app).current == [nil, "x", "z", "z", "z"])
    }

    @Test func `the delegate is called when the user selects another tab, and only then`() async throws {
        var app = try await CoordinatorTester(TabBarDelegateTests.app)
        try await app.send("show")

        try await app.selectTab("z")
        try await app.selectTab("z")
        try await app.send("selectTab", ["index": 0])
        try await app.send("select")
        try await app.back()

        #expect(try TabBarDelegateTests.bar(app).selected == ["z", "x", "x"])
    }

    @Test func `what the delegate requests belongs to the same transition`() async throws {
        var app = try await CoordinatorTester(TabBarDelegateTests.app)
        try await app.send("show")

        try await app.selectTab("y")

        #expect(app.stack == "first, bar[x: x | y*: y, welcome | z: z]")
        let key = try #require(app.state.visible?.key)
        #expect(app.transition.operations == [.selectTab(key: "k2", tab: "y"), .push(key: key, stack: "k2/y")])
    }

    @Test func `a delegate that throws leaves the selected tab unchanged`() async throws {
        var app = try await CoordinatorTester(TabBarDelegateTests.app)
        for event in ["show", "fail"] { try await app.send(event) }

        await app.expectRefusal(
            .handlerFailed(coordinator: "bar", call: "didSelectTab", error: .init(type: "TestError", caseName: nil))
        ) { try await $0.selectTab("y") }
    }
}
