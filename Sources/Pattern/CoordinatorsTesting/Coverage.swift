public import Coordinators

/// The parts of an app that random walks have reached, and those that they have not.
///
/// The app's declaration names all coordinators, events, links and the signals of other systems. Other signals are known
/// only if a timer was to send them, or if an effect has; screens only if a coordinator declares them in `screens`, a
/// session has had them, or the test names them; alerts only for the last two reasons.
public struct Coverage: Sendable, CustomStringConvertible {
    /// The parts that were not reached, in alphabetical order: `coordinator cart`, `event cart.pay`,
    /// `signal cart.paid`, `link /films/{id}`, `screen receipt`, `alert Sure?`, `button Sure?/yes`.
    public var missed: [String] { known.subtracting(reached).sorted() }

    /// The share of the known parts that was reached, from 0 to 1.
    public var share: Double { known.isEmpty ? 1 : Double(reached.count) / Double(known.count) }

    /// Sentences about what the author can hardly want, though it is no error: those of `CoordinatorTester.warnings`,
    /// screens that do not keep to their declarations, and flows that nothing ends.
    public var warnings: [String] {
        let fixed = translated.isEmpty ? [] : titled.subtracting(translated).sorted()
        let words = fixed.map {
            "the title of screen “\($0)” is the same for every device, which others of the app are not."
        }
        return warned.sorted() + words
            + (findings.hiddenScreens + findings.blockingCalls + findings.endlessFlows).map { "\($0)." }
    }

    var findings = Findings()
    private var known: Set<String> = []
    private var reached: Set<String> = []
    private var warned: Set<String> = []
    /// The names of the screens that have a title, and of those whose title differs between devices.
    private var titled: Set<String> = []
    private var translated: Set<String> = []

    init(of app: App, screens: [String] = [], alerts: [String] = []) {
        for coordinator in app.coordinators {
            known.insert("coordinator \(coordinator.name)")
            known.formUnion(coordinator.events.map { Coverage.event($0.name, of: coordinator.name) })
        }
        known.formUnion(app.externalSignals.map(Coverage.signal))
        known.formUnion(app.links.map { "link \($0.text)" })
        known.formUnion((app.declaredScreens + screens).map { "screen \($0)" } + alerts.map { "alert \($0)" })
    }

    /// How many parts were reached, which ones were not, and the warnings.
    public var description: String {
        let total = "reached \(reached.count) of \(known.count)"
        let reach = missed.isEmpty ? total : "\(total); never: \(missed.joined(separator: ", "))"
        return ([reach] + warnings).joined(separator: "\n")
    }

    public mutating func formUnion(_ other: Coverage) {
        known.formUnion(other.known)
        reached.formUnion(other.reached)
        warned.formUnion(other.warned)
        titled.formUnion(other.titled)
        translated.formUnion(other.translated)
        findings.formUnion(other.findings)
    }

    /// A transition that was tried.
    package struct Visit {
        /// `nil` for the first transition of a session, and if the cause was no event.
        let event: PostedEvent?
        /// The signal that a coordinator received.
        var signal: (coordinator: String, signal: String)?
        let before: NavigationState
        package let result: TransitionResult
    }

    /// Notes what a transition did.
    mutating func note(_ visit: Visit, in app: App) {
        let (before, result) = (visit.before, visit.result)
        if let event = visit.event { note(event, in: app, before) }
        if let signal = visit.signal { reach(Coverage.signal(signal)) }
        findings.note(visit.event?.type, from: before, to: result)
        let state = result.state
        for work in state.pending {
            guard let signal = work.signal, let coordinator = state[work.coordinator] else { continue }
            known.insert(Coverage.signal((coordinator.name, signal)))
        }
        warned.formUnion(state.warnings + state.breaches(ofScreensOf: app).map { "\($0)." })
        for coordinator in state.coordinators { reach("coordinator \(coordinator.name)") }
        for name in result.transition.finished + result.transition.dismissed { reach("coordinator \(name)") }
        // A user sees the screens in the tabs, and never the one that holds them.
        known.formUnion(state.screens.filter { $0.tabs == nil }.map { "screen \($0.screen.name)" })
        for placed in state.screens where placed.tabs != nil && known.contains("screen \(placed.screen.name)") {
            reach("screen \(placed.screen.name)")
        }
        if let visible = state.visible { reach("screen \(visible.screen.name)") }
        if let alert = state.alert?.alert {
            reach("alert \(alert.title)")
            known.formUnion(alert.buttons.map { Coverage.button($0.id, of: alert) })
        }
    }

    /// Notes which titles differ between two devices.
    mutating func noteWords(of state: NavigationState, _ other: NavigationState) {
        for (screen, drawn) in zip(state.screens, other.screens) where screen.tabs == nil {
            if screen.screen.title != nil { titled.insert(screen.screen.name) }
            if screen.screen.title != drawn.screen.title { translated.insert(screen.screen.name) }
        }
    }

    private mutating func note(_ event: PostedEvent, in app: App, _ before: NavigationState) {
        switch BuiltInEvent(rawValue: event.type) {
        case .answer:
            if let alert = before.alert?.alert, let id = event.payload?["button"]?.string {
                reach(Coverage.button(id, of: alert))
                if let button = alert.buttons.first(where: { $0.id == id }), let sent = button.eventName,
                    let author = before.alert.flatMap({ before[$0.coordinator] })
                {
                    reach(Coverage.event(sent, of: author.name))
                }
            }
        case .open where before.alert == nil:
            if let path = event.payload?["path"]?.string, let link = try? app.link(path) {
                reach("link \(link.pattern.text)")
            }
        case nil:
            if let recipient = before.recipient(of: event.type) {
                reach(Coverage.event(event.type, of: recipient.coordinator.name))
            }
        default: break
        }
    }

    private mutating func reach(_ part: String) {
        known.insert(part)
        reached.insert(part)
    }

    private static func event(_ name: String, of coordinator: String) -> String { "event \(coordinator).\(name)" }

    private static func signal(_ signal: (coordinator: String, signal: String)) -> String {
        "signal \(signal.coordinator).\(signal.signal)"
    }

    private static func button(_ id: String, of alert: Alert) -> String { "button \(alert.title)/\(id)" }
}

extension NavigationState {
    /// A sentence for each screen that has a link pattern but no link.
    var warnings: [String] {
        screens.filter(\.isUnlinked).map { placed in
            let reason = placed.screen.link?.reasonForNoPath(placed.screen.params) ?? ""
            return "screen “\(placed.screen.name)” has no link: \(reason)."
        }
    }
}

extension RandomWalk {
    /// Tries every event in every state that it finds, as `coordinatord graph` does, then walks with many seeds, and requires
    /// that enough of the app was reached. Prints the parts that were not reached and the `Coverage.warnings`.
    ///
    /// ```swift
    /// @Test func `random walks reach everything`() async throws {
    ///     try await RandomWalk.cover(Shop.app, links: ["/products/42"], screens: ["receipt"])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - app: evaluated again for each walk, so that no walk finds what another one has left in a service.
    ///   - screens: the names of screens that must be reached. Without them, a screen that no walk reaches is not
    ///     known.
    ///   - alerts: the titles of alerts that must be reached, for the same reason.
    ///   - least: the share that must be reached, from 0 to 1.
    /// - Throws: the `Failure` of the first walk that fails, or `TooLittle`.
    @discardableResult
    public static func cover(
        _ app: @autoclosure () -> App, seeds: Range<UInt64> = 0..<20, count: Int = 300,
        now: Date = CoordinatorTester.someTime, client: ClientInfo? = nil,
        links: [String] = [], expecting expected: [any Error.Type] = [], screens: [String] = [], alerts: [String] = [],
        atLeast least: Double = 1
    ) async throws -> Coverage {
        let first = app()
        var coverage = Coverage(of: first, screens: screens, alerts: alerts)
        let explored = app()
        // What fails here fails in a walk, too, which says how.
        _ = try? await AppMap(
            exploring: explored, limit: exploredStates, client: client,
            visit: { coverage.note($0, in: explored) },
            by: { (run) async throws(NavigationError) in
                var findings = Findings()
                return try await run.wholeResult(&findings)
            })
        for seed in seeds {
            let walk = RandomWalk(
                app(), seed: seed, count: count, now: now, client: client, links: links, expecting: expected)
            coverage.formUnion(try await walk.run())
        }
        if !coverage.missed.isEmpty || !coverage.warnings.isEmpty { print("app “\(first.name)”: \(coverage)") }
        guard coverage.share >= least else { throw TooLittle(coverage: coverage, least: least) }
        return coverage
    }

    /// As many as the server's console explores.
    private static let exploredStates = 500

    /// Random walks have reached less than was required.
    public struct TooLittle: Error, CustomStringConvertible {
        public let coverage: Coverage
        public let least: Double

        public var description: String { "\(coverage); required: \(least) of all" }
    }
}
