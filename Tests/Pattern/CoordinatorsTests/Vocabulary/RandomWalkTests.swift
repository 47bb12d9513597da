import Coordinators
import CoordinatorsTesting
import JSONCoding
import TestSupport
import Testing

protocol Host {
    mutating func guestCalled(_ navigator: inout Navigator)
}

/// Does everything that is possible at any time.
struct WandererCoordinator: Coordinator, Host {
    static let place: LinkPattern = "/place/{id:integer}?from={from}&page={page:integer}"
    static let links: [LinkPattern] = ["/wanderer", place]
    var depth = 0
    var isCareful = false
    /// Whether its tab would be empty without it.
    var isFirstOfTab = false
    var isLoud = false

    enum Event: NavigationEvent {
        case leave, replaceTop, tell, finishLoudly, finish, push(id: Int), pushPlain, forbid, rename, replaceAll,
            popAll, start, sheet, cover, tabs, history,
            carefully,
            ask, fail, dismissAll, endAll, remember(Secret)
        static let examples: [Event] = [
            .leave, .replaceTop, .tell, .finishLoudly, .finish, .push(id: 7), .pushPlain, .forbid, .rename, .replaceAll,
            .popAll, .start, .sheet, .cover, .tabs, .history,
            .carefully, .ask, .fail, .dismissAll, .endAll, .remember("a secret"),
        ]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("wanderer", title: "\(depth)")) }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        switch event {
        case .start, .sheet, .cover, .tabs, .history: depth < 6
        case .finish, .finishLoudly, .tell: depth > 0 && !isFirstOfTab
        default: true
        }
    }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        guard isCareful else { return nil }
        return Alert("Leave?", buttons: [.cancel, .leave("leave", title: "Leave")])
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) throws {
        let child = WandererCoordinator(depth: depth + 1)
        switch event {
        case .push(let id):
            var params: JSONObject = ["id": .integer(id), "from": "a+b & c=d/é#%"]
            if depth > 0 { params["page"] = .integer(depth) }
            navigator.push(Screen("place", params: params, link: WandererCoordinator.place))
        case .leave: navigator.popTo("wanderer")
        case .replaceTop: navigator.setStack([Screen("wanderer", title: "again"), Screen("plain", back: .forbidden)])
        case .tell: navigator.tell((any Host).self) { host, navigator in host.guestCalled(&navigator) }
        case .finishLoudly:
            isLoud = true
            navigator.finish()
        case .finish: navigator.finish()
        case .pushPlain: navigator.push(Screen("plain"))
        case .forbid: navigator.push(Screen("receipt", events: ["push", "replaceAll", "endAll"], back: .forbidden))
        case .rename: navigator.defaults["renamed"] = 1.0
        case .replaceAll: navigator.setStack([Screen("wanderer"), Screen("plain")])
        case .popAll: navigator.popToRoot()
        case .start: navigator.start(child)
        case .sheet: navigator.present(child)
        case .cover: navigator.present(child, as: .fullScreen, isDismissable: true)
        case .tabs: navigator.start(TentsCoordinator(depth: depth + 1, back: .firstTab))
        case .history: navigator.start(TentsCoordinator(depth: depth + 1, back: .history))
        case .carefully: isCareful.toggle()
        case .ask: navigator.alert(Alert("?", buttons: [.ok, AlertButton("push", title: "", sends: Event.pushPlain)]))
        case .fail: throw TestError()
        case .dismissAll: navigator.dismissPresented()
        case .endAll: navigator.endChildren()
        case .remember(let secret): navigator.defaults["secret"] = .string(secret.value)
        }
    }

    func guestCalled(_ navigator: inout Navigator) { navigator.present(WandererCoordinator(depth: 6)) }

    func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        guard let child = child as? WandererCoordinator, child.isLoud else { return }
        navigator.alert(Alert("Finished"))
    }

    func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        if child is TentsCoordinator { navigator.push(Screen("struck")) }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        guard link.pattern.text != "/wanderer" else { return .passedOn }
        navigator.endChildren()
        navigator.push(Screen("place", params: link.params, link: link.pattern))
        return .taken
    }
}

/// Tabs, one of which holds a wanderer.
struct TentsCoordinator: Coordinator {
    var depth = 0
    var back = TabBackRule.nothing

    enum Event: NavigationEvent, CaseIterable { case pitch, strike }

    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("tents"),
            tabs: [
                Tab("x", Screen("x")),
                Tab("child", starting: WandererCoordinator(depth: depth + 1, isFirstOfTab: true)),
                Tab("y", Screen("y")),
            ],
            selected: back == .history ? "y" : nil, back: back)
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .pitch: navigator.selectTab("child")
        case .strike: navigator.finish()
        }
    }
}

/// Shows a prize to who has collected three stamps.
private struct StampsCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case stamp }

    var stamps = 0

    func start(_ navigator: inout Navigator) { navigator.push(Screen("card")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        stamps += 1
        if stamps == 3 { navigator.push(Screen("prize", events: [])) }
    }
}

/// Asks for what is impossible, in two ways.
private struct TwofoldCoordinator: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case arm, go }

    var isArmed = false

    func start(_ navigator: inout Navigator) { navigator.push(Screen("range", events: [Event.arm, .go])) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .arm: isArmed = true
        case .go where isArmed: navigator.popTo("nowhere")
        case .go: navigator.update("nowhere") { $0.title = "" }
        }
    }
}

/// Works until its counter reaches three; then it makes an impossible request.
struct BrokenCoordinator: Coordinator {
    var count = 0

    enum Event: NavigationEvent, CaseIterable { case idle, countUp, unwind }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("start")) }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .idle: break
        case .unwind: navigator.popToRoot()
        case .countUp:
            count += 1
            if count == 3 { navigator.popTo("nowhere") }
        }
    }
}

/// Its screen “place” has a link that leads to a screen with other parameters.
struct UnlinkedCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/place/{id:integer}"]

    enum Event: NavigationEvent, CaseIterable { case idle, go }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("start")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        guard event == .go else { return }
        navigator.push(Screen("place", params: ["id": 7, "more": 1], link: "/place/{id:integer}"))
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        navigator.push(Screen("place", params: link.params, link: link.pattern))
        return .taken
    }
}

/// Throws for one of its examples; has things that cannot be reached.
private struct RiskyCoordinator: Coordinator {
    static let links: [LinkPattern] = ["/here", "/ghosts/{id:integer}"]

    enum Event: NavigationEvent {
        case risk(Int), ask, never
        static let examples: [Event] = [.risk(1), .risk(2), .ask, .never]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("tabs"), tabs: [Tab("a", Screen("risky"))])
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        if case .never = event { false } else { true }
    }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        if case .risk(2) = event { throw TestError() }
        if case .ask = event { navigator.alert(Alert("Sure?")) }
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision { .taken }
}

private struct GhostCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case vanish }

    func start(_ navigator: inout Navigator) {}
    func handle(_ event: Event, _ navigator: inout Navigator) {}
}

/// Promises content that it does not have.
private struct HollowCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("hollow", hasContent: true)) }
}

/// Declares screens, and shows others.
private struct PromisingCoordinator: Coordinator {
    static let screens = [ScreenType("home"), ScreenType("bar"), ScreenType("never")]

    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("bar"), tabs: [Tab("a", Screen("home", params: ["odd": true])), Tab("b", Screen("other"))])
    }
}

@Suite(.simulatedTime) struct RandomWalkTests {
    private static let risky = App(
        "risky", root: { RiskyCoordinator() }, coordinators: [GhostCoordinator.self])
    static let wanderer = App("wanderer", root: { WandererCoordinator() }, coordinators: [TentsCoordinator.self])
    static let unlinked = App("unlinked", root: { UnlinkedCoordinator() })
    static let broken = App("broken", root: { BrokenCoordinator() })
    static let twofold = App("twofold", root: { TwofoldCoordinator() })

    @Test(arguments: [3, 11, 48, 67, 103] as [UInt64])
    func `no sequence of events breaks the session`(seed: UInt64) async throws {
        try await RandomWalk(RandomWalkTests.wanderer, seed: seed, count: 200, expecting: [TestError.self])
            .run(andCheck: DeltaCheck().fault)
    }

    @Test(arguments: [FlowApp.app, OpenTests.app, BossApp.app, DefaultsApp.app])
    func `no sequence of events breaks a small app`(app: App) async throws {
        try await RandomWalk(app, seed: 1, count: 100, expecting: [TestError.self]).run(andCheck: DeltaCheck().fault)
    }

    @Test func `a failed walk is reduced to the fewest events that show the fault`() async throws {
        let error = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(RandomWalkTests.broken, seed: 3).run()
        }

        #expect(error?.events.map(\.type) == ["countUp", "countUp", "countUp"])
        let lines = error?.description.split(separator: "\n") ?? []
        #expect(lines.first?.hasPrefix("// Seed 3: “countUp” is listed, but was refused: impossibleRequest") == true)
        #expect(lines.dropFirst().first == "var app = try await CoordinatorTester(app)")
        #expect(lines.dropFirst(2).map(String.init) == Array(repeating: "try await app.send(\"countUp\")", count: 3))
    }

    @Test func `a map has what takes several steps that show nothing`() async throws {
        let map = try await AppMap(exploring: App("stamps", root: { StampsCoordinator() }), limit: 10) {
            (run) async throws(NavigationError) in
            var run = run
            return try await run.result()
        }

        #expect(map?.drawn(as: .mermaid).contains("prize") == true && map?.isComplete == true)
    }

    @Test func `a failed walk is not reduced to another fault`() async throws {
        var reasons: [String: [String]] = [:]
        for seed in 1..<9 as Range<UInt64> {
            let error = await #expect(throws: RandomWalk.Failure.self) {
                try await RandomWalk(RandomWalkTests.twofold, seed: seed).run()
            }
            guard let error else { continue }
            reasons[error.reason.contains("popTo") ? "armed" : "unarmed"] = error.events.map(\.type)
        }

        #expect(reasons == ["armed": ["arm", "go"], "unarmed": ["go"]])
    }

    @Test func `a link that does not lead back to its screen is found`() async throws {
        let error = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(RandomWalkTests.unlinked, seed: 5).run()
        }

        #expect(error?.events == [PostedEvent("go")])
        #expect(error?.reason == "the link /place/7 of screen “place” leads elsewhere, or to other parameters")
    }

    @Test func `an error that is not expected fails the walk`() async throws {
        let failure = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(RandomWalkTests.risky, seed: 1).run()
        }
        #expect(failure?.reason == "handle(risk) of “risky” threw TestError, which is not expected")
        #expect(failure?.events == [PostedEvent("risk", payload: 2)])

        try await RandomWalk(RandomWalkTests.risky, seed: 1, expecting: [TestError.self]).run()
    }

    @Test func `content that cannot be made fails the walk`() async throws {
        let app = App("hollow", root: { HollowCoordinator() })
        let failure = await #expect(throws: RandomWalk.Failure.self) { try await RandomWalk(app, seed: 1).run() }
        #expect(failure?.reason.hasPrefix("screen “hollow” has no content: ") == true)
    }

    @Test func `what no walk reaches is named`() async throws {
        let failure = await #expect(throws: RandomWalk.TooLittle.self) {
            try await RandomWalk.cover(
                RandomWalkTests.risky, seeds: 0..<3, count: 30, expecting: [TestError.self],
                screens: ["risky", "prize"], atLeast: 0.9)
        }
        #expect(
            failure?.coverage.missed == [
                "coordinator ghost", "event ghost.vanish", "event risky.never", "link /ghosts/{id:integer}",
                "screen prize",
            ])
        // The coordinator, two events, a link, the screen, the alert and its button.
        #expect(failure?.coverage.description.hasPrefix("reached 7 of 12; never: coordinator ghost, ") == true)

        let coverage = try await RandomWalk.cover(
            RandomWalkTests.risky, seeds: 0..<3, count: 30, links: ["/ghosts/7"], expecting: [TestError.self],
            atLeast: 0.5)
        #expect(!coverage.missed.contains("link /ghosts/{id:integer}"))
    }

    @Test func `a screen that is not as declared is warned of, and one that is never shown is missed`() async throws {
        let coverage = try await RandomWalk.cover(
            App("promising", root: { PromisingCoordinator() }), seeds: 0..<1, count: 10, atLeast: 0.5)

        #expect(coverage.missed == ["screen never"])
        #expect(
            coverage.warnings == [
                "promising shows the screen “other”, which its screens do not list.",
                "the screen “home” is declared without parameters, and has some.",
            ])
    }

    @Test func `the same seed gives the same walk`() async throws {
        var failures: [String] = []
        for _ in 0..<2 {
            do {
                try await RandomWalk(RandomWalkTests.broken, seed: 11).run()
            } catch {
                failures.append("\(error)")
            }
        }

        #expect(failures.count == 2)
        #expect(failures.first == failures.last)
    }
}
