/// An invariant that a state violates. It names the culprit for the author; clients learn only that the app is at
/// fault.
public enum InvariantViolation: Error, Equatable, Sendable {
    /// No screen is visible: every stack is empty.
    case nothingVisible
    /// A tab's stack is empty.
    case emptyTab(screen: String, tab: String)
    /// A presented flow has no screen, or its coordinator is gone.
    case emptyFlow(key: String)
    /// A living coordinator has neither a screen nor a child.
    case idleCoordinator(name: String)
    /// A coordinator's parent is gone.
    case strayCoordinator(name: String)
    /// A screen belongs to a coordinator that is gone.
    case orphanedScreen(key: String)
    /// Two screens have the same key.
    case repeatedKey(key: String)
}

extension NavigationState {
    /// Checks the rules that hold after every transition (docs/guarantees.md).
    public func checkInvariants() throws(NavigationError) {
        if let violation = violation(among: screens) { throw .invariantViolated(violation) }
    }

    /// - Parameter screens: all screens of the state.
    func violation(among screens: [PlacedScreen]) -> InvariantViolation? {
        if stack.screens.isEmpty { return .nothingVisible }
        if let flow = presented.first(where: { $0.stack.screens.isEmpty || self[$0.coordinator] == nil }) {
            return .emptyFlow(key: flow.key)
        }
        if let key = repeatedKey(among: screens) { return .repeatedKey(key: key) }
        for screen in screens {
            guard self[screen.coordinator] != nil else { return .orphanedScreen(key: screen.key) }
            if let tab = screen.tabs?.items.first(where: { $0.stack.screens.isEmpty }) {
                return .emptyTab(screen: screen.screen.name, tab: tab.id)
            }
        }
        for (index, coordinator) in coordinators.enumerated().dropFirst() {
            guard coordinators[..<index].contains(where: { $0.id == coordinator.parent }) else {
                return .strayCoordinator(name: coordinator.name)
            }
            if isIdle(coordinator, among: screens) { return .idleCoordinator(name: coordinator.name) }
        }
        return nil
    }

    /// Whether a coordinator has neither a screen nor a child.
    func isIdle(_ coordinator: LivingCoordinator, among screens: [PlacedScreen]) -> Bool {
        for screen in screens where screen.coordinator == coordinator.id { return false }
        for other in coordinators where other.parent == coordinator.id { return false }
        return true
    }

    /// A key that occurs twice. A few keys are compared in pairs, because a set of them costs more.
    private func repeatedKey(among screens: [PlacedScreen]) -> String? {
        if screens.count > 32 {
            var seen: Set<String> = []
            return screens.first { !seen.insert($0.key).inserted }?.key
        }
        for (index, screen) in screens.enumerated() {
            for other in screens[..<index] where other.key == screen.key { return screen.key }
        }
        return nil
    }
}
