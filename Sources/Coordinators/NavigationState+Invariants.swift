/// A state that cannot be. Names the culprit for the author; clients are told that the app is at fault.
public enum InvariantViolation: Error, Equatable, Sendable {
    /// No screen is visible: every stack is empty.
    case nothingVisible
    /// A tab's stack is empty.
    case emptyTab(screen: String, tab: String)
    /// A coordinator lives without a screen and without a child.
    case idleCoordinator(name: String)
    /// A coordinator's parent is gone.
    case strayCoordinator(name: String)
    /// A screen belongs to a coordinator that is gone.
    case orphanedScreen(key: String)
    /// Two screens have one key, or a key that was not given out yet.
    case invalidKey(key: String)
}

extension NavigationState {
    /// The rules that hold after every transition (DESIGN.md, section 4).
    public func checkInvariants() throws(NavigationError) {
        if let violation = firstViolation { throw .invariantViolated(violation) }
    }

    private var firstViolation: InvariantViolation? {
        guard !stack.screens.isEmpty else { return .nothingVisible }
        let screens = screens
        var keys: Set<String> = []
        for screen in screens {
            guard self[screen.coordinator] != nil else { return .orphanedScreen(key: screen.key) }
            guard keys.insert(screen.key).inserted, let number = Int(screen.key.dropFirst()), number <= lastKey else {
                return .invalidKey(key: screen.key)
            }
            if let tab = screen.tabs?.items.first(where: { $0.stack.screens.isEmpty }) {
                return .emptyTab(screen: screen.screen.name, tab: tab.id)
            }
        }
        for (index, coordinator) in coordinators.enumerated().dropFirst()
        where !coordinators[..<index].contains(where: { $0.id == coordinator.parent }) {
            return .strayCoordinator(name: coordinator.name)
        }
        let idle = coordinators.dropFirst().first { coordinator in
            !screens.contains { $0.coordinator == coordinator.id }
                && !coordinators.contains { $0.parent == coordinator.id }
        }
        return idle.map { .idleCoordinator(name: $0.name) }
    }
}
