/// The whole navigation of a session: the living coordinators, the stacks, the alert, the defaults.
///
/// A value: a transition works on a copy, which shares the parts that do not change. A state that is encoded to JSON
/// and restored is equal to the original, see `NavigationState+Encoded.swift`.
public struct NavigationState: Sendable {
    /// Shared by copies until one of them changes. A state has many parts and is copied more often than changed, so a
    /// copy retains only this one object.
    private var storage: Storage

    private struct Parts: Sendable {
        var coordinators: [LivingCoordinator] = []
        var stack = ScreenStack(id: 0)
        var presented: [PresentedFlow] = []
        var alert: PresentedAlert?
        var defaults = Defaults()
        var shared = SharedValues.none
        var viewer = Viewer.none
        var pendingLink: PendingLink?
        var agreement: Agreement?
        var pending: [PendingWork] = []
        var lastKey = 0
        var lastID = 0
        var inheritedID = 0
    }

    /// Unchecked: `parts` of the state changes it only while no other state refers to it, and Swift's rule of exclusive
    /// access to that state holds for it, too.
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

    /// What the client says about itself. If the session has several devices, it is that of the one that acted last, or, in
    /// a drawing for a device, of that one, see `App.drawing(of:for:)`.
    public internal(set) var client: ClientInfo {
        get { viewer.client }
        set { viewer = Viewer(newValue, role) }
    }

    /// The role of that device; `nil` if the app declares no roles.
    package internal(set) var role: DeviceRole? {
        get { viewer.role }
        set { viewer = Viewer(client, newValue) }
    }

    /// What decides about its drawing.
    var viewer: Viewer {
        _read { yield parts.viewer }
        _modify { yield &parts.viewer }
    }

    /// The number of the device with which a session begins.
    package static let firstDevice = 1

    /// The link that is kept to be opened later, if there is one.
    package internal(set) var pendingLink: PendingLink? {
        _read { yield parts.pendingLink }
        _modify { yield &parts.pendingLink }
    }

    /// The event to which the user has agreed; `nil` if there is none.
    package internal(set) var agreement: Agreement? {
        _read { yield parts.agreement }
        _modify { yield &parts.agreement }
    }

    /// The effects under way and the timers, in the order in which they were recorded.
    public internal(set) var pending: [PendingWork] {
        _read { yield parts.pending }
        _modify { yield &parts.pending }
    }

    /// The last numbers given out: `lastKey` to a screen, flow or alert, `lastID` to a coordinator, stack, effect or timer. None
    /// is reused.
    var lastKey: Int {
        _read { yield parts.lastKey }
        _modify { yield &parts.lastKey }
    }

    var lastID: Int {
        _read { yield parts.lastID }
        _modify { yield &parts.lastID }
    }

    /// In a fork, the last id of the state that it has taken along; otherwise 0.
    var inheritedID: Int {
        _read { yield parts.inheritedID }
        _modify { yield &parts.inheritedID }
    }
}

/// A link that is opened later: a coordinator keeps it, for example until a sign-in, or it has arrived while an alert was
/// shown.
package struct PendingLink: Sendable, Equatable {
    /// Its path, with its fragment.
    let path: String
    /// The id of the coordinator that keeps it; `nil` if it waits for the answer to an alert.
    let coordinator: Int?
    /// The name of the coordinators for whose end it waits.
    package var flow: String?

    package var waitsForAnswer: Bool { coordinator == nil }
}

extension NavigationState {
    /// Whether the pending link waits for a flow that has not ended yet.
    package var waitsForFlow: Bool {
        guard let flow = pendingLink?.flow else { return false }
        return coordinators.contains { $0.name == flow }
    }

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

    /// The position of the presented flow that contains the stack of that id; `nil` for a stack below all flows.
    func flow(ofStack id: Int) -> Int? {
        presented.firstIndex { $0.stack.contains(id) }
    }

    /// What the author calls a presented flow: its coordinator, or its screen if that has none of its own.
    func name(of flow: PresentedFlow) -> String {
        guard let coordinator = self[flow.coordinator], coordinator.home == flow.stack.id else {
            return flow.stack.screens.first?.screen.name ?? ""
        }
        return coordinator.name
    }

    /// The coordinators that were started in the presented flows from that position on.
    func guests(ofFlowsFrom position: Int) -> [LivingCoordinator] {
        presented[position...].flatMap { flow in coordinators.filter { flow.stack.contains($0.home) } }
    }

    /// The stack of that id, wherever it is.
    func stack(_ id: Int) -> ScreenStack? {
        var found: ScreenStack?
        stack.forEachStack { if $0.id == id { found = $0 } }
        for flow in presented { flow.stack.forEachStack { if $0.id == id { found = $0 } } }
        return found
    }

    /// How many screens a stack is within: 0 if it is in no tab.
    func nesting(ofStack id: Int) -> Int {
        if stack.id == id || presented.contains(where: { $0.stack.id == id }) { return 0 }
        return stack.nesting(of: id) ?? presented.lazy.compactMap { $0.stack.nesting(of: id) }.first ?? 0
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

    func tabs(of key: String) -> PlacedTabs? { screens.first { $0.key == key }?.tabs }

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

    /// The limit of every key's number and every id. No session reaches it by counting, but a damaged saved state may
    /// contain it.
    static let numberLimit = 1 << 53

    var isWithinNumberLimit: Bool { max(lastKey, lastID) <= NavigationState.numberLimit }

    /// - Parameter kind: the key's first letter: `k` for a screen, `p` for a presented flow, `a` for an alert.
    mutating func nextKey(_ kind: String) -> String {
        lastKey += 1
        return kind + String(lastKey)
    }

    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }
}

/// A flow that is shown over everything below it, with a stack and a coordinator of its own.
public struct PresentedFlow: Sendable, Equatable {
    /// How much of what lies below it the flow covers.
    public enum Style: String, Sendable, Codable {
        case sheet, fullScreen
    }

    /// How high a sheet opens.
    public enum Detent: String, Sendable, Codable {
        case medium, large
    }

    /// Unique in the session, never reused.
    public let key: String
    let presentation: Presentation
    public internal(set) var stack: ScreenStack
    /// The id of the coordinator that was presented; the flow ends with it, and its home is the flow's stack. That of a screen
    /// without a coordinator of its own belongs to the one that has presented it.
    package let coordinator: Int

    public var style: Style { presentation.style }
    /// `nil` if that is left to the client.
    public var detent: Detent? { presentation.detent }
    /// Whether the user may dismiss the flow.
    public var isDismissable: Bool { presentation.isDismissable }
}

/// How a flow is presented.
struct Presentation: Sendable, Equatable {
    let style: PresentedFlow.Style
    let detent: PresentedFlow.Detent?
    let isDismissable: Bool

    init(_ style: PresentedFlow.Style, _ detent: PresentedFlow.Detent?, isDismissable: Bool?) {
        self.style = style
        self.detent = detent
        self.isDismissable = isDismissable ?? (style == .sheet)
    }
}

/// An invariant that a state violates. It names the screen, flow or coordinator for the author; clients learn only that
/// the app is at fault.
public enum InvariantViolation: Error, Equatable, Sendable {
    /// No screen is visible: every stack is empty.
    case nothingVisible
    /// A tab's stack is empty.
    case emptyTab(screen: String, tab: String)
    /// A presented flow has no screen, or its coordinator is gone; then `coordinator` is empty.
    case emptyFlow(key: String, coordinator: String)
    /// A living coordinator has neither a screen nor a child.
    case idleCoordinator(name: String)
    /// A coordinator's parent is gone.
    case strayCoordinator(name: String)
    /// A screen belongs to a coordinator that is gone.
    case orphanedScreen(key: String)
    /// Two screens have the same key.
    case repeatedKey(key: String)
    /// An effect's or timer's coordinator is gone, or has another one of the same id.
    case strayWork(id: String)
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
            return .emptyFlow(key: flow.key, coordinator: self[flow.coordinator]?.name ?? "")
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
        return violationOfWork
    }

    /// Whether a coordinator has neither a screen nor a child.
    func isIdle(_ coordinator: LivingCoordinator, among screens: [PlacedScreen]) -> Bool {
        for screen in screens where screen.coordinator == coordinator.id { return false }
        for other in coordinators where other.parent == coordinator.id { return false }
        return true
    }

    /// The key of two screens; `nil` if all keys differ.
    private func repeatedKey(among screens: [PlacedScreen]) -> String? {
        if screens.count > 32 {
            var seen: Set<String> = []
            return screens.first { !seen.insert($0.key).inserted }?.key
        }
        // A few keys are compared in pairs, which costs less than a set.
        for (index, screen) in screens.enumerated() {
            for other in screens[..<index] where other.key == screen.key { return screen.key }
        }
        return nil
    }
}
