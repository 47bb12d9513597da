package import Coordinators

extension AppMap {
    /// How long an effect may take, with its repetitions. Tests set their own.
    @TaskLocal static var effectLimit = Duration.seconds(3)

    /// Carries out a transition; `nil` if it takes too long.
    package typealias Carrier = (TransitionRun) async throws(NavigationError) -> TransitionResult?

    /// Explores an app breadth first: starts with a new session, and tries in each state whatever may happen: posts every
    /// accepted event with each of its examples, sends every signal of other systems with each of its examples, waits for
    /// the next timer, performs each effect, or lets it fail, and pairs another device if the app is told of it.
    ///
    /// Handlers run, and act on their dependencies as in any session. What fails leads nowhere and is not on the map. Nor
    /// is a screen that opens only for a payload that is not among the examples, or for an outcome that an effect does
    /// not have with these dependencies. An event or an effect that takes too long is not tried again. An effect is performed
    /// once for its values: in other states it is taken to have the same outcome.
    ///
    /// States with the same `outline` count as one; once all are explored, a few more of them are whose coordinators hold
    /// something else: what a user collects or counts on a screen leads on only once there is enough of it.
    ///
    /// - Parameters:
    ///   - limit: the most states that are explored.
    ///   - client: what the client says about itself.
    ///   - progress: receives how many states have been explored.
    ///   - visit: receives each transition.
    /// - Throws: the error that prevents a session from starting.
    /// - Returns: `nil` if a session takes too long to start.
    package init?(
        exploring app: App, limit: Int, client: ClientInfo? = nil, progress: (Int) -> Void = { _ in },
        visit: (Coverage.Visit) -> Void = { _ in }, by carryOut: Carrier
    ) async throws(NavigationError) {
        self.init(app: app.name)
        var run = try app.beginLaunch(at: CoordinatorTester.someTime, client: client)
        run.origin = .test()
        guard let launch = try await carryOut(run) else { return nil }
        let first = launch.state
        var findings = Findings()
        findings.note(nil, from: NavigationState(), to: launch)
        visit(Coverage.Visit(event: nil, before: NavigationState(), result: launch))
        _ = position(of: first)
        var known: Set = [first.outline]
        var (held, detours): (Set<JSON>, Set<JSON>) = ([[first.outline, first.holdings]], [])
        var errors: [(attempt: String, error: ThrownError)] = []
        var done: Set<String> = []
        var outcomes: [String: EffectOutcome] = [:]
        var queue: ArraySlice<Explored> = [(first, CoordinatorTester.someTime, 0)]
        // What is explored once all outlines are.
        var later: ArraySlice<Explored> = []
        var explored = 0
        while let (state, now, detour) = queue.popFirst() ?? (explored < limit ? later.popFirst() : nil) {
            explored += 1
            guard let from = position(of: state) else { continue }
            for (drawn, attempt) in app.attempts(in: state) where !slowEvents.contains(attempt.name) {
                progress(explored - 1)
                let tried: Tried?
                do throws(NavigationError) {
                    tried = try await attempt.tried(on: drawn, of: app, at: now, &outcomes, by: carryOut)
                } catch {
                    if case .handlerFailed(_, _, let thrown) = error { errors.append((attempt.name, thrown)) }
                    continue
                }
                guard let (visited, then) = tried else {
                    slowEvents.append(attempt.name)
                    continue
                }
                let result = visited.result
                done.insert(attempt.name)
                findings.note(visited.event?.type, from: state, to: result)
                visit(visited)
                let count = nodes.count
                // What has no visible effect and is not of the user is not drawn, such as selecting the selected tab, or a
                // signal to a screen that is covered.
                if attempt.kind == .event || !result.transition.operations.isEmpty {
                    guard let to = position(of: result.state) else { continue }
                    let label = visited.signal?.signal ?? attempt.label
                    if attempt.kind != .signal || to != from || result.showsChange {
                        connect(from, to: to, by: label, attempt.kind, isFirst: nodes.count > count)
                    }
                } else if attempt.kind == .builtIn {
                    continue
                }
                let outline = result.state.outline
                guard held.insert([outline, result.state.holdings]).inserted else { continue }
                if known.contains(outline) {
                    guard detour < AppMap.longestDetour, detours.insert([outline, .integer(detour)]).inserted
                    else { continue }
                    later.append((app.drawing(of: result.state, as: state, drawn), then, detour + 1))
                } else if known.count < limit {
                    known.insert(outline)
                    queue.append((app.drawing(of: result.state, as: state, drawn), then, detour))
                } else {
                    isComplete = false
                }
            }
        }
        // If not everything was tried, an event that was not may end a flow.
        warnings = findings.hiddenScreens + (isComplete ? findings.endlessFlows : [])
        for (attempt, error) in errors where !done.contains(attempt) {
            let failure = "\(attempt) (\(error))"
            if !failedEvents.contains(failure) { failedEvents.append(failure) }
        }
    }

    /// A state, the time, and how many steps to it have only changed what coordinators hold.
    private typealias Explored = (state: NavigationState, now: Date, detour: Int)

    /// How many such steps are taken at most on the way to a state.
    private static let longestDetour = 6

    /// The position of the node that the user sees, which is added if it is new; `nil` if no screen is visible.
    private mutating func position(of state: NavigationState) -> Int? {
        guard let visible = state.visible, let coordinator = state[visible.coordinator] else { return nil }
        if let alert = state.alert {
            let author = state[alert.coordinator] ?? coordinator
            return position(of: Node(kind: .alert, name: alert.alert.title, coordinator: author.name))
        }
        return position(of: Node(kind: .screen, name: visible.screen.name, coordinator: coordinator.name))
    }
}

extension TransitionResult {
    /// Whether the visible screen itself has changed.
    fileprivate var showsChange: Bool {
        state.alert == nil && transition.operations.contains { $0.key == state.visible?.key }
    }
}

extension App {
    /// What can be tried in a state, each with the state as the device sees it that tries it: what only other roles may do, too.
    fileprivate func attempts(in state: NavigationState) -> [(drawn: NavigationState, attempt: Attempt)] {
        var attempts = state.attempts(in: self).map { (drawn: state, attempt: $0) }
        for role in roles where role != state.role && role.mayAct {
            guard let drawn = try? drawing(of: state, for: Device(2, role: role, state.client)) else { continue }
            attempts += drawn.attempts(in: self).filter { other in !attempts.contains { $0.attempt.name == other.name }
            }
            .map { (drawn, $0) }
        }
        return attempts
    }

    /// A state that another role's device has led to, as the first one sees it.
    fileprivate func drawing(
        of state: NavigationState, as own: NavigationState, _ other: NavigationState
    ) -> NavigationState {
        guard own.role != other.role else { return state }
        return (try? drawing(of: state, for: Device(1, role: own.role, own.client))) ?? state
    }
}

/// What an attempt has done, and the time afterwards.
private typealias Tried = (visit: Coverage.Visit, now: Date)

extension Attempt {
    /// - Parameter outcomes: those that are known, by the effects' names and values.
    /// - Returns: `nil` if it takes too long.
    fileprivate func tried(
        on state: NavigationState, of app: App, at now: Date, _ outcomes: inout [String: EffectOutcome],
        by carryOut: AppMap.Carrier
    ) async throws(NavigationError) -> Tried? {
        let occurrence: Occurrence
        var now = now
        switch action {
        case .post(let event):
            var run = try app.begin(event, on: state, at: now)
            run.origin = .test()
            guard let result = try await carryOut(run) else { return nil }
            return (Coverage.Visit(event: event, before: state, result: result), now)
        case .send(let signal): occurrence = .signal(signal)
        case .await(let timer):
            now = max(now, timer.due ?? now)
            occurrence = .timer(timer.number)
        case .perform(let effect):
            let description = "\(state[effect.coordinator]?.name ?? "") \(effect.values)"
            let known = outcomes[description]
            let performed = known == nil ? await Attempt.outcome(of: effect, in: state, of: app, at: now) : known
            guard let outcome = performed else { return nil }
            outcomes[description] = outcome
            occurrence = .effect(effect.number, outcome)
        case .fail(let effect): occurrence = .effect(effect.number, .failed(EffectFailure()))
        case .pair: occurrence = .pairing(PairedDevice(label: nil, pairedAt: now))
        }
        guard var run = try app.begin(occurrence, on: state, at: now) else { return nil }
        run.origin = .test()
        let signal = run.receivedSignal
        let result: TransitionResult
        do throws(NavigationError) {
            guard let inTime = try await carryOut(run) else { return nil }
            result = inTime
        } catch {
            // If nobody handles the failure that was made up, the effect is merely over.
            guard case .fail(let effect) = action, error.isOfEffectFailure,
                let dropped = app.dropping(effect.number, from: state)
            else { throw error }
            result = dropped
        }
        return (Coverage.Visit(event: nil, signal: signal, before: state, result: result), now)
    }

    /// Performs an effect.
    ///
    /// - Returns: `nil` if it takes too long. Its task is cancelled then.
    private static func outcome(
        of effect: PendingWork, in state: NavigationState, of app: App, at now: Date
    ) async -> EffectOutcome? {
        await withTaskGroup(of: EffectOutcome?.self) { group in
            group.addTask { await EffectOutcome(of: effect, in: state, of: app, at: now) }
            group.addTask {
                try? await Task.sleep(for: AppMap.effectLimit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}

extension NavigationError {
    fileprivate var isOfEffectFailure: Bool {
        guard case .handlerFailed(_, _, let thrown) = self else { return false }
        return thrown.type == String(describing: EffectFailure.self)
    }
}

extension NavigationState {
    /// The parts of a state on which exploring distinguishes states: names, the alert's title and the event that it is
    /// about, but no keys, numbers, other titles or parameters. An app has finitely many outlines, however deep its
    /// stacks become.
    var outline: JSON {
        [
            "stack": stack.outline,
            "presented": .array(withoutLoops(presented.map { [.string($0.style.rawValue), $0.stack.outline] })),
            // The same alert continues another event, and so leads elsewhere, if another one was held up.
            "alert": alert.map { [.string($0.alert.title), .string($0.subject ?? "")] } ?? .null,
            "coordinators": .array(Set(coordinators.map(summary)).sorted().map { .string($0) }),
            "events": .array(acceptedEvents.map { .string($0) }),
            "asks": .bool(backPlan.map(asks) ?? false),
            "pending": .array(Set(pending.map(summary)).sorted().map { .string($0) }),
            "agreed": agreement?.json ?? .null,
        ]
    }

    /// What the coordinators hold and share, of which the outline says nothing.
    var holdings: JSON {
        let values = coordinators.map { (try? JSON(encoding: $0.coordinator)) ?? .null }
        return .array(values + [defaults.encoded, shared.encoded].map { .string(String(decoding: $0, as: UTF8.self)) })
    }

    /// The names of an effect or a timer's signal and of its coordinator. An id may be another one each time.
    private func summary(_ work: PendingWork) -> String {
        "\(self[work.coordinator]?.name ?? "") \(work.effect.map { "performs \($0)" } ?? "awaits \(work.signal ?? "")")"
    }

    /// The names of a coordinator, its parent and its enabled events.
    private func summary(_ coordinator: LivingCoordinator) -> String {
        let parent = coordinator.parent.flatMap { self[$0]?.name } ?? ""
        return "\(parent)/\(coordinator.name) \(coordinator.enabledEvents.map(\.name).joined(separator: " "))"
    }
}

extension ScreenStack {
    fileprivate var outline: JSON {
        .array(withoutLoops(screens.map(\.outline)))
    }
}

extension PlacedScreen {
    fileprivate var outline: JSON {
        guard let tabs else { return .string(screen.name) }
        return [.string(screen.name), .string(tabs.selected.id), .array(tabs.items.map(\.stack.outline))]
    }
}

/// The elements, bottom first, without loops: an element that equals one below it is removed together with all elements
/// between the two.
///
/// The last element stays in any case, and below it lies the one that `back` shows.
private func withoutLoops(_ path: [JSON]) -> [JSON] {
    guard let last = path.last else { return [] }
    var simple: [JSON] = []
    for step in path.dropLast() {
        if let first = simple.firstIndex(of: step) {
            simple.removeSubrange((first + 1)...)
        } else {
            simple.append(step)
        }
    }
    return simple + [last]
}
