internal import Coordinators
internal import JSONCoding

/// A random walk under way: the session, what was posted, and the checks after each event.
struct Walk {
    private let app: App
    private let now: Date
    private(set) var state: NavigationState
    /// The events posted so far.
    private(set) var events: [PostedEvent] = []
    /// The paths that `open` may be posted with: those of the app and of the caller, and those of the visible screens
    /// so far.
    private var links: [String]
    /// The links that were checked, each with its screen.
    private var followedLinks: Set<String> = []
    /// The screens whose content was fetched.
    private var screensWithFetchedContent: Set<String> = []
    private(set) var coverage: Coverage
    /// The names of the types of errors that may be thrown.
    private let expected: Set<String>
    /// See `RandomWalk.run(andCheck:)`.
    private let otherCheck: RandomWalk.Check

    typealias Problem = RandomWalk.Problem

    init(
        _ app: App, at now: Date, client: ClientInfo? = nil, links: [String] = [],
        expecting expected: [any Error.Type] = [],
        andCheck otherCheck: @escaping RandomWalk.Check = { _, _ in nil }
    ) async throws(Problem) {
        self.app = app
        self.now = now
        self.otherCheck = otherCheck
        self.links = app.links.compactMap { $0.path([:]) } + links
        self.expected = Set(expected.map { String(describing: $0) })
        self.coverage = Coverage(of: app)
        guard app.problems.isEmpty else {
            throw Problem(kind: .refused, reason: app.problems.joined(separator: "; "))
        }
        let first: TransitionResult
        do throws(NavigationError) {
            var run = try app.beginLaunch(at: now, client: client)
            run.origin = .test()
            first = try await run.watchedResult(&coverage.findings)
        } catch {
            throw Problem(kind: .refused, reason: "the app does not start: \(error)")
        }
        state = first.state
        coverage.note(nil, in: app, from: NavigationState(), to: first)
        try await check(first, since: NavigationState())
    }

    /// Posts an event that is accepted, and checks the result.
    mutating func step(_ event: PostedEvent) async throws(Problem) {
        events.append(event)
        let before = state
        let result: TransitionResult
        do throws(NavigationError) {
            var run = try app.begin(event, on: state, at: now)
            run.origin = .test(transition: events.count + 1)
            result = try await run.wholeResult(&coverage.findings)
        } catch {
            try requireAllowed(error, of: event)
            return
        }
        coverage.note(event, in: app, from: before, to: result)
        // A long walk must not keep other tasks waiting.
        await Task.yield()
        state = result.state
        if event.type == BuiltInEvent.back.rawValue { try check(before, result.transition.operations) }
        try checkRemoved(since: before, result.transition)
        try await check(result, since: before)
    }

    /// Returns if a walk goes on after the refusal of an event that is listed as accepted, otherwise throws.
    private func requireAllowed(_ error: NavigationError, of event: PostedEvent) throws(Problem) {
        switch error {
        case .overloaded, .stackLimit, .depthLimit, .stateLimit, .linkNotTaken, .unknownLink: return
        case .invalidEvent where BuiltInEvent(rawValue: event.type) != nil: return
        case .handlerFailed(let coordinator, let call, let thrown):
            guard !expected.contains(thrown.type) else { return }
            throw Problem(kind: .thrown, reason: "\(call) of “\(coordinator)” threw \(thrown), which is not expected")
        case .eventNotAccepted, .answerFirst, .unknownEvent, .signalNotAccepted, .unknownSignal, .invalidEvent,
            .staleScreen, .nothingToGoBack,
            .impossibleRequest,
            .runawayTransition, .invariantViolated:
            throw Problem(kind: .refused, reason: "“\(event.type)” is listed, but was refused: \(error)")
        }
    }
}

// What is posted next.
extension Walk {
    func chooseEvent(with numbers: inout SplitMix64) -> PostedEvent {
        let accepted = state.acceptedEvents
        let others = accepted.filter { $0 != BuiltInEvent.relaunch.rawValue }
        let relaunches = isNearLimit || Int.random(in: 0..<Walk.eventsPerRelaunch, using: &numbers) == 0
        if others.isEmpty || (relaunches && others.count < accepted.count) {
            return PostedEvent(BuiltInEvent.relaunch.rawValue)
        }
        let type = others.randomElement(using: &numbers) ?? BuiltInEvent.relaunch.rawValue
        let payload =
            BuiltInEvent(rawValue: type).map { self.payload(of: $0, with: &numbers) }
            ?? state.recipient(of: type)?.event.unmaskedPayloads.randomElement(using: &numbers) ?? nil
        return PostedEvent(type, payload: payload)
    }

    /// The approximate mean number of events from one `relaunch` to the next.
    private static let eventsPerRelaunch = 60

    private var isNearLimit: Bool {
        state.visibleStacks.contains { $0.screens.count > NavigationState.stackLimit * 3 / 4 }
            || state.encoded.count > app.sizeLimit * 3 / 4
    }

    private func payload(of event: BuiltInEvent, with numbers: inout SplitMix64) -> JSON? {
        switch event {
        case .back, .backToRoot, .relaunch:
            return nil
        case .backTo:
            let screen = state.visibleStacks.flatMap(\.screens).randomElement(using: &numbers)
            guard let screen else { return nil }
            return Bool.random(using: &numbers) ? ["key": .string(screen.key)] : ["name": .string(screen.screen.name)]
        case .selectTab:
            let tabs = state.visibleStacks.compactMap { $0.screens.last?.tabs }.randomElement(using: &numbers)
            guard let tabs, let index = tabs.items.indices.randomElement(using: &numbers) else { return nil }
            return Bool.random(using: &numbers) ? ["tab": .string(tabs.items[index].id)] : ["index": .integer(index)]
        case .dismiss:
            let flow = state.presented.randomElement(using: &numbers)
            return Bool.random(using: &numbers) ? nil : flow.map { ["key": .string($0.key)] }
        case .answer:
            guard let alert = state.alert, let button = alert.alert.buttons.randomElement(using: &numbers) else {
                return nil
            }
            return Bool.random(using: &numbers)
                ? ["button": .string(button.id)] : ["button": .string(button.id), "alert": .string(alert.key)]
        case .open:
            return ["path": .string(links.randomElement(using: &numbers) ?? "/")]
        case .describeClient:
            return ["locale": .string(["de", "en-GB", "ko"].randomElement(using: &numbers) ?? "en")]
        }
    }
}

// What holds after every event.
extension Walk {
    private mutating func check(_ result: TransitionResult, since before: NavigationState) async throws(Problem) {
        do throws(NavigationError) {
            try state.checkInvariants()
        } catch {
            throw Problem(kind: .invariant, reason: "\(error)")
        }
        try checkDrawing()
        try checkSaving()
        if let reason = otherCheck(before, result) { throw Problem(kind: .other, reason: reason) }
        try await askForContent()
        try await followLink()
    }

    private mutating func askForContent() async throws(Problem) {
        guard let placed = state.visible, placed.screen.hasContent,
            screensWithFetchedContent.insert("\(placed.screen.name) \(JSON.object(placed.screen.params))").inserted
        else { return }
        do throws(NavigationError) {
            _ = try await ContentRun(of: placed.key, in: state, of: app, session: "s_test", at: now)?.text()
        } catch .overloaded {
            return
        } catch .handlerFailed(_, _, let thrown) where expected.contains(thrown.type) {
            return
        } catch {
            throw Problem(kind: .content, reason: "screen “\(placed.screen.name)” has no content: \(error)")
        }
    }

    private func checkRemoved(since before: NavigationState, _ transition: Transition) throws(Problem) {
        var named = transition.finished + transition.dismissed
        for coordinator in before.coordinators where state[coordinator.id] == nil {
            guard let index = named.firstIndex(of: coordinator.name) else {
                throw Problem(
                    kind: .removed, reason: "“\(coordinator.name)” is gone, but neither finished nor dismissed")
            }
            named.remove(at: index)
        }
    }

    private mutating func checkSaving() throws(Problem) {
        let saved = state.encoded
        guard let json = try? JSON(parsing: saved, maximumDepth: 512), let restored = try? app.restore(json).state
        else {
            throw Problem(kind: .restoring, reason: "the saved state cannot be restored")
        }
        guard restored == state, restored.encoded == saved else {
            throw Problem(kind: .restoring, reason: "the restored state differs from the saved one")
        }
        guard restored.acceptedEvents == state.acceptedEvents else {
            throw Problem(kind: .restoring, reason: "the restored state accepts other events than the saved one")
        }
    }

    private func checkDrawing() throws(Problem) {
        if let screen = state.screenDrawnDifferently {
            throw Problem(kind: .drawing, reason: "“render” changes the screen “\(screen)” each time it is called")
        }
    }

    /// Requires that `back` did what was predicted. A coordinator may have shown an alert first, or made further
    /// requests when it was notified.
    private func check(_ before: NavigationState, _ operations: [Operation]) throws(Problem) {
        let plan = before.backPlan
        var isAsked = false
        if case .alert? = operations.first { isAsked = true }
        guard isAsked == plan.map({ before.asks(before: $0) }) else {
            throw Problem(kind: .back, reason: "“back” did not ask first as it was predicted")
        }
        if isAsked { return }
        let revealed: String
        switch (plan, operations.first) {
        case (.dismissAlert?, .dismissAlert?):
            return
        case (.pop(let key, let next)?, .pop(let done, _)?) where key == done,
            (.dismiss(let key, let next)?, .dismiss(let done)?) where key == done,
            (.selectTab(let key, _, let next)?, .selectTab(let done, _)?) where key == done:
            revealed = next
        case (.selectTab(let key, _, _)?, _) where before.isDelegate(ofTabsOn: key):
            // The delegate has selected another tab than `back`.
            return
        default:
            throw Problem(kind: .back, reason: "“back” did not do what was predicted")
        }
        guard operations.count > 1 || state.visible?.key == revealed else {
            throw Problem(kind: .back, reason: "“back” did not show the screen that was predicted")
        }
    }

    /// Requires that the visible screen's link leads to the same screen in a fresh session, or in this one, in case the
    /// screen depends on what the session holds. A link that stays pending, or that shows an alert first, proves
    /// nothing.
    private mutating func followLink() async throws(Problem) {
        guard let screen = state.visible?.screen, let path = screen.link?.path(screen.params),
            followedLinks.insert("\(path) \(screen.name) \(JSON.object(screen.params))").inserted
        else { return }
        if !links.contains(path) { links.append(path) }
        do throws(NavigationError) {
            var run = try app.beginLaunch(at: now, link: path)
            if try await Walk.leads(run.result().state, to: screen) || state.alert != nil { return }
            let open = PostedEvent(BuiltInEvent.open.rawValue, payload: ["path": .string(path)])
            if try await Walk.leads(app.apply(open, to: state, at: now).state, to: screen) { return }
        } catch .handlerFailed, .overloaded {
            return
        } catch {
            throw Problem(kind: .link, reason: "the link \(path) of screen “\(screen.name)” does not open: \(error)")
        }
        throw Problem(
            kind: .link, reason: "the link \(path) of screen “\(screen.name)” leads elsewhere, or to other parameters")
    }

    /// Whether the screen is visible, or cannot be because of a pending link or an alert.
    private static func leads(_ state: NavigationState, to screen: Screen) -> Bool {
        guard state.pendingLink == nil, state.alert == nil, let found = state.visible?.screen else { return true }
        return found.name == screen.name && found.params == screen.params && found.link == screen.link
    }
}

extension NavigationState {
    /// Whether the coordinator of the screen of that key is a `TabBarDelegate`.
    fileprivate func isDelegate(ofTabsOn key: String) -> Bool {
        screens.first { $0.key == key }.flatMap { self[$0.coordinator] }?.coordinator is any TabBarDelegate
    }
}
