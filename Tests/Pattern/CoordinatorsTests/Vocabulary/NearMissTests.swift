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
        enum Effect: NavigationEffect { case work }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("misspelt")) }
        func perform(_ effect: Effect, in context: EffectContext) -> NoSignal? { nil }
        func retries(_ effect: Effect) -> Int { 1 }
        static func retries(for effect: Effect) -> Int { 1 }
        func effectDidFail(_ effect: Effect, _ error: any Error, navigator: inout Navigator) {}
        mutating func effectDidFail(_ effect: Effect, _ error: any Error) async {}
        static func migrate(_ work: SavedWork, version: Int) throws -> SavedWork? { work }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
        mutating func childDidFinish(_ child: any Coordinator, navigator: inout Navigator) {}
        func childDidFinish(_ child: any Coordinator) async throws {}
        func childWasDismissed(_ child: any Coordinator, navigator: inout Navigator) async {}
        func childWasDismissed(_ child: any Coordinator) {}
        func childWasDismissed(_ child: any Coordinator, _ reason: String, _ navigator: inout Navigator) {}
        mutating func childDidFinsh(_ child: any Coordinator, _ navigator: inout Navigator) throws {}
        func titel(of event: Event, in context: NavigationContext) -> String { "Go" }
        func isEnabled(_ event: Event, context: NavigationContext) -> Bool { true }
        func isEnabled(_ event: Event, _ context: NavigationContext) -> Bool { true }
        func title(of event: Event, context: NavigationContext) -> String { "Go" }
        func title(for event: Event, in context: NavigationContext) -> String { "Go" }
        func fields(of event: Event, context: NavigationContext) -> [Field] { [] }
        func fields(for event: Event, in context: NavigationContext) -> [Field] { [] }
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
        func childDidDeliver(_ value: any Sendable, from child: any Coordinator, navigator: inout Navigator) {}
        func childDidDeliver(_ value: any Sendable, from child: any Coordinator) {}
        func childDidDeliver(_ value: any Sendable, _ navigator: inout Navigator) async {}
        func screenWasRemoved(_ screen: Screen, navigator: inout Navigator) {}
        func screenWasRemoved(_ screen: Screen) {}
        func screenWasRemoved(_ screen: Screen, _ navigator: inout Navigator) {}
        func willBeRemoved(_ reason: RemovalReason, context: EffectContext) async throws {}
        func willBeRemoved(_ reason: RemovalReason, _ context: EffectContext) {}
        func willBeRemoved(_ reason: RemovalReason, in context: NavigationContext) {}
        func willBeRemoved(_ reason: RemovalReason, _ navigator: inout Navigator) {}
        func deviceDidPair(_ device: PairedDevice, navigator: inout Navigator) {}
        func deviceDidPair(_ device: PairedDevice) {}
    }

    @Test func `a function that nobody calls is named with what was meant`() {
        let app = App("app", root: { MisspeltCoordinator() })

        let meant = [
            ("childDidFinish(_:navigator:)", "childDidFinish(_:_:)"), ("childDidFinish(_:)", "childDidFinish(_:_:)"),
            ("childWasDismissed(_:navigator:)", "childWasDismissed(_:_:)"),
            ("childWasDismissed(_:)", "childWasDismissed(_:_:)"), ("isEnabled(_:context:)", "isEnabled(_:in:)"),
            ("isEnabled(_:_:)", "isEnabled(_:in:)"), ("title(of:context:)", "title(of:in:)"),
            ("title(for:in:)", "title(of:in:)"), ("fields(of:context:)", "fields(of:in:)"),
            ("fields(for:in:)", "fields(of:in:)"), ("render(_:context:)", "render(_:in:)"),
            ("render(_:_:)", "render(_:in:)"), ("content(of:context:)", "content(of:in:)"),
            ("shouldLeave(_:context:)", "shouldLeave(_:in:)"), ("shouldLeave(_:_:)", "shouldLeave(_:in:)"),
            ("open(_:navigator:)", "open(_:_:)"), ("migrate(_:version:)", "migrate(_:from:)"),
            ("migrate(_:version:)", "migrate(_:from:)"), ("migrate(_:version:)", "migrate(_:from:)"),
            ("retries(_:)", "static func retries(_:)"), ("retries(for:)", "retries(_:)"),
            ("effectDidFail(_:_:navigator:)", "effectDidFail(_:_:_:)"),
            ("effectDidFail(_:_:)", "effectDidFail(_:_:_:)"),
            ("shouldSelectTab(_:navigator:)", "shouldSelectTab(_:_:)"),
            ("didSelectTab(_:navigator:)", "didSelectTab(_:_:)"),
            ("childDidDeliver(_:from:navigator:)", "childDidDeliver(_:from:_:)"),
            ("childDidDeliver(_:from:)", "childDidDeliver(_:from:_:)"),
            ("childDidDeliver(_:_:)", "childDidDeliver(_:from:_:)"),
            ("screenWasRemoved(_:_:)", "extension MisspeltCoordinator: StackDelegate"),
            ("willBeRemoved(_:context:)", "willBeRemoved(_:in:)"), ("willBeRemoved(_:_:)", "willBeRemoved(_:in:)"),
            (
                "willBeRemoved(_: RemovalReason, in: NavigationContext)",
                "willBeRemoved(_: RemovalReason, in: EffectContext)"
            ),
            ("willBeRemoved(_:_:)", "willBeRemoved(_:in:)"), ("childDidFinsh(_:_:)", "childDidFinish(_:_:)"),
            ("titel(of:in:)", "title(of:in:)"), ("childWasDismissed(_:_:_:)", "childWasDismissed(_:_:)"),
            ("deviceDidPair(_:navigator:)", "deviceDidPair(_:_:)"), ("deviceDidPair(_:)", "deviceDidPair(_:_:)"),
        ]
        let problems = meant.map { "app “app”: misspelt declares \($0.0), which nobody calls: write \($0.1)" }
        #expect(app.mistakes == problems.sorted())
        #expect(app.problems == [])
    }

    /// Has what only a `TabBarDelegate` has.
    struct TabbedCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("tabbed")) }
        func shouldSelectTab(_ tab: String, _ navigator: inout Navigator) -> Bool { true }
        mutating func didSelectTab(_ tab: String, _ navigator: inout Navigator) async {}
    }

    @Test func `functions for tabs are named where they are not called`() {
        #expect(
            App("app", root: { TabbedCoordinator() }).mistakes
                == ["didSelectTab", "shouldSelectTab"].map {
                    "app “app”: tabbed declares \($0)(_:_:), which nobody calls: write extension TabbedCoordinator: "
                        + "TabBarDelegate"
                })
    }

    /// Has functions of its own that are called almost as those of a coordinator.
    struct HelpfulCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case go }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("helpful")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
        func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
            if let child = child as? TabbedCoordinator { childDidFinish(child, &navigator) }
        }
        func childDidFinish(_ child: TabbedCoordinator, _ navigator: inout Navigator) {}
        func childDidDeliver(_ value: any Sendable, from child: any Coordinator, _ navigator: inout Navigator) {}
        func title(of event: Event, isShort: Bool) -> String { isShort ? "G" : "Go" }
        func render(_ prices: [String: (_ count: Int) -> Int], _ separator: String) -> String { separator }
        func open(_ file: String) throws -> String { file }
        static func fields<Value>(of value: Value) -> [Value] { [value] }
    }

    @Test func `functions of the author's own may have similar names`() {
        #expect(App("app", root: { HelpfulCoordinator() }).mistakes == [])
    }

    struct LinkedCoordinator: Coordinator {
        static let links: [LinkPattern] = ["/a"]
        func start(_ navigator: inout Navigator) { navigator.push(Screen("linked")) }
    }

    struct OpeningCoordinator: Coordinator {
        func start(_ navigator: inout Navigator) { navigator.push(Screen("opening")) }
        func open(_ link: Link, _ navigator: inout Navigator) async throws -> LinkDecision { .pending }
    }

    @Test func `links that nobody opens are named, and an opener without links`() {
        #expect(
            App("app", root: { LinkedCoordinator() }).mistakes == [
                "app “app”: its coordinators declare links, such as “/a”, and none declares open(_:_:)"
            ])
        #expect(
            App("app", root: { OpeningCoordinator() }).mistakes == [
                "app “app”: opening declares open(_:_:), and no coordinator declares links"
            ])
        #expect(
            App("app", root: { OpeningCoordinator() }, coordinators: [LinkedCoordinator.self]).mistakes == [])
    }

    @Test func `a coordinator that no app lists is named`() {
        let unlisted = App.unlistedCoordinators(in: [App("app", root: { LinkedCoordinator() })])

        #expect(unlisted.contains("CoordinatorsTests.NearMissTests.OpeningCoordinator"))
        #expect(!unlisted.contains("CoordinatorsTests.NearMissTests.LinkedCoordinator"))
        #expect(unlisted.allSatisfy { $0.hasPrefix("CoordinatorsTests.") })
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

    struct DeafCoordinator: Coordinator {
        enum Signal: NavigationSignal {
            case paid, refunded
            static let external = Signal.paid
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("deaf")) }
        func receive(_ signal: Signal, _ navigator: inout Navigator) {}
    }

    struct NumberCoordinator: Coordinator {
        struct Signal: NavigationSignal {
            static let external = [Signal(amount: 1)]
            let amount: Int
            init(amount: Int) { self.amount = amount }
            init(from decoder: any Decoder) throws { amount = try Int(from: decoder) }
            func encode(to encoder: any Encoder) throws { try amount.encode(to: encoder) }
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("number")) }
        func receive(_ signal: Signal, _ navigator: inout Navigator) {}
    }

    struct HiddenCoordinator: Coordinator {
        enum Signal: NavigationSignal {
            case paid(reference: String?)
            static let external: [Signal] = [.paid(reference: nil)]
        }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("hidden")) }
        func receive(_ signal: Signal, _ navigator: inout Navigator) {}
    }

    @Test func `signals that other systems could not send are refused with the form that they must have`() {
        #expect(
            App("app", root: { DeafCoordinator() }).problems == [
                "app “app”: deaf.Signal.external is no list of them: write “static let external: [Signal] = […]”"
            ])
        #expect(
            App("app", root: { NumberCoordinator() }).problems == [
                "app “app”: number.Signal must be an enum whose Codable conformance is the compiler's"
            ])
        #expect(
            App("app", root: { HiddenCoordinator() }).problems == [
                "app “app”: hidden.Signal: the example of “paid” is nil: give one with a value, so that the payload is known"
            ])
    }
}
