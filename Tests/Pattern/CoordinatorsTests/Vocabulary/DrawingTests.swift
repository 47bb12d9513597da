import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Tabs with icons and badges, a form, a list, a sheet that cannot be dismissed, a draft that is not left silently.
private struct DeskCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case save(name: String)
        case delete, row, sheet, fixed, full, mark, passing
        static let examples: [Event] = [.save(name: "x"), .delete, .row, .sheet, .fixed, .full, .mark, .passing]
    }

    static let links: [LinkPattern] = ["/items/{id}", "/desk"]

    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("desk"),
            tabs: [
                Tab(
                    "form", title: "Form", icon: "pencil",
                    Screen(
                        "form",
                        events: [
                            Control("Keep", role: .primary, sends: "save"),
                            Control(role: .destructive, sends: "delete"),
                            "row", Control(role: .navigation, sends: "sheet"), "fixed", "full", "mark",
                            "passing",
                        ])),
                Tab("list", badge: "1", Screen("list", events: ["row"])),
            ])
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .save, .delete: break
        case .row: navigator.push(Screen("draft"))
        case .sheet: navigator.present(NoteCoordinator(), detent: .medium)
        case .fixed: navigator.present(NoteCoordinator(), isDismissable: false)
        case .full: navigator.present(NoteCoordinator(), as: .fullScreen)
        case .mark: navigator.setBadge("2", ofTab: "list")
        case .passing:
            navigator.push(Screen("one"))
            navigator.replace(with: Screen("two"))
            navigator.push(Screen("three"))
            navigator.pop()
            navigator.update("two") { $0.title = "Two" }
            navigator.present(PassingCoordinator())
        }
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        screen.name == "draft" ? Alert("Leave?", buttons: [.leave("yes", title: "Yes"), .cancel]) : nil
    }
}

private struct NoteCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case more }
    func start(_ navigator: inout Navigator) { navigator.push(Screen("note")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.present(NoteCoordinator()) }
}

private struct PassingCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("passing"))
        navigator.finish()
    }
}

/// A draft in a sheet, and a note over it.
private struct LayeredDeskCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("desk"))
        navigator.present(LayeredDraftCoordinator())
    }
}

private struct LayeredDraftCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case more }
    func start(_ navigator: inout Navigator) { navigator.push(Screen("draft")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.present(NoteCoordinator()) }
    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? { Alert("Leave?") }
}

@Suite struct DrawingTests {
    private static let app = App(
        "desk", root: { DeskCoordinator() }, coordinators: [NoteCoordinator.self, PassingCoordinator.self])

    private func control(_ type: String, in tester: CoordinatorTester) throws -> AcceptedControl {
        try #require(tester.state.controls.first { $0.type == type })
    }

    @Test func `each accepted event has a control, in the same order`() async throws {
        let tester = try await CoordinatorTester(DrawingTests.app)

        #expect(tester.state.controls.map(\.type) == tester.events)
        let save = try control("save", in: tester)
        #expect(save.coordinator == "desk" && save.title == "Keep" && save.role == .primary && save.place == .screen)
        #expect(save.schema?["properties"]?["name"]?["title"] == "Name" && save.example == ["name": "x"])
        #expect(try control("delete", in: tester).role == .destructive)
        #expect(try control("row", in: tester).role == .secondary && control("row", in: tester).title == "Row")
        #expect(try control("sheet", in: tester).role == .navigation)
        let tabs = try control("selectTab", in: tester)
        #expect(tabs.coordinator == nil && tabs.role == .navigation && tabs.place == .tabBar)
        #expect(tabs.schema?["properties"]?["tab"]?["enum"] == ["form", "list"] && tabs.example == ["tab": "list"])
        let open = try control("open", in: tester)
        #expect(open.place == .app && open.example == ["path": "/desk"])
    }

    @Test func `the schema of a built-in event lists what it takes now`() async throws {
        var tester = try await CoordinatorTester(DrawingTests.app)
        try await tester.send("sheet")

        #expect(try control("more", in: tester).place == .screen)
        #expect(try control("dismiss", in: tester).schema?["properties"]?["key"]?["enum"] == ["p4"])
        try await tester.dismiss()
        try await tester.selectTab("list")
        try await tester.send("row")
        try await tester.back()
        let answer = try control("answer", in: tester)
        #expect(answer.schema?["properties"]?["button"]?["enum"] == ["yes", "cancel"])
        let key = try #require(tester.state.alert?.key)
        #expect(answer.schema?["properties"]?["alert"]?["enum"] == [.string(key)])
        #expect(answer.example == ["button": "cancel", "alert": .string(key)])
        #expect(try control("back", in: tester).place == .alert)
    }

    @Test func `roles, icons, badges and detents are restored`() async throws {
        var tester = try await CoordinatorTester(DrawingTests.app)
        try await tester.send("mark")
        #expect(tester.transition.operations == [.update(key: "k1")])
        try await tester.send("sheet")

        let restored = try tester.restored()

        #expect(restored == tester.state)
        let tabs = try #require(restored.stack.screens[0].tabs)
        #expect(tabs.items.map(\.icon) == ["pencil", nil] && tabs.items.map(\.badge) == [nil, "2"])
        #expect(restored.presented[0].detent == .medium && restored.presented[0].isDismissable)
        #expect(tabs.items[0].stack.screens[0].screen.events?.map(\.role).prefix(2) == [.primary, .destructive])
        let written = String(decoding: JSONWriter.bytes(capacity: 99) { restored.stack.write(to: &$0) }, as: UTF8.self)
        #expect(!written.contains("eventRoles"))
    }

    @Test(arguments: ["fixed", "full"])
    func `what a coordinator alone may dismiss, the user cannot: a full screen, or what says so`(
        event: String
    ) async throws {
        var tester = try await CoordinatorTester(DrawingTests.app)
        try await tester.send(event)
        let fixed = try #require(tester.state.presented.first)
        #expect(!fixed.isDismissable && !tester.events.contains("dismiss") && !tester.events.contains("back"))
        await #expect(throws: CoordinatorTester.Failure(.nothingToGoBack)) { try await tester.back() }

        try await tester.send("more")

        #expect(tester.events.contains("dismiss"))
        await tester.expectRefusal(
            .invalidEvent(
                .init(path: ["payload", "key"], reason: "names a flow below one that the user cannot dismiss"))
        ) { try await $0.send("dismiss", ["key": .string(fixed.key)]) }
        try await tester.dismiss()
        #expect(tester.state.presented.map(\.key) == [fixed.key])
    }

    @Test func `back says beforehand whether it asks`() async throws {
        var tester = try await CoordinatorTester(DrawingTests.app)
        try await tester.send("row")
        let plan = try #require(tester.state.backPlan)
        #expect(tester.state.asks(before: plan))

        try await tester.back()
        #expect(tester.state.alert != nil && !tester.state.asks(before: .dismissAlert))
        try await tester.send("answer", ["button": "yes"])
        try await tester.send("sheet")
        #expect(tester.state.backPlan.map { tester.state.asks(before: $0) } == false)
    }

    @Test func `a presented flow says beforehand whether dismissing it asks, with all flows above it`() async throws {
        let app = App(
            "draft", root: { LayeredDeskCoordinator() },
            coordinators: [LayeredDraftCoordinator.self, NoteCoordinator.self])
        var tester = try await CoordinatorTester(app)
        #expect(tester.state.asks(beforeDismissing: 0))

        try await tester.send("more")

        #expect(tester.state.asks(beforeDismissing: 0) && !tester.state.asks(beforeDismissing: 1))
        let draft = try #require(tester.state.presented.first?.key)
        try await tester.send("dismiss", ["key": .string(draft)])
        #expect(tester.state.alert != nil && tester.state.presented.count == 2)
        #expect(!tester.state.asks(beforeDismissing: 0))
    }

    @Test func `operations name their stacks, and leave out what came and went`() async throws {
        var tester = try await CoordinatorTester(DrawingTests.app)
        #expect(
            tester.transition.operations == [
                .push(key: "k1"), .push(key: "k2", stack: "k1/form"), .push(key: "k3", stack: "k1/list"),
            ])

        try await tester.send("passing")

        #expect(tester.transition.operations == [.push(key: "k5", stack: "k1/form")])
        try await tester.send("sheet")
        #expect(
            tester.transition.operations == [
                .present(key: "p9", style: .sheet), .push(key: "k10", stack: "p9"),
            ])
    }
}
