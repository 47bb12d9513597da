import Coordinators
import CoordinatorsTesting
import JSONCoding
import TestSupport
import Testing

private struct Purse: SharedState {
    var coins = 0
}

private struct Player: SharedState {
    static let survivesRelaunch = true
    var name = "nobody"
}

private protocol CoinObserver {
    mutating func coinsDidChange()
}

/// A bar with the purse in one tab and a game in the other.
private struct TillCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case earn(Int)
        case spend, sign
        static let examples: [Event] = [.earn(1), .spend, .sign]
    }

    static let everywhere = Event.examples

    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("bar"),
            tabs: [Tab("game", starting: GameCoordinator()), Tab("purse", title: "Purse", Screen("purse"))])
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        if case .spend = event { context.shared[Purse.self].coins > 0 } else { true }
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let coins = context.shared[Purse.self].coins
        screen.tabs["purse"]?.badge = coins == 0 ? nil : "\(coins)"
        screen.tabs["purse"]?.title = context.client.language == "de" ? "Beutel" : "Purse"
        if screen.name == "purse" { screen.title = "\(coins) coins of \(context.shared[Player.self].name)" }
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .earn(let coins): navigator.shared[Purse.self].coins += coins
        case .spend: navigator.shared[Purse.self].coins -= 1
        case .sign: navigator.shared[Player.self].name = "Ann"
        }
        navigator.tellChildren((any CoinObserver).self) { observer, _ in observer.coinsDidChange() }
    }
}

private struct GameCoordinator: Coordinator, CoinObserver {
    var changes = 0

    func start(_ navigator: inout Navigator) { navigator.push(Screen("game")) }

    func render(_ screen: inout Screen, in context: NavigationContext) { screen.params["changes"] = .integer(changes) }

    func shouldLeave(_ screen: Screen, in context: NavigationContext) -> Alert? {
        context.shared[Purse.self].coins > 5 ? Alert("So rich?", buttons: [.leave("go", title: "Go"), .cancel]) : nil
    }

    mutating func coinsDidChange() { changes += 1 }
}

private let app = App(
    "purse", root: { TillCoordinator() }, coordinators: [GameCoordinator.self], shared: [Purse.self, Player.self])

@Suite struct ContextTests {
    @Test func `a shared value is drawn on every screen that depends on it, in one transition`() async throws {
        var bar = try await CoordinatorTester(app)
        #expect(bar.state.screens.map(\.screen.title) == [nil, nil, "0 coins of nobody"])

        try await bar.send("earn", 3)

        #expect(bar.state.screens.last?.screen.title == "3 coins of nobody")
        #expect(bar.state.stack.screens[0].tabs?.items[1].badge == "3")
        #expect(bar.state.screens[1].screen.params == ["changes": 1])
        let (game, purse, tabs) = (bar.state.screens[1].key, bar.state.screens[2].key, bar.state.screens[0].key)
        #expect(bar.transition.operations == [.update(key: tabs), .update(key: game), .update(key: purse)])
    }

    @Test func `what is enabled, and what may be left, depends on shared values`() async throws {
        var bar = try await CoordinatorTester(app)
        #expect(!bar.events.contains("spend"))
        try await bar.send("earn", 6)
        #expect(bar.events.contains("spend"))

        try await bar.selectTab("purse")
        #expect(bar.alert?.title == "So rich?")
        try await bar.back()
        try await bar.send("spend")
        try await bar.selectTab("purse")

        #expect(bar.tabs == ["game", "purse*"])
    }

    @Test func `the client's language changes what is drawn`() async throws {
        var bar = try await CoordinatorTester(app)

        try await bar.send("describeClient", ["locale": "de-AT"])

        #expect(bar.state.stack.screens[0].tabs?.items[1].title == "Beutel")
        #expect(bar.transition.operations == [.update(key: bar.state.screens[0].key)])
    }

    @Test func `only values that survive it are left after a relaunch`() async throws {
        var bar = try await CoordinatorTester(app)
        try await bar.send("earn", 3)
        try await bar.send("sign")

        try await bar.relaunch()

        #expect(bar.state.screens.last?.screen.title == "0 coins of Ann")
    }

    @Test func `shared values are saved and restored, and left out of a record if they are as in its base`()
        async throws
    {
        var bar = try await CoordinatorTester(app)
        try await bar.send("earn", 3)
        let base = bar.state
        try await bar.selectTab("purse")

        #expect(bar.saved["shared"] == ["purse": ["coins": 3]])
        let delta = JSONWriter.bytes(capacity: 100) { bar.state.save(to: &$0, against: SharedParts(of: base)) }
        let saved = try JSON(parsing: delta)
        #expect(saved["shared"] == nil)
        #expect(try NavigationState.completed(saved, from: JSON(parsing: base.encoded)) == bar.saved)
        #expect(try await CoordinatorTester(app, restoring: bar.saved).state == bar.state)
    }

    @Test func `a value of a type that the app does not list is refused`() async throws {
        let forgetful = App("forgetful", root: { TillCoordinator() }, coordinators: [GameCoordinator.self])
        var bar = try await CoordinatorTester(forgetful)

        await #expect(
            throws: CoordinatorTester.Failure(
                .impossibleRequest(
                    coordinator: "till", request: "shared[Purse.self]",
                    reason: "the app's list of shared states lacks it"))
        ) { try await bar.send("earn", 3) }
    }

    @Test func `a refused event names those that are accepted`() async throws {
        var bar = try await CoordinatorTester(app)
        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await bar.send("spend") }
        #expect(
            failure?.description.hasSuffix(
                "“spend” was refused: eventNotAccepted; accepted now: earn, sign, selectTab, relaunch, describeClient")
                == true)
    }

    @Test(arguments: [1, 2, 3])
    func `a random walk finds nothing`(seed: UInt64) async throws {
        try await RandomWalk(app, seed: seed).run()
    }

    @Test func `a random walk finds a screen that is drawn differently each time`() async throws {
        let failure = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(App("growing", root: { GrowingCoordinator() }), seed: 1).run()
        }
        #expect(failure?.reason == "“render” changes the screen “growing” each time it is called")
    }

    /// Only a clerk's terminal shows what a customer owes, but the screen keeps it for whoever looks next.
    struct LeakyCoordinator: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case go }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("account")) }
        func handle(_ event: Event, _ navigator: inout Navigator) {}
        func render(_ screen: inout Screen, in context: NavigationContext) {
            if context.client.platform == "tv" { screen.params["debt"] = 100 }
        }
    }

    @Test func `a random walk finds what is left of a drawing for another device`() async throws {
        let failure = await #expect(throws: RandomWalk.Failure.self) {
            try await RandomWalk(App("leaky", root: { LeakyCoordinator() }), seed: 1, count: 2).run()
        }
        #expect(
            failure?.reason == """
                “render” leaves on the screen “account” what it has drawn for another device: what it sets for one client, \
                it must set for all
                """)
    }
}

private struct GrowingCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("growing", title: "a")) }

    func render(_ screen: inout Screen, in context: NavigationContext) { screen.title? += "a" }
}

/// A menu whose text is fetched as content, in the user's language.
private struct MenuCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.setStack([Screen("counter"), Screen("menu", hasContent: true)])
    }

    func content(of screen: Screen, in context: ContentContext) -> JSONObject {
        ["soup": context.client.language == "de" ? "Suppe" : "Soup"]
    }
}

@Suite struct TranslatedContentTests {
    @Test func `clients fetch contents again after the user has changed the language, and only then`() async throws {
        var session = try await CoordinatorTester(App("menu", root: { MenuCoordinator() }))
        let key = try #require(session.state.visible?.key)

        try await session.send("describeClient", ["locale": "de-AT"])
        #expect(session.state.screens.map(\.screen.contentVersion) == [0, 1])
        #expect(session.transition.operations == [.update(key: key)])
        #expect(try await session.content() == ["soup": "Suppe"])

        try await session.send("describeClient", ["locale": "de-AT", "version": "2"])
        #expect(session.state.visible?.screen.contentVersion == 1 && session.transition.operations.isEmpty)
    }
}
