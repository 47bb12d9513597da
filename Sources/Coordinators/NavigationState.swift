/// Everything that a session's navigation is: the living coordinators, the stacks, the alert, the defaults.
///
/// A value: a transition works on a copy. It encodes to JSON and comes back equal, see `NavigationState+Codable.swift`.
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

/// A coordinator in the tree.
public struct LivingCoordinator: Sendable {
    public let id: Int
    /// `nil` for the root.
    public let parent: Int?
    /// The stack on which it was started.
    let home: Int
    let type: CoordinatorType
    public internal(set) var coordinator: any Coordinator

    public var name: String { type.name }
}

/// Screens on each other, bottom first.
public struct ScreenStack: Sendable, Equatable {
    let id: Int
    public internal(set) var screens: [PlacedScreen] = []
}

/// A screen on a stack, under a key of its own.
public struct PlacedScreen: Sendable, Equatable {
    /// Unique in the session, never used again.
    public let key: String
    public internal(set) var screen: Screen
    /// The id of the coordinator that it belongs to.
    public let coordinator: Int
    public internal(set) var tabs: PlacedTabs?
}

/// The tabs of a screen, each with a stack of its own.
public struct PlacedTabs: Sendable, Equatable {
    public struct Item: Sendable, Equatable {
        public let id: String
        public let title: String?
        public internal(set) var stack: ScreenStack
    }

    /// The position of the selected tab, from 0.
    public internal(set) var selection: Int
    public internal(set) var items: [Item]

    public var selected: Item { items[selection] }
}

/// An alert that is shown, and the coordinator that showed it.
public struct PresentedAlert: Sendable, Equatable {
    public let key: String
    public let alert: Alert
    let coordinator: Int
}

extension NavigationState {
    public subscript(id: Int) -> LivingCoordinator? {
        coordinators.first { $0.id == id }
    }

    public func children(of id: Int) -> [LivingCoordinator] {
        coordinators.filter { $0.parent == id }
    }

    /// Every screen, also those in tabs that are not selected.
    public var screens: [PlacedScreen] { stack.allScreens }

    /// The stacks that the user looks through, outermost first: the base, the selected tab's on its top screen, and so on.
    var visibleStacks: [ScreenStack] {
        var stacks = [stack]
        while let tabs = stacks[stacks.count - 1].screens.last?.tabs { stacks.append(tabs.selected.stack) }
        return stacks
    }

    /// The screen that the user sees: the top of the innermost visible stack.
    public var visible: PlacedScreen? {
        var top = stack.screens.last
        while let tabs = top?.tabs { top = tabs.selected.stack.screens.last }
        return top
    }

    mutating func nextKey(_ kind: Character) -> String {
        lastKey += 1
        return "\(kind)\(lastKey)"
    }

    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }

    /// Changes the stack of that id, wherever it is; `false` where there is none.
    @discardableResult
    mutating func withStack(_ id: Int, _ change: (inout ScreenStack) -> Void) -> Bool {
        stack.withStack(id, change)
    }

    /// Changes the screen of that key, wherever it is.
    mutating func withScreen(_ key: String, _ change: (inout PlacedScreen) -> Void) {
        stack.withScreen(key, change)
    }

    /// Takes away all screens that match, in whatever stack, and tells their keys, the topmost first. What was in the
    /// tabs of a screen that goes, goes with it and is not told.
    mutating func removeScreens(where matches: (PlacedScreen) -> Bool) -> [String] {
        stack.removeScreens(where: matches)
    }
}

extension ScreenStack {
    var allScreens: [PlacedScreen] {
        screens.flatMap { screen in [screen] + (screen.tabs?.items.flatMap(\.stack.allScreens) ?? []) }
    }

    mutating func withStack(_ id: Int, _ change: (inout ScreenStack) -> Void) -> Bool {
        if self.id == id {
            change(&self)
            return true
        }
        return screens.indices.contains { index in
            screens[index].tabs?.withEachStack { $0.withStack(id, change) } ?? false
        }
    }

    @discardableResult
    mutating func withScreen(_ key: String, _ change: (inout PlacedScreen) -> Void) -> Bool {
        screens.indices.contains { index in
            if screens[index].key == key {
                change(&screens[index])
                return true
            }
            return screens[index].tabs?.withEachStack { $0.withScreen(key, change) } ?? false
        }
    }

    mutating func removeScreens(where matches: (PlacedScreen) -> Bool) -> [String] {
        var removed = screens.reversed().filter(matches).map(\.key)
        if !removed.isEmpty { screens.removeAll(where: matches) }
        for index in screens.indices {
            _ = screens[index].tabs?.withEachStack { stack in
                removed += stack.removeScreens(where: matches)
                return false
            }
        }
        return removed
    }
}

extension PlacedTabs {
    /// Visits the tabs' stacks until `visit` answers `true`.
    mutating func withEachStack(_ visit: (inout ScreenStack) -> Bool) -> Bool {
        items.indices.contains { visit(&items[$0].stack) }
    }

    func position(of id: String) -> Int? {
        items.firstIndex { $0.id == id }
    }
}
