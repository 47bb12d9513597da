package import Coordinators

extension AppMap {
    /// Carries out a transition; `nil` if it takes too long.
    package typealias Carrier = (TransitionRun) async throws(NavigationError) -> TransitionResult?

    /// Explores an app breadth first: starts with a new session, and posts every accepted event with each of its
    /// examples.
    ///
    /// Handlers run, and act on their dependencies as in any session. An event that fails leads nowhere and is not on
    /// the map. Nor is a screen that opens only for a payload that is not among the examples. An event that takes too
    /// long is not tried again.
    ///
    /// - Parameters:
    ///   - limit: the most states that are explored; states with the same `outline` count as one.
    ///   - client: what the client says about itself.
    ///   - progress: receives how many states have been explored.
    ///   - visit: receives each transition: the event, `nil` for the first one, and the state before.
    /// - Throws: the error that prevents a session from starting.
    /// - Returns: `nil` if a session takes too long to start.
    package init?(
        exploring app: App, limit: Int, client: ClientInfo? = nil, progress: (Int) -> Void = { _ in },
        visit: (PostedEvent?, NavigationState, TransitionResult) -> Void = { _, _, _ in }, by carryOut: Carrier
    ) async throws(NavigationError) {
        self.init(app: app.name)
        let now = CoordinatorTester.someTime
        var run = try app.beginLaunch(at: now, client: client)
        run.origin = .test()
        guard let launch = try await carryOut(run) else { return nil }
        let first = launch.state
        var findings = Findings()
        findings.note(nil, from: NavigationState(), to: launch)
        visit(nil, NavigationState(), launch)
        _ = position(of: first)
        var known: Set = [first.outline]
        var errors: [(attempt: String, error: ThrownError)] = []
        var done: Set<String> = []
        var queue = [first]
        var next = 0
        while next < queue.count {
            let state = queue[next]
            next += 1
            guard let from = position(of: state) else { continue }
            for attempt in state.attempts(in: app) where !slowEvents.contains(attempt.name) {
                progress(next - 1)
                let result: TransitionResult
                do throws(NavigationError) {
                    var run = try app.begin(attempt.event, on: state, at: now)
                    run.origin = .test()
                    guard let inTime = try await carryOut(run) else {
                        slowEvents.append(attempt.name)
                        continue
                    }
                    result = inTime
                } catch {
                    if case .handlerFailed(_, _, let thrown) = error { errors.append((attempt.name, thrown)) }
                    continue
                }
                done.insert(attempt.name)
                findings.note(attempt.event.type, from: state, to: result)
                visit(attempt.event, state, result)
                // A built-in event without a visible effect, such as selecting the selected tab, is not drawn.
                if attempt.isBuiltIn, result.transition.operations.isEmpty { continue }
                let count = nodes.count
                guard let to = position(of: result.state) else { continue }
                connect(
                    from, to: to, by: attempt.label, isBuiltIn: attempt.isBuiltIn, isFirst: nodes.count > count)
                let outline = result.state.outline
                if known.contains(outline) { continue }
                if known.count < limit {
                    known.insert(outline)
                    queue.append(result.state)
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
