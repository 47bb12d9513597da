/// The whole navigation of a session: the living coordinators, the stacks, the alert, the defaults.
///
/// A value: a transition works on a copy, which shares the parts that do not change. A state that is encoded to JSON
/// and restored is equal to the original, see `NavigationState+Encoded.swift`.
public struct NavigationState: Sendable {
    /// Shared by copies until one of them changes: a state has many parts and is passed around more often than changed,
    /// so a copy counts one reference.
    private var storage: Storage

    private struct Parts: Sendable {
        var coordinators: [LivingCoordinator] = []
        var stack = ScreenStack(id: 0)
        var presented: [PresentedFlow] = []
        var alert: PresentedAlert?
        var defaults = Defaults()
        var shared = SharedValues.none
        var client = ClientInfo.none
        var pendingLink: PendingLink?
        var lastKey = 0
        var lastID = 0
    }

    /// Unchecked: changed only by a state that alone refers to it, see `parts`, and exclusively, as that state is.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var parts: Parts

        init(_ parts: Parts) {
            self.parts = parts
        }
    }

    package init() {
        storage = Storage(Parts())
    }

    private var parts: Parts {
        _read { yield storage.parts }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
            yield &storage.parts
        }
    }

    /// The living coordinators, each after its parent; the root comes first.
    public internal(set) var coordinators: [LivingCoordinator] {
        _read { yield parts.coordinators }
        _modify { yield &parts.coordinators }
    }

    /// The stack that lies below all presented flows.
    public internal(set) var stack: ScreenStack {
        _read { yield parts.stack }
        _modify { yield &parts.stack }
    }

    /// The presented flows, each over the one before.
    public internal(set) var presented: [PresentedFlow] {
        _read { yield parts.presented }
        _modify { yield &parts.presented }
    }

    public internal(set) var alert: PresentedAlert? {
        _read { yield parts.alert }
        _modify { yield &parts.alert }
    }

    public internal(set) var defaults: Defaults {
        _read { yield parts.defaults }
        _modify { yield &parts.defaults }
    }

    /// What the coordinators share.
    public internal(set) var shared: SharedValues {
        _read { yield parts.shared }
        _modify { yield &parts.shared }
    }

    /// What the client says about itself.
    public internal(set) var client: ClientInfo {
        _read { yield parts.client }
        _modify { yield &parts.client }
    }

    /// The link that a coordinator keeps, if there is one.
    package internal(set) var pendingLink: PendingLink? {
        _read { yield parts.pendingLink }
        _modify { yield &parts.pendingLink }
    }

    /// The last numbers given out: `lastKey` to a screen, flow or alert, `lastID` to a coordinator or stack. None is
    /// reused.
    var lastKey: Int {
        _read { yield parts.lastKey }
        _modify { yield &parts.lastKey }
    }

    var lastID: Int {
        _read { yield parts.lastID }
        _modify { yield &parts.lastID }
    }
}

/// A link that a coordinator will take later, for example after a sign-in.
package struct PendingLink: Sendable, Equatable {
    let path: String
    /// The id of the coordinator that keeps it.
    let coordinator: Int
}

extension NavigationState {
    public subscript(id: Int) -> LivingCoordinator? {
        coordinators.first { $0.id == id }
    }

    public func children(of id: Int) -> [LivingCoordinator] {
        coordinators.filter { $0.parent == id }
    }

    /// Every screen, including those in tabs that are not selected and those that are covered.
    public var screens: [PlacedScreen] {
        var screens: [PlacedScreen] = []
        screens.reserveCapacity(8)
        forEachScreen { screens.append($0) }
        return screens
    }

    func forEachScreen(_ visit: (PlacedScreen) -> Void) {
        stack.forEachScreen(visit)
        for flow in presented { flow.stack.forEachScreen(visit) }
    }

    /// The stack that the user sees: that of the last presented flow, or the one below all flows.
    package var topStack: ScreenStack { presented.last?.stack ?? stack }

    /// The visible stacks, outermost first: the top one, that of the selected tab on its top screen, and so on.
    package var visibleStacks: [ScreenStack] {
        var stacks = [topStack]
        while let inner = stacks[stacks.count - 1].selectedTabStack { stacks.append(inner) }
        return stacks
    }

    /// The ids of the tabs that the user sees, the outermost first.
    package var visibleTabs: [String] {
        var ids: [String] = []
        for tabs in visibleStacks.compactMap({ $0.screens.last?.tabs }) {
            ids += tabs.items.map(\.id).filter { !ids.contains($0) }
        }
        return ids
    }

    /// The screen that the user sees: the top of the innermost visible stack.
    public var visible: PlacedScreen? { topStack.screens.last?.visible }

    /// The name by which clients know a stack, see `Operation.mainStack`.
    func name(ofStack id: Int) -> String {
        if stack.id == id { return Operation.mainStack }
        if let flow = presented.first(where: { $0.stack.id == id }) { return flow.key }
        var name = ""
        forEachScreen { screen in
            if let tab = screen.tabs?.items.first(where: { $0.stack.id == id }) { name = "\(screen.key)/\(tab.id)" }
        }
        return name
    }

    /// The position of the presented flow that contains the stack of that id; `nil` for a stack below all flows.
    func flow(ofStack id: Int) -> Int? {
        presented.firstIndex { $0.stack.contains(id) }
    }

    /// The stack of that id, wherever it is.
    func stack(_ id: Int) -> ScreenStack? {
        var found: ScreenStack?
        stack.forEachStack { if $0.id == id { found = $0 } }
        for flow in presented { flow.stack.forEachStack { if $0.id == id { found = $0 } } }
        return found
    }

    /// Passes each stack to `change` until `change` returns that it has changed one.
    ///
    /// - Returns: whether one was changed.
    @discardableResult
    mutating func changeFirstStack(where change: (inout ScreenStack) -> Bool) -> Bool {
        if stack.changeFirst(where: change) { return true }
        for index in presented.indices where presented[index].stack.changeFirst(where: change) { return true }
        return false
    }

    /// Changes the tabs of the screen of that key, wherever it is.
    mutating func changeTabs(of key: String, _ change: (inout PlacedTabs) -> Void) {
        changeFirstStack { stack in
            guard let index = stack.screens.firstIndex(where: { $0.key == key }), var tabs = stack.screens[index].tabs
            else { return false }
            change(&tabs)
            stack.screens[index] = stack.screens[index].with(tabs)
            return true
        }
    }

    /// A number that no session reaches by counting. A saved state may contain it nevertheless.
    static let numberLimit = 1 << 53

    var isWithinNumbers: Bool { max(lastKey, lastID) <= NavigationState.numberLimit }

    mutating func nextKey(_ kind: Character) -> String {
        lastKey += 1
        return "\(kind)\(lastKey)"
    }

    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }
}
