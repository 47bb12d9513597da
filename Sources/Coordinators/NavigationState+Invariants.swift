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
    /// Two screens have one key.
    case repeatedKey(key: String)
}

extension NavigationState {
    /// The rules that hold after every transition (DESIGN.md, section 4).
    public func checkInvariants() throws(NavigationError) {
        if let violation = violation(in: Census(of: self)) { throw .invariantViolated(violation) }
    }

    func violation(in census: Census) -> InvariantViolation? {
        if stack.screens.isEmpty { return .nothingVisible }
        if let (screen, tab) = census.emptyTab { return .emptyTab(screen: screen, tab: tab) }
        if let key = census.repeatedKey { return .repeatedKey(key: key) }
        for (key, owner) in zip(census.keys, census.owners) where self[owner] == nil {
            return .orphanedScreen(key: key)
        }
        for (index, coordinator) in coordinators.enumerated().dropFirst() {
            guard coordinators[..<index].contains(where: { $0.id == coordinator.parent }) else {
                return .strayCoordinator(name: coordinator.name)
            }
            if census.isIdle(coordinator) { return .idleCoordinator(name: coordinator.name) }
        }
        return nil
    }
}

/// What the rules look at, gathered in one walk over the screens.
struct Census {
    private(set) var keys: [String] = []
    /// The coordinators that the screens belong to, in the order of `keys`.
    private(set) var owners: [Int] = []
    private(set) var emptyTab: (screen: String, tab: String)?
    private let parents: [Int]

    init(of state: NavigationState) {
        parents = state.coordinators.compactMap(\.parent)
        state.stack.forEachScreen { screen in
            keys.append(screen.key)
            owners.append(screen.coordinator)
            guard let tabs = screen.tabs else { return }
            for item in tabs.items where item.stack.screens.isEmpty { emptyTab = (screen.screen.name, item.id) }
        }
    }

    /// Whether a coordinator has neither a screen nor a child.
    func isIdle(_ coordinator: LivingCoordinator) -> Bool {
        !owners.contains(coordinator.id) && !parents.contains(coordinator.id)
    }

    /// A key that stands twice. Few keys are compared with each other, for a set of them costs more than that.
    var repeatedKey: String? {
        if keys.count > 32 {
            var seen: Set<String> = []
            return keys.first { !seen.insert($0).inserted }
        }
        return keys.indices.lazy.first { keys[..<$0].contains(keys[$0]) }.map { keys[$0] }
    }
}
