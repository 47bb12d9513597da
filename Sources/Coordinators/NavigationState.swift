/// Everything that a session's navigation is: the living coordinators, the stacks, the alert, the defaults.
///
/// A value: a transition works on a copy, and what it leaves alone is shared. It encodes to JSON and comes back equal,
/// see `NavigationState+Encoded.swift`.
public struct NavigationState: Sendable {
    /// The living coordinators, each behind its parent; the root is the first.
    public internal(set) var coordinators: [LivingCoordinator] = []
    /// The stack under the user's eyes, bottom first.
    public internal(set) var stack = ScreenStack(id: 0)
    public internal(set) var alert: PresentedAlert?
    public internal(set) var defaults = Defaults()
    /// The last numbers given out: to screens and alerts, to coordinators and stacks. None is ever used again.
    var lastKey = 0
    var lastID = 0
}

extension NavigationState {
    public subscript(id: Int) -> LivingCoordinator? {
        coordinators.first { $0.id == id }
    }

    public func children(of id: Int) -> [LivingCoordinator] {
        coordinators.filter { $0.parent == id }
    }

    /// Every screen, also those in tabs that are not selected.
    public var screens: [PlacedScreen] {
        var screens: [PlacedScreen] = []
        screens.reserveCapacity(8)
        stack.forEachScreen { screens.append($0) }
        return screens
    }

    /// The stacks that the user looks through, outermost first: the base, the selected tab's on its top screen, and so on.
    var visibleStacks: [ScreenStack] {
        var stacks = [stack]
        while let tabs = stacks[stacks.count - 1].screens.last?.tabs { stacks.append(tabs.selected.stack) }
        return stacks
    }

    /// The screen that the user sees: the top of the innermost visible stack.
    public var visible: PlacedScreen? { stack.screens.last?.visible }

    mutating func nextKey(_ kind: Character) -> String {
        lastKey += 1
        return "\(kind)\(lastKey)"
    }

    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }
}
