import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Declarations that compile, and are not what a coordinator has.
@Suite struct NearMissTests {
    protocol Seats: Sendable {}
    struct Hall: Seats {}

    struct MisspeltCoordinator: Coordinator, TabBarDelegate {
        enum Event: NavigationEvent, CaseIterable { case go }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("misspelt")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
        mutating func childDidFinish(_ child: any Coordinator, navigator: inout Navigator) {}
        func childDidFinish(_ child: any Coordinator) async throws {}
        func childWasDismissed(_ child: any Coordinator, navigator: inout Navigator) async {}
        func childWasDismissed(_ child: any Coordinator) {}
        func isEnabled(_ event: Event, context: NavigationContext) -> Bool { true }
        func isEnabled(_ event: Event, _ context: NavigationContext) -> Bool { true }
        func render(_ screen: inout Screen, context: NavigationContext) {}
        func render(_ screen: inout Screen, _ context: NavigationContext) {}
        func content(of screen: Screen, context: ContentContext) async -> JSONObject { [:] }
        func shouldLeave(_ screen: Screen, context: NavigationContext) -> Alert? { nil }
        func shouldLeave(_ screen: Screen, _ context: NavigationContext) -> Bool { true }
        func open(_ link: Link, navigator: inout Navigator) -> LinkDecision { .taken }
        static func migrate(_ saved: JSON, version: Int) -> JSON { saved }
        static func migrate(_ screen: Screen, version: Int) -> Screen? { screen }
        func shouldSelectTab(_ tab: String, navigator: inout Navigator) -> Bool { true }
        func didSelectTab(_ tab: String, navigator: inout Navigator) {}
    }

    @Test func `a function that nobody calls is named with what was meant`() {
        let app = App("app", root: { MisspeltCoordinator() })

        let meant = [
            ("childDidFinish(_:navigator:)", "childDidFinish(_:_:)"), ("childDidFinish(_:)", "childDidFinish(_:_:)"),
            ("childWasDismissed(_:navigator:)", "childWasDismissed(_:_:)"),
            ("childWasDismissed(_:)", "childWasDismissed(_:_:)"), ("isEnabled(_:context:)", "isEnabled(_:in:)"),
            ("isEnabled(_:_:)", "isEnabled(_:in:)"), ("render(_:context:)", "render(_:in:)"),
            ("render(_:_:)", "render(_:in:)"), ("content(of:context:)", "content(of:in:)"),
            ("shouldLeave(_:context:)", "shouldLeave(_:in:)"), ("shouldLeave(_:_:)", "shouldLeave(_:in:)"),
            ("open(_:navigator:)", "open(_:_:)"), ("migrate(_:version:)", "migrate(_:from:)"),
            ("migrate(_:version:)", "migrate(_:from:)"), ("shouldSelectTab(_:navigator:)", "shouldSelectTab(_:_:)"),
            ("didSelectTab(_:navigator:)", "didSelectTab(_:_:)"),
        ]
        #expect(
            app.problems
                == meant.map { "app “app”: misspelt declares \($0.0), which nobody calls: write \($0.1)" })
    }

    /// Lists without their types.
    struct BriefCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case leave, stay }

        private static let seats = (any Seats).self
        static let links = ["/a", "/b/{id:integer}"]
        static let dependencies = [seats]
        static let everywhere = ["leave"]

        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("brief", events: [Event]()))
        }

        func handle(_ event: Event, _ navigator: inout Navigator) {}

        func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .taken }
    }

    @Test func `lists count, also if they are written without their types`() async throws {
        #expect(
            App("app", root: { BriefCoordinator() }).problems == [
                "app “app”: brief needs Seats, which is not registered"
            ])
        var dependencies = Dependencies()
        dependencies.register((any Seats).self) { _ in Hall() }
        let app = App("app", root: { BriefCoordinator() }, dependencies: dependencies)
        #expect(app.problems == [])
        #expect(app.links == ["/a", "/b/{id:integer}"])

        let session = try await CoordinatorTester(app, link: "/b/1")

        #expect(session.events == ["leave", "open", "relaunch", "describeClient"])
    }

    struct LoneCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case leave }

        static let links: LinkPattern = "/a"
        static let dependencies = Hall.self
        static let everywhere = Event.leave

        func start(_ navigator: inout Navigator) { navigator.push(Screen("lone")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    struct StrangeCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case leave }

        static let everywhere = ["leve"]

        func start(_ navigator: inout Navigator) { navigator.push(Screen("strange")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
    }

    @Test func `what is no list is refused with the form that it must have`() {
        #expect(
            App("app", root: { LoneCoordinator() }).problems == [
                "app “app”: lone.dependencies is no list of them: write “static let dependencies: [any Any.Type] = […]”",
                "app “app”: lone.links is no list of them: write “static let links: [LinkPattern] = […]”",
                "app “app”: lone.everywhere is no list of them: write “static let everywhere: [Event] = […]”",
            ])
        #expect(
            App("app", root: { StrangeCoordinator() }).problems == [
                "app “app”: strange.everywhere has “leve”, which is no event of it"
            ])
    }
}
