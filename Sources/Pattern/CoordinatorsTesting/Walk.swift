internal import Coordinators
internal import JSONCoding

/// A random walk under way: the session, what was done to it, and the checks after each step.
struct Walk {
    private let app: App
    private var now: Date
    private(set) var state: NavigationState
    /// The steps so far.
    private(set) var steps: [RandomWalk.Step] = []
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
        self.links = app.examplePaths + links
        self.expected = Set((expected + [EffectFailure.self]).map { String(describing: $0) })
        self.coverage = Coverage(of: app)
        let mistakes = app.mistakes
        guard mistakes.isEmpty else {
            throw Problem(kind: .refused, reason: mistakes.joined(separator: "; "))
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
        coverage.note(Coverage.Visit(event: nil, before: NavigationState(), result: first), in: app)
        try await check(first, since: NavigationState())
    }

    /// Takes a step that `accepts` has allowed, and checks the result.
    mutating func step(_ step: RandomWalk.Step) async throws(Problem) {
        steps.append(step)
        let app = app
        switch step {
        case .event(let event):
            try await apply(event, named: event.type) { state, now throws(NavigationError) in
                try app.begin(event, on: state, at: now)
            }
        case .signal(let signal): try await carryOut(.signal(signal), named: signal.type)
        case .pair:
            let device = PairedDevice(label: nil, role: app.roles.last, pairedAt: now)
            try await carryOut(.pairing(device), named: "deviceDidPair")
        case .use(let role):
            do throws(NavigationError) {
                state = try app.drawing(of: state, for: Device(2, role: app.role(role), state.client))
            } catch {
                throw Problem(kind: .drawing, reason: "it cannot be drawn for the role “\(role)”: \(error)")
            }
        case .advance(let duration): try await advance(by: duration)
        case .perform(let id):
            guard let effect = state.effect(id),
                let outcome = await EffectOutcome(of: effect, in: state, of: app, at: now)
            else { return }
            try await carryOut(.effect(effect.number, outcome), named: effect.id)
        case .fail(let id):
            guard let effect = state.effect(id) else { return }
            try await carryOut(.effect(effect.number, .failed(EffectFailure())), named: effect.id)
        }
    }

    private mutating func advance(by duration: Duration) async throws(Problem) {
        let end = now.later(by: duration)
        var count = 0
        while let timer = state.timersDue(at: end).first, let due = timer.due {
            count = due > now ? 1 : count + 1
            guard count <= CoordinatorTester.timersAtOnce else {
                throw Problem(
                    kind: .timers, reason: "timer “\(timer.id)” is scheduled again and again without delay")
            }
            now = max(now, due)
            try await carryOut(.timer(timer.number), named: timer.id)
        }
        now = end
    }

    private mutating func carryOut(_ occurrence: Occurrence, named name: String) async throws(Problem) {
        let app = app
        let isOver = try await apply(nil, named: name) { state, now throws(NavigationError) in
            try app.begin(occurrence, on: state, at: now)
        }
        guard !isOver else { return }
        // A server tries again a few times, then gives up.
        switch occurrence {
        case .timer(let number), .effect(let number, _): state = app.dropping(number, from: state)?.state ?? state
        case .signal, .pairing: break
        }
    }

    /// Carries out a transition.
    ///
    /// - Returns: whether it was; `false` if it was refused for a reason that is no problem.
    @discardableResult
    private mutating func apply(
        _ event: PostedEvent?, named name: String,
        begin: (NavigationState, Date) throws(NavigationError) -> TransitionRun?
    ) async throws(Problem) -> Bool {
        let before = state
        let visit: Coverage.Visit
        do throws(NavigationError) {
            guard var run = try begin(state, now) else { return true }
            run.origin = .test(transition: steps.count + 1)
            let signal = run.receivedSignal
            visit = Coverage.Visit(
                event: event, signal: signal, before: before, result: try await run.wholeResult(&coverage.findings))
        } catch {
            try requireAllowed(error, of: name, isBuiltIn: event.flatMap { BuiltInEvent(rawValue: $0.type) } != nil)
            return false
        }
        let result = visit.result
        coverage.note(visit, in: app)
        // A long walk must not keep other tasks waiting.
        await Task.yield()
        state = result.state
        if event?.type == BuiltInEvent.back.rawValue { try check(before, result.transition.operations) }
        if let fault = PlainClient.fault(before, result) {
            throw Problem(kind: .client, reason: "a client that performs the operations gets another state: \(fault)")
        }
        try checkRemoved(since: before, result.transition)
        try await check(result, since: before)
        return true
    }

    /// Returns if a walk goes on after the refusal of a step that is listed as accepted, otherwise throws.
    private func requireAllowed(
        _ error: NavigationError, of name: String, isBuiltIn: Bool
    ) throws(Problem) {
        switch error {
        case .overloaded, .stackLimit, .depthLimit, .nestingLimit, .workLimit, .stateLimit, .signalRefused,
            .linkNotTaken, .unknownLink:
            return
        case .invalidEvent(let event) where isBuiltIn || event.faults.allSatisfy { $0.code == .refused }: return
        case .handlerFailed(let coordinator, let call, let thrown):
            guard !expected.contains(thrown.type) else { return }
            throw Problem(kind: .thrown, reason: "\(call) of “\(coordinator)” threw \(thrown), which is not expected")
        case .eventNotAccepted, .payloadNotOffered, .notForRole, .answerFirst, .unknownEvent, .signalNotAccepted,
            .unknownSignal,
            .invalidEvent, .staleScreen, .nothingToGoBack, .impossibleRequest, .linkLimit, .runawayTransition,
            .invariantViolated:
            throw Problem(kind: .refused, reason: "“\(name)” is listed, but was refused: \(error)")
        }
    }
}

// What comes next.
extension Walk {
    /// Whether a step can be taken now.
    func accepts(_ step: RandomWalk.Step) -> Bool {
        switch step {
        case .event(let event): state.accepts(event) && mayAnswer(event)
        case .signal(let signal): state.acceptedSignals.contains { $0.signal.name == signal.type }
        case .perform(let id), .fail(let id): state.effect(id) != nil
        case .pair: app.isToldOfDevices
        case .use(let role): state.role?.name != role
        case .advance: true
        }
    }

    /// Whether an answer presses a button of the alert that is shown, which the device may press.
    private func mayAnswer(_ event: PostedEvent) -> Bool {
        guard event.type == BuiltInEvent.answer.rawValue, let alert = state.alert else { return true }
        let button = alert.alert.buttons.first { $0.id == event.payload?["button"]?.string }
        return button.map { state.mayPress($0, of: alert) } ?? false
            && event.payload?["alert"].map { $0.string == alert.key } ?? true
    }

    func chooseStep(with numbers: inout SplitMix64) -> RandomWalk.Step {
        let others = stepsWithoutUser
        // A device may have nothing to post: what is visible is for another role.
        let isStuck = state.acceptedEvents.isEmpty
        guard !others.isEmpty, isStuck || Int.random(in: 0..<Walk.stepsPerOther, using: &numbers) == 0,
            let step = others.randomElement(using: &numbers)
        else { return .event(chooseEvent(with: &numbers)) }
        return step
    }

    /// While something else than an event is possible: how many steps there are for each that is none.
    private static let stepsPerOther = 3

    /// Each outcome of each effect, the signals of other systems, another device, and the time until the next timer, and
    /// half of it, so that timers that wait for idleness may be overtaken.
    private var stepsWithoutUser: [RandomWalk.Step] {
        var steps = state.effects.flatMap { [.perform(effect: $0.id), .fail(effect: $0.id)] as [RandomWalk.Step] }
        for (_, signal) in state.acceptedSignals {
            steps += signal.unmaskedPayloads.map { .signal(PostedEvent(signal.name, payload: $0)) }
        }
        if app.isToldOfDevices { steps.append(.pair) }
        steps += app.roles.filter { $0 != state.role && $0.mayAct }.map { .use(role: $0.name) }
        if let due = state.nextTimer {
            let time = max(0, (due.timeIntervalSince(now) * 1000).rounded())
            steps += [.advance(.milliseconds(time)), .advance(.milliseconds((time / 2).rounded()))]
        }
        return steps
    }

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
            ?? state.payloadsToTry(of: type).randomElement(using: &numbers) ?? nil
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
            guard let alert = state.alert, let button = state.buttonsToPress.randomElement(using: &numbers) else {
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
        try checkWords()
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

    private mutating func checkDrawing() throws(Problem) {
        if let screen = state.screenDrawnDifferently {
            throw Problem(kind: .drawing, reason: "“render” changes the screen “\(screen)” each time it is called")
        }
        let own = Device(NavigationState.firstDevice, role: state.role, state.client)
        let others = Walk.otherClients.map { Device(own.number + 1, role: own.role, $0) }
        for device in others + app.roles.map({ Device(own.number + 1, role: $0, own.client) })
        where !device.seesTheSame(as: own) {
            let again: NavigationState
            do throws(NavigationError) {
                let other = try app.drawing(of: state, for: device)
                coverage.noteWords(of: state, other)
                again = try app.drawing(of: other, for: own)
            } catch {
                throw Problem(kind: .drawing, reason: "it cannot be drawn for another device: \(error)")
            }
            for (screen, drawn) in zip(state.screens, again.screens) where screen != drawn {
                throw Problem(
                    kind: .drawing,
                    reason: """
                        “render” leaves on the screen “\(screen.screen.name)” what it has drawn for another device: what it \
                        sets for one client, it must set for all
                        """)
            }
        }
    }

    /// Clients of whom apps often draw something else.
    private static let otherClients = [
        ClientInfo.none, ClientInfo(locale: "de", platform: "tv"), ClientInfo(locale: "en", platform: "phone"),
    ]

    private func checkWords() throws(Problem) {
        let first = state.controls
        for (one, other) in zip(first, state.controls) where one != other {
            throw Problem(
                kind: .drawing, reason: "“title” or “fields” of the event “\(one.type)” differs each time it is called")
        }
        if let field = state.unknownField {
            throw Problem(kind: .drawing, reason: "“fields” names “\(field)”, which the event does not have")
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
        let isDone = operations.contains { operation in
            switch (plan, operation) {
            case (.dismissAlert?, .dismissAlert): true
            case (.pop(let key, _)?, .pop(let done, _)), (.dismiss(let key, _)?, .dismiss(let done)),
                (.selectTab(let key, _, _)?, .selectTab(let done, _)):
                key == done
            default: false
            }
        }
        let revealed: String
        switch plan {
        case .dismissAlert? where isDone: return
        case .pop(_, let next)? where isDone, .dismiss(_, let next)? where isDone,
            .selectTab(_, _, let next)? where isDone:
            revealed = next
        // The delegate has selected another tab than `back`.
        case .selectTab(let key, _, _)? where before.isDelegate(ofTabsOn: key): return
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
