import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Three pages. Notes which one is selected at each `ask`, and which ones the user has selected.
struct BarCoordinator: Coordinator, TabBarDelegate {
    static let everywhere = Event.allCases
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

/// Refuses a tab, and does not mind which one is selected.
struct GateCoordinator: Coordinator, TabBarDelegate {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("bar"), tabs: ["x", "y", "z"].map { Tab($0, Screen($0)) })
    }

    func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) -> Bool { tab != "y" }
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

    @Test func `a delegate need not be called for the selected tab`() async throws {
        var app = try await CoordinatorTester(App("gate", root: { GateCoordinator() }))

        try await app.selectTab("y")
        #expect(app.stack == "bar[x*: x | y: y | z: z]")
        try await app.selectTab("z")

        #expect(app.stack == "bar[x: x | y: y | z*: z]")
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

@Suite struct RefusedTabTests {
    /// Tabs of which one only presents a sheet, on request in the way of an app that had no `shouldSelectTab`.
    struct BoardCoordinator: Coordinator, TabBarDelegate {
        var corrects = false
        var asked: [String] = []
        var selected: [String] = []

        enum Event: NavigationEvent, CaseIterable { case correct, hop, protect }
        var isProtected = false

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen("board"), tabs: ["a", "b", "c", "new"].map { Tab($0, Screen($0)) }, back: .history)
        }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .correct: corrects = true
            case .hop: for tab in ["a", "b", "c"] { navigator.selectTab(tab) }
            case .protect: isProtected = true
            }
        }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            isProtected ? Alert("Leave \(screen.name)?", buttons: [.cancel, .leave("leave", title: "Leave")]) : nil
        }

        mutating func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) -> Bool {
            guard !corrects else { return true }
            asked.append(tab)
            guard tab == "new" else { return true }
            navigator.present(CoverCoordinator())
            return false
        }

        mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) {
            selected.append(tab)
            guard corrects, tab == "new" else { return }
            navigator.selectTab("a")
            navigator.present(CoverCoordinator())
        }
    }

    static let app = App("board", root: { BoardCoordinator() }, coordinators: [CoverCoordinator.self])

    static func board(_ app: CoordinatorTester) throws -> BoardCoordinator {
        try #require(app.state.coordinators.first?.coordinator as? BoardCoordinator)
    }

    static let sheet = "board[a*: a | b: b | c: c | new: new] + sheet[cover]"

    @Test func `a tab that is refused is not selected, and what the delegate asks for is done`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)

        try await app.selectTab("new")

        #expect(app.stack == RefusedTabTests.sheet)
        #expect(app.transition.operations.map(\.name) == ["present", "push"])
        #expect(try RefusedTabTests.board(app).selected == [])
        try await app.dismiss()
        #expect(app.backPlan == nil)
        try await app.selectTab("b")
        try await app.backAsForetold()
        #expect(app.stack == "board[a*: a | b: b | c: c | new: new]")
        #expect(try RefusedTabTests.board(app).asked == ["new", "b"])
        #expect(try RefusedTabTests.board(app).selected == ["b", "a"])
    }

    @Test func `a tab that is not refused is selected after what the delegate asks for`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)
        try await app.send("protect")

        try await app.selectTab("b")
        #expect(app.alert?.title == "Leave a?")
        #expect(try RefusedTabTests.board(app).asked == [])
        try await app.answer("leave")

        #expect(app.stack == "board[a: a | b*: b | c: c | new: new]")
        #expect(try RefusedTabTests.board(app).asked == ["b"])
    }

    @Test func `a selection that is corrected is no visit`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)
        try await app.selectTab("b")
        try await app.selectTab("a")
        try await app.send("correct")
        let plan = app.backPlan

        try await app.selectTab("new")

        #expect(app.stack == RefusedTabTests.sheet)
        #expect(app.transition.operations.map(\.name) == ["present", "push"])
        try await app.dismiss()
        #expect(app.backPlan == plan)
        try await app.backAsForetold()
        #expect(app.stack == "board[a: a | b*: b | c: c | new: new]")
        #expect(app.backPlan == nil)
        _ = try app.restored()
    }

    @Test func `a selection that is corrected to a third tab counts once`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)
        try await app.selectTab("b")
        try await app.send("correct")

        try await app.selectTab("new")

        #expect(app.transition.operations.map(\.name) == ["selectTab", "present", "push"])
        #expect(app.transition.operations.first == .selectTab(key: "k1", tab: "a"))
        try await app.dismiss()
        try await app.backAsForetold()
        #expect(app.stack == "board[a: a | b*: b | c: c | new: new]")
    }

    @Test func `tabs that a coordinator only passes are no visits`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)

        try await app.send("hop")

        #expect(app.transition.operations == [.selectTab(key: "k1", tab: "c")])
        try await app.backAsForetold()
        #expect(app.stack == "board[a*: a | b: b | c: c | new: new]")
        #expect(app.backPlan == nil)
    }

    @Test func `back does not lead for ever to a tab that is corrected`() async throws {
        var app = try await CoordinatorTester(RefusedTabTests.app)
        try await app.selectTab("b")
        try await app.send("correct")
        // As a build without corrections has left it.
        let saved = app.saved.replacing("\"history\":[0]", by: "\"history\":[0,3]")
        var old = try await CoordinatorTester(RefusedTabTests.app, restoring: saved)

        try await old.back()
        #expect(old.stack == "board[a*: a | b: b | c: c | new: new] + sheet[cover]")
        try await old.dismiss()

        #expect(old.backPlan == .selectTab(key: "k1", position: 1, revealed: "k3"))
    }
}

extension JSON {
    /// The same with other text.
    fileprivate func replacing(_ text: String, by other: String) -> JSON {
        let whole = String(decoding: JSONWriter.bytes(capacity: 1000) { $0.value(self) }, as: UTF8.self)
        let parts = whole.split(separator: text, omittingEmptySubsequences: false)
        return (try? JSON(parsing: Array(parts.joined(separator: other).utf8), maximumDepth: 512)) ?? .null
    }
}

extension Operation {
    fileprivate var name: String { String("\(self)".prefix { $0 != "(" }) }
}
