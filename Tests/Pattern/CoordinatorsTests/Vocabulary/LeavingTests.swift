import Coordinators
import CoordinatorsTesting
import Testing

@Suite struct LeavingTests {
    /// A way to leave the editor `x` of `b`, and the stack afterwards.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let after: String
        let leave: @Sendable (inout CoordinatorTester) async throws -> Void

        init(_ name: String, _ after: String, leave: @Sendable @escaping (inout CoordinatorTester) async throws -> Void)
        {
            testDescription = name
            self.after = after
            self.leave = leave
        }
    }

    static let ways = [
        Way("back", "a, tabs[b*: b | y: y]") { try await $0.back() },
        Way("backTo", "a, tabs[b*: b | y: y]") { try await $0.backTo("b") },
        Way("backToRoot", "a, tabs[b*: b | y: y]") { try await $0.backToRoot() },
        Way("selectTab", "a, tabs[b: b, x | y*: y]") { try await $0.selectTab("y") },
        Way("the same tab", "a, tabs[b*: b | y: y]") { try await $0.selectTab("b") },
        Way("backTo below the tabs", "a") { try await $0.backTo("a") },
    ]

    @Test(arguments: ways)
    func `leaving waits for the answer, which confirms or cancels it`(way: Way) async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["b", "y"], selected: nil, back: .nothing))
        try await app.b(.push("x"), .protect("x"))
        let before = app.state

        try await way.leave(&app)
        #expect(app.alert?.title == "Leave x?")
        #expect(app.stack == "a, tabs[b*: b, x | y: y]")
        #expect(app.state.coordinators == before.coordinators)
        #expect(app.state.stack == before.stack)
        #expect(app.events == ["back", "answer"])
        try await app.back()
        #expect(app.alert == nil)
        #expect(app.stack == "a, tabs[b*: b, x | y: y]")

        try await way.leave(&app)
        try await app.answer("leave")
        #expect(app.alert == nil)
        #expect(app.stack == way.after)
    }

    @Test(arguments: ways)
    func `a session that is saved while the alert is shown continues in the same way`(way: Way) async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["b", "y"], selected: nil, back: .nothing))
        try await app.b(.push("x"), .protect("x"))
        try await way.leave(&app)

        let restored = try app.restored()
        let next = try await app.app.apply(
            PostedEvent("answer", payload: ["button": "leave"]), to: restored, at: app.now)
        try await app.answer("leave")

        #expect(next.state == app.state)
        #expect(app.stack == way.after)
    }

    @Test func `leaving the tabs asks the screen in a tab`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.pushTabs(["b"], selected: nil, back: .nothing))
        try await app.b(.protect("b"))

        try await app.back()
        #expect(app.alert?.title == "Leave b?")
        #expect(app.stack == "a, tabs[b*: b]")
        try await app.answer("leave")

        #expect(app.stack == "a")
        #expect(app.coordinators == ["a"])
    }

    @Test func `dismissing asks everything that is dismissed, the topmost first`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.present("b", .sheet))
        try await app.b(.protect("b"), .present("c", .sheet))

        try await app.dismiss()
        #expect(app.stack == "a + sheet[b]")
        try await app.dismiss()
        #expect(app.alert?.title == "Leave b?")
        #expect(app.stack == "a + sheet[b]")
        try await app.answer("leave")

        #expect(app.stack == "a")
        #expect(app.told(ACoordinator.self) == ["b dismissed"])
    }

    @Test(arguments: BossCoordinator.Event.allCases)
    func `a coordinator is asked before an ancestor ends it`(order: BossCoordinator.Event) async throws {
        var app = try await CoordinatorTester(BossApp.app)
        try await app.send(ClerkCoordinator.Event.write)
        let before = app.state

        try await app.send(order)
        #expect(app.alert?.title == "Leave?")
        #expect(app.state.stack == before.stack)
        #expect(app.state.coordinators == before.coordinators)
        #expect(app.state.presented == before.presented)
        #expect(app.state.defaults == before.defaults)
        #expect(app.transition.operations == [.alert(key: try #require(app.state.alert?.key))])
        let restored = try app.restored()

        try await app.answer("cancel")
        #expect(app.stack == "office, files[clerk*: clerk, draft] + sheet[clerk]")
        try await app.send(order)
        try await app.answer("leave")

        #expect(app.stack == order.result)
        #expect(app.state.defaults["ordered"] == true)
        let later = try await app.app.apply(
            PostedEvent("answer", payload: ["button": "leave"]), to: restored, at: app.now)
        #expect(later.state.screens.map(\.screen) == app.state.screens.map(\.screen))
    }

    @Test func `a screen that was shown in the same transition may be left without asking`() async throws {
        var app = try await CoordinatorTester(HastyApp.app)
        #expect(app.stack == "start")

        try await app.relaunch()

        #expect(app.stack == "start")
        #expect(app.alert == nil)
    }

    @Test func `an event with a payload is posted again after the answer, because payloads are not stored`()
        async throws
    {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))
        let event = PostedEvent("a", payload: [["endChildren": [:]], ["keep": ["_0": "secret"]]])

        let asked = try await app.app.apply(event, to: app.state, at: app.now)
        #expect(asked.asksFirst)
        #expect(!String(decoding: asked.state.encoded, as: UTF8.self).contains("secret"))
        await #expect(throws: NavigationError.answerFirst) {
            _ = try await app.app.apply(event, to: asked.state, at: app.now)
        }

        try await app.a(.endChildren)
        #expect(app.alert?.title == "Leave b?")
        #expect(app.stack == "a, b")
        _ = try app.restored()
        try await app.answer("leave")
        #expect(app.stack == "a, b")
        _ = try app.restored()
        try await app.a(.endChildren)
        #expect(app.stack == "a")
        #expect(app.alert == nil)
    }

    @Test func `an agreement is not for a fork`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))
        let event = PostedEvent("a", payload: [["endChildren": [:]]])
        try await app.send("a", event.payload)
        try await app.answer("leave")
        let agreed = try await app.app.apply(event, to: app.state, at: app.now)
        #expect(agreed.state.alert == nil)

        let fork = try app.app.fork(of: app.state, for: nil, at: app.now)
        let asked = try await app.app.apply(event, to: fork, at: app.now)

        #expect(asked.asksFirst && asked.state.alert != nil)
    }

    @Test func `an answer that stays allows nothing`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))
        try await app.a(.endChildren)

        try await app.answer("cancel")
        try await app.a(.endChildren)

        #expect(app.alert?.title == "Leave b?")
    }

    @Test func `what the user has agreed to is only the next event`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"))
        try await app.a(.endChildren)
        try await app.answer("leave")

        try await app.send("describeClient", ["locale": "de"])
        try await app.b(.push("x"))
        try await app.a(.endChildren)

        #expect(app.alert?.title == "Leave b?")
        #expect(app.stack == "a, b, x")
    }

    @Test func `a relaunch asks`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.protect("b"), .push("x"))

        try await app.relaunch()
        #expect(app.alert?.title == "Leave b?")
        #expect(app.stack == "a, b, x")
        try await app.answer("leave")

        #expect(app.stack == "a")
    }

    @Test func `what is asked is about the session before the event`() async throws {
        var app = try await CoordinatorTester(DraftApp.app)

        try await app.send(DraftCoordinator.Event.typeAndLeave)
        #expect(app.stack == "study", "nothing was typed that the user has seen")

        try await app.send(StudyCoordinator.Event.write)
        try await app.send(DraftCoordinator.Event.type)
        try await app.send(DraftCoordinator.Event.typeAndLeave)
        #expect(app.alert?.title == "Discard 1 words in en?")
        #expect(app.state.shared[Language.self].name == "en")

        try await app.back()
        try await app.send(DraftCoordinator.Event.saveAndLeave)
        #expect(app.stack == "study", "the handler has settled the matter")
    }

    @Test func `a coordinator leaves its own screens without being asked`() async throws {
        var app = try await CoordinatorTester(FlowApp.app)
        try await app.a(.start("b"))
        try await app.b(.push("x"), .protect("x"), .protect("b"))

        try await app.b(.pop)
        #expect(app.stack == "a, b")
        try await app.b(.finish)

        #expect(app.stack == "a")
    }
}

/// Ends its clerks in every possible way.
struct BossCoordinator: Coordinator {
    static let everywhere = Event.allCases

    enum Event: NavigationEvent, CaseIterable {
        case endAll, popAll, setAnew, replaceFiles

        var result: String {
            switch self {
            case .endAll, .popAll: "office"
            case .setAnew: "lobby"
            case .replaceFiles: "office, lobby"
            }
        }
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("office"))
        navigator.push(Screen("files"), tabs: [Tab("clerk", starting: ClerkCoordinator())])
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        navigator.defaults["ordered"] = true
        switch event {
        case .endAll:
            navigator.popToRoot()
            navigator.endChildren()
        case .popAll:
            navigator.dismissPresented()
            navigator.popToRoot()
        case .setAnew:
            navigator.endChildren()
            navigator.setStack([Screen("lobby")])
        case .replaceFiles:
            navigator.replace(with: Screen("lobby"))
            navigator.endChildren()
        }
    }
}

/// Has a draft that must not get lost.
struct ClerkCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case write }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("clerk")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        navigator.push(Screen("draft"))
        navigator.present(ClerkCoordinator())
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        guard screen.name == "draft" else { return nil }
        return Alert("Leave?", buttons: [.cancel, .leave("leave", title: "Leave")])
    }
}

enum BossApp {
    static let app = App("boss", root: BossCoordinator.init, coordinators: [ClerkCoordinator.self])
}

/// Shows a screen that objects to being left, and leaves it at once.
struct HastyRootCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("start"))
        navigator.start(ReluctantCoordinator())
        navigator.endChildren()
    }
}

struct ReluctantCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("reluctant")) }
    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        Alert("Leave?", buttons: [.cancel, .leave("leave", title: "Leave")])
    }
}

/// Shared, and changed by the event that leaves.
struct Language: SharedState { var name = "de" }

/// Removes the draft when it is told to.
struct StudyCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case write }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("study"))
        navigator.start(DraftCoordinator())
    }

    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.start(DraftCoordinator()) }
}

struct DraftCoordinator: Coordinator {
    private var words = 0

    enum Event: NavigationEvent, CaseIterable { case type, typeAndLeave, saveAndLeave }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("draft")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .type: words += 1
        case .typeAndLeave:
            words += 1
            navigator.shared[Language.self].name = navigator.shared[Language.self].name == "de" ? "en" : "fr"
        case .saveAndLeave: words = 0
        }
        guard event != .type else { return }
        navigator.tell(StudyCoordinator.self) { _, navigator in navigator.endChildren() }
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        guard words > 0 else { return nil }
        return Alert(
            "Discard \(words) words in \(context.shared[Language.self].name)?",
            buttons: [.cancel, .leave("leave", title: "Leave")])
    }
}

enum DraftApp {
    static let app = App(
        "draft", root: StudyCoordinator.init, coordinators: [DraftCoordinator.self], shared: [Language.self])
}

enum HastyApp {
    static let app = App("hasty", root: HastyRootCoordinator.init, coordinators: [ReluctantCoordinator.self])
}
