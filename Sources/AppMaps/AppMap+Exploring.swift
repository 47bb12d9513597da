package import Coordinators
internal import FoundationEssentials

extension AppMap {
    /// Explores an app: starting from a new session, posts every accepted event with its example, breadth first.
    ///
    /// Handlers run, and act on their dependencies as in any session. An event that fails leads nowhere and is not on
    /// the map. Neither is a screen that opens only for a payload other than the example.
    ///
    /// - Parameter limit: the number of states that are explored further; states with the same `outline` count as one.
    /// - Throws: the error that keeps a session from starting.
    package init(exploring app: App, limit: Int) async throws(NavigationError) {
        self.init(app: app.name)
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let first = try await app.launch(at: now).state
        var known: Set = [first.outline]
        var queue = [first]
        var next = 0
        while next < queue.count {
            let state = queue[next]
            next += 1
            guard let from = position(of: state) else { continue }
            for event in state.attempts(in: app) {
                guard let result = try? await app.apply(event, to: state, at: now), event.isShown(by: result),
                    let to = position(of: result.state)
                else { continue }
                connect(from, to: to, by: event.type)
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
    }

    /// The position of the visible screen, which is added if it is new; `nil` if no screen is visible.
    private mutating func position(of state: NavigationState) -> Int? {
        guard let visible = state.visible, let coordinator = state[visible.coordinator] else { return nil }
        return position(of: Node(screen: visible.screen.name, coordinator: coordinator.name))
    }
}

extension PostedEvent {
    /// A built-in event without a visible effect, such as selecting the selected tab, is not drawn.
    fileprivate func isShown(by result: TransitionResult) -> Bool {
        BuiltInEvent(rawValue: type) == nil || !result.transition.operations.isEmpty
    }
}
