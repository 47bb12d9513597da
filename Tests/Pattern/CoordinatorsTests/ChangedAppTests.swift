import Coordinators
import CoordinatorsTesting
import JSONCoding
import TestSupport
import Testing

/// Version 1 of a library: a desk with two tabs, a shelf with a reader over it, and a wish list.
private enum Old {
    struct Desk: Coordinator {
        static let name = "desk"
        var visits = 1

        enum Event: NavigationEvent {
            case read, wish, ask
            static let examples: [Event] = [.read, .wish, .ask]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen("desk"),
                tabs: [
                    Tab("shelf", title: "Shelf", Screen("shelf", title: "Shelf", events: [Event.read, .ask])),
                    Tab("wishes", title: "Wishes", starting: Wishes()),
                ])
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .read: navigator.present(Reader())
            case .wish: navigator.selectTab("wishes")
            case .ask: navigator.alert(Alert("Sure?", buttons: [AlertButton("yes", title: "Yes", sends: Event.wish)]))
            }
        }
    }

    struct Wishes: Coordinator {
        static let name = "wishes"
        var titles = ["Emma"]

        func start(_ navigator: inout Navigator) { navigator.push(Screen("wishes")) }
    }

    struct Reader: Coordinator {
        static let name = "reader"
        var page = 1

        enum Event: NavigationEvent, CaseIterable { case turn }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("page", title: "1", events: [Event.turn])) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            page += 1
            navigator.push(Screen("page", title: "\(page)", events: [Event.turn]))
        }
    }

    static let app = App("library", root: Desk.init, coordinators: [Wishes.self, Reader.self])
}

/// Later versions, in which one thing at a time is different.
private enum New {
    /// Has a new property, and hears what was removed.
    struct Desk: Coordinator {
        static let name = "desk"
        static let blank = Self()
        var visits = 0
        var recent: [String] = ["nothing"]
        var lost: [String] = []

        typealias Event = Old.Desk.Event

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("desk"), tabs: [Tab("shelf", title: "Shelf", Screen("shelf"))])
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            if event == .read { navigator.push(Screen("shelf", title: "\(visits) \(recent)")) }
        }

        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
            guard let removed = child as? RemovedCoordinator else { return }
            lost.append("\(removed.name) \(removed.saved)")
        }
    }

    /// Has renamed the screen, its event and a tab.
    struct Renamed: Coordinator {
        static let name = "desk"
        var visits = 0

        enum Event: NavigationEvent, CaseIterable { case browse, wish }

        func start(_ navigator: inout Navigator) {}
        func handle(_ event: Event, _ navigator: inout Navigator) {}

        static func migrate(_ screen: Screen, from version: Int) -> Screen? {
            var screen = screen
            if screen.name == "shelf" { screen.name = "books" }
            screen.tabs["shelf"]?.id = "books"
            return screen
        }

        func render(_ screen: inout Screen, in context: NavigationContext) {
            if screen.name == "books" {
                screen.title = "Books"
                screen.events = [Control("Browse", sends: Event.browse)]
            }
            screen.tabs["books"]?.title = "Books"
        }
    }

    /// Has no wish list any more, nor its event.
    struct Smaller: Coordinator {
        static let name = "desk"
        var visits = 0

        enum Event: NavigationEvent, CaseIterable { case read }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("fresh")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    static func app(
        version: Int = 2, _ root: @escaping @Sendable () -> some Coordinator = { Desk() },
        _ others: [any Coordinator.Type] = [Old.Wishes.self, Old.Reader.self]
    ) -> App {
        App("library", version: version, root: root, coordinators: others)
    }
}

/// A shelf whose event `show` is called `view` later.
private enum Shelves {
    struct Showing: Coordinator {
        static let name = "shelf"

        enum Event: NavigationEvent {
            case show(id: Int)
            case ask
            static let examples: [Event] = [.show(id: 1), .ask]
        }

        func start(_ navigator: inout Navigator) {
            navigator.push(
                Screen(
                    "shelf", events: ["ask", Control("First", role: .primary, sends: Event.show(id: 1))],
                    rows: [Row("Emma", sends: Event.show(id: 2))]))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            guard event.isQuestion else { return }
            navigator.alert(
                Alert("Which?", buttons: [AlertButton("third", title: "Third", sends: Event.show(id: 3)), .cancel]))
        }
    }

    struct Viewing: Coordinator {
        static let name = "shelf"

        enum Event: NavigationEvent {
            case view(id: Int)
            case ask
            static let examples: [Event] = [.view(id: 1), .ask]
            static let aliases = ["show": "view"]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf")) }

        func handle(_ event: Event, _ navigator: inout Navigator) {
            if case .view(let id) = event { navigator.push(Screen("book", title: "\(id)")) }
        }
    }
}

extension Shelves.Showing.Event {
    fileprivate var isQuestion: Bool { if case .ask = self { true } else { false } }
}

/// A draft that asks before it is left, by an event that was called `shut` once.
private enum Drafts {
    struct Desk: Coordinator {
        static let name = "desk"

        enum Event: NavigationEvent {
            case close(count: Int?)
            static let examples: [Event] = [.close(count: 1)]
            static let aliases = ["shut": "close"]
        }

        static let everywhere: [Event] = [.close(count: 1)]

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("desk"))
            navigator.start(Draft())
        }

        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.popToRoot() }
    }

    struct Draft: Coordinator {
        static let name = "draft"
        func start(_ navigator: inout Navigator) { navigator.push(Screen("draft")) }

        func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
            Alert("Discard?", buttons: [.leave("discard", title: "Discard"), .cancel])
        }
    }
}

@Suite struct ChangedAppTests {
    @Test(arguments: [nil, ["count": 2]] as [JSON?], [1, 2])
    func `a question about an event that was posted under an alias stays when it is read`(
        payload: JSON?, version: Int
    ) async throws {
        let app = { App("drafts", version: $0, root: { Drafts.Desk() }, coordinators: [Drafts.Draft.self]) }
        var old = try await CoordinatorTester(app(1))
        try await old.send("shut", payload)
        #expect(old.alert?.title == "Discard?")

        var new = try await CoordinatorTester(app(version), restoring: old.saved)

        #expect(new.losses == [] && new.alert?.title == "Discard?")
        try await new.answer("discard")
        if payload != nil { try await new.send("shut", payload) }
        #expect(new.stack == "desk")
    }

    @Test(arguments: [1, 2])
    func `rows, buttons and alerts that name an event by an alias send the present one`(version: Int) async throws {
        let app = App("shelves", version: version, root: { Shelves.Viewing() })
        var old = try await CoordinatorTester(App("shelves", root: { Shelves.Showing() }))

        let listed = try await CoordinatorTester(app, restoring: old.saved)
        #expect(listed.losses == [] && listed.events.prefix(2) == ["view", "ask"])
        let key = try #require(old.state.visible?.key)
        #expect(listed.transition.operations == [.update(key: key)])
        #expect(
            PlainClient.fault(old.state, TransitionResult(state: listed.state, transition: listed.transition)) == nil)
        let role = try #require(listed.state.controls.first { $0.title == "First" }).role
        #expect(role == .primary)
        for (title, shown) in [("First", "1"), ("Emma", "2")] {
            var session = listed
            try await session.tap(title)
            #expect(session.state.visible?.screen.title == shown)
        }

        try await old.send("ask")
        var asked = try await CoordinatorTester(app, restoring: old.saved)
        #expect(asked.losses == [] && asked.alert?.title == "Which?")
        try await asked.answer("third")
        #expect(asked.state.visible?.screen.title == "3")
    }

    @Test(arguments: [1, 2])
    func `a new property takes the value of the blank coordinator`(version: Int) async throws {
        let old = try await CoordinatorTester(Old.app)
        var new = try await CoordinatorTester(New.app(version: version), restoring: old.saved)
        #expect(new.losses == [])
        #expect(new.state.visible?.key == old.state.visible?.key)

        try await new.send("read")

        #expect(new.state.visible?.screen.title == #"1 ["nothing"]"#)
    }

    @Test func `a member that the blank coordinator lacks as well is reported`() async throws {
        struct Strict: Coordinator {
            static let name = "desk"
            let needed: Int
            func start(_ navigator: inout Navigator) {}
        }
        let old = try await CoordinatorTester(Old.app)
        #expect(throws: RestoreError.self) {
            try New.app({ Strict(needed: 1) }, [Old.Wishes.self]).restore(old.saved)
        }
    }

    @Test func `a removed coordinator takes its screens and children along, and its parent hears of it`() async throws {
        var old = try await CoordinatorTester(Old.app)
        try await old.send("read")
        try await old.send("turn")

        let new = try await CoordinatorTester(New.app({ New.Desk() }, [Old.Wishes.self]), restoring: old.saved)

        #expect(new.stack == "desk[shelf*: shelf | wishes: wishes]")
        #expect(
            new.losses == [
                .coordinator(name: "reader", reason: "there is no such coordinator"), .screen(name: "page"),
                .screen(name: "page"),
            ])
        #expect(new.transition.dismissed == ["reader"])
        #expect(new.saved["coordinators"]?.array?[0]["state"]?["lost"] == [#"reader {"page":2}"#])
        #expect(PlainClient.fault(old.state, TransitionResult(state: new.state, transition: new.transition)) == nil)
    }

    @Test func `a tab without a screen is removed, and another one selected`() async throws {
        var old = try await CoordinatorTester(Old.app)
        try await old.selectTab("wishes")

        let new = try await CoordinatorTester(New.app({ New.Desk() }, [Old.Reader.self]), restoring: old.saved)

        #expect(new.stack == "desk[shelf*: shelf]")
        #expect(new.losses.contains(.tab(id: "wishes")))
        #expect(PlainClient.fault(old.state, TransitionResult(state: new.state, transition: new.transition)) == nil)
    }

    @Test func `a renamed screen, tab and event are drawn anew`() async throws {
        let old = try await CoordinatorTester(Old.app)
        let new = try await CoordinatorTester(
            New.app({ New.Renamed() }, [Old.Wishes.self, Old.Reader.self]), restoring: old.saved)

        #expect(new.losses == [])
        #expect(new.stack == "desk[books*: books | wishes: wishes]")
        #expect(new.state.visible?.key == old.state.visible?.key && new.state.visible?.screen.title == "Books")
        #expect(new.state.stack.screens[0].tabs?.items[0].title == "Books")
        #expect(new.events == ["browse", "selectTab", "relaunch", "describeClient"])
        #expect(new.transition.event == "migrate")
        // A tab of another name has another stack.
        #expect(PlainClient.fault(old.state, TransitionResult(state: new.state, transition: new.transition)) == nil)
    }

    @Test func `an alert whose button sends an event that is gone is dismissed, and so are controls for it`()
        async throws
    {
        var old = try await CoordinatorTester(Old.app)
        try await old.send("ask")

        let new = try await CoordinatorTester(
            New.app({ New.Smaller() }, [Old.Wishes.self, Old.Reader.self]), restoring: old.saved)

        #expect(new.alert == nil)
        #expect(new.losses == [.control(event: "ask", screen: "shelf"), .alert(lacking: "wish")])
        #expect(new.events.first == "read")
    }

    @Test func `a screen that is migrated to nothing is removed as by back`() async throws {
        struct Pageless: Coordinator {
            static let name = "reader"
            var page = 0
            enum Event: NavigationEvent, CaseIterable { case turn }
            func start(_ navigator: inout Navigator) {}
            func handle(_ event: Event, _ navigator: inout Navigator) {}
            static func migrate(_ screen: Screen, from version: Int) -> Screen? {
                screen.title == "1" ? screen : nil
            }
        }
        var old = try await CoordinatorTester(Old.app)
        try await old.send("read")
        try await old.send("turn")

        let new = try await CoordinatorTester(
            New.app({ New.Desk() }, [Old.Wishes.self, Pageless.self]), restoring: old.saved)

        #expect(new.presented == ["sheet[page]"] && new.losses == [.screen(name: "page")])
        #expect(PlainClient.fault(old.state, TransitionResult(state: new.state, transition: new.transition)) == nil)
    }

    @Test func `nothing is removed before the version is raised, and nothing of a newer version`() async throws {
        var old = try await CoordinatorTester(Old.app)
        try await old.send("read")
        let reader = Loss.coordinator(name: "reader", reason: "there is no such coordinator")

        #expect(throws: RestoreError.sameVersion([reader, .screen(name: "page")])) {
            try New.app(version: 1, { New.Desk() }, [Old.Wishes.self]).restore(old.saved)
        }
        let newer = try await CoordinatorTester(New.app())
        #expect(throws: RestoreError.newer(version: 2)) { try Old.app.restore(newer.saved) }
    }

    @Test func `a session of which no screen is left is reported as such`() async throws {
        struct Other: Coordinator { func start(_ navigator: inout Navigator) {} }
        let old = try await CoordinatorTester(Old.app)
        let failure = #expect(throws: RestoreError.self) { try New.app({ Other() }, []).restore(old.saved) }
        guard case .nothingLeft(let losses)? = failure else {
            Issue.record("\(failure as Any)")
            return
        }
        #expect(losses.first == .coordinator(name: "desk", reason: "there is no such coordinator"))
    }

    @Test func `a pending link that no longer exists is dropped`() async throws {
        struct Keeper: Coordinator {
            static let links: [LinkPattern] = ["/later"]
            func start(_ navigator: inout Navigator) { navigator.push(Screen("keeper")) }
            func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .pending }
        }
        struct Forgetful: Coordinator {
            static let name = "keeper"
            func start(_ navigator: inout Navigator) {}
        }
        let old = try await CoordinatorTester(App("links", root: { Keeper() }), link: "/later")
        let new = try await CoordinatorTester(App("links", version: 2, root: { Forgetful() }), restoring: old.saved)

        #expect(new.losses == [.pendingLink] && new.saved["pendingLink"] == nil)
    }

    @Test func `a shared value takes new members from its first value, and may come from a coordinator`() async throws {
        struct Wide: SharedState {
            static let name = "wide"
            var old = 0
            var new = ["x"]
        }
        struct Visits: SharedState {
            var count = 0
            static func recover(from session: SavedSession) -> Visits? {
                session.coordinator("desk")?["visits"]?.integer.map { Visits(count: $0) }
            }
        }
        let old = try await CoordinatorTester(Old.app)
        var saved = old.saved
        saved["shared"] = ["wide": ["old": 7], "gone": [:]]
        let app = App(
            "library", version: 2, root: New.Desk.init, coordinators: [Old.Wishes.self, Old.Reader.self],
            shared: [Wide.self, Visits.self])

        let new = try await CoordinatorTester(app, restoring: saved)

        #expect(new.losses == [.shared(name: "gone", reason: nil)])
        #expect(new.saved["shared"] == ["wide": ["old": 7, "new": ["x"]], "visits": ["count": 1]])
    }

    @Test func `a shared value that no longer fits is lost, and the reason says which part of it`() async throws {
        struct Cart: SharedState {
            struct Item: Codable, Equatable { var name: String }
            var items: [Item] = []
        }
        let old = try await CoordinatorTester(Old.app)
        var saved = old.saved
        saved["shared"] = ["cart": ["items": [["title": "tea"]]]]
        let app = App(
            "library", version: 2, root: New.Desk.init, coordinators: [Old.Wishes.self, Old.Reader.self],
            shared: [Cart.self])

        let new = try await CoordinatorTester(app, restoring: saved)

        let reason = "the value at /items/0/name of what is saved is missing"
        #expect(new.losses == [.shared(name: "cart", reason: reason)])
        #expect(new.losses.first?.description == "shared state “cart” (\(reason))")
    }
}

/// What a parent does when it is told of what was removed, and what outgrows its limit.
@Suite struct FailingMigrationTests {
    private struct Parent: Coordinator {
        static let name = "parent"
        var note = ""

        enum Event: NavigationEvent, CaseIterable { case go, shrink }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("parent")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .go: navigator.start(Child())
            case .shrink: note = ""
            }
        }
    }

    private struct Child: Coordinator {
        static let name = "child"
        func start(_ navigator: inout Navigator) { navigator.push(Screen("child")) }
    }

    private struct FailingParent: Coordinator {
        static let name = "parent"
        var note = ""
        func start(_ navigator: inout Navigator) {}
        mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) throws {
            throw TestError()
        }
    }

    private static let old = App("family", root: { Parent() }, coordinators: [Child.self])

    @Test func `no alert of onError takes the place of what a migration removes`() async throws {
        var session = try await CoordinatorTester(FailingMigrationTests.old)
        try await session.send("go")
        let new = App("family", version: 2, root: { FailingParent() }) { _, _ in Alert("Oops") }

        let restoration = try new.restore(session.saved)
        var run = restoration.transition(at: CoordinatorTester.someTime)
        await #expect(throws: NavigationError.self) { try await run.result() }

        #expect(restoration.prospect.state.screens.map(\.screen.name) == ["parent"])
        #expect(restoration.prospect.transition.operations == [.pop(key: "k2", stack: "main")])
        #expect(restoration.prospect.transition.dismissed == ["child"])
    }

    private struct Bar: Coordinator {
        static let name = "bar"
        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("bar"), tabs: [Tab("a", starting: Shelf()), Tab("b", Screen("b"))])
        }
        static func migrate(_ screen: Screen, from version: Int) -> Screen? {
            var screen = screen
            screen.tabs["a"] = nil
            return screen
        }
    }

    private struct Shelf: Coordinator {
        static let name = "shelf"
        enum Event: NavigationEvent, CaseIterable { case read }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("shelf")) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.present(Child()) }
    }

    @Test func `a flow that was presented from a removed tab goes with it`() async throws {
        func app(_ version: Int) -> App {
            App("bar", version: version, root: { Bar() }, coordinators: [Shelf.self, Child.self])
        }
        var old = try await CoordinatorTester(app(1))
        try await old.send("read")

        let new = try await CoordinatorTester(app(2), restoring: old.saved)

        #expect(new.stack == "bar[b*: b]" && new.coordinators == ["bar"])
        #expect(
            new.losses == [
                .coordinator(name: "shelf", reason: nil), .coordinator(name: "child", reason: nil), .tab(id: "a"),
                .screen(name: "shelf"), .screen(name: "child"),
            ])
        #expect(PlainClient.fault(old.state, TransitionResult(state: new.state, transition: new.transition)) == nil)
    }

    @Test func `a session that is too large may become smaller`() async throws {
        let session = try await CoordinatorTester(
            App("family", root: { Parent(note: String(repeating: "x", count: 3000)) }))
        let narrow = App("family", version: 2, root: { Parent() }, coordinators: [Child.self], sizeLimit: 1024)

        var restored = try await CoordinatorTester(narrow, restoring: session.saved)
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await restored.send("go") }
        #expect(failure?.reason == .stateLimit(bytes: 1024))
        try await restored.send("shrink")
        try await restored.send("go")
    }

    @Test func `the same version loses no property`() async throws {
        struct Plain: Coordinator {
            static let name = "parent"
            func start(_ navigator: inout Navigator) {}
        }
        let session = try await CoordinatorTester(FailingMigrationTests.old)
        #expect(throws: RestoreError.sameVersion([.property(name: "note", coordinator: "parent")])) {
            try App("family", root: { Plain() }).restore(session.saved)
        }
        #expect(try App("family", version: 2, root: { Plain() }).restore(session.saved).losses == [])

        struct Note: SharedState { var text: String? }
        var saved = session.saved
        saved["shared"] = ["note": ["text": "x", "gone": 1]]
        #expect(throws: RestoreError.sameVersion([.shared(name: "note/gone", reason: nil)])) {
            try App("family", root: { Parent() }, shared: [Note.self]).restore(saved)
        }
    }

    @Test(arguments: [-1, 1 << 53 + 1]) func `a version that no session can have is a mistake`(version: Int) {
        #expect(
            App("family", version: version, root: { Child() }).problems == [
                "app “family”: its version must be from 0 to 2⁵³"
            ])
    }
}
