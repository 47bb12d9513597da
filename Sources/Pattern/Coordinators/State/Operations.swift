public import JSONCoding

/// A change that the user can see. A client that performs a transition's operations in order on the state before gets
/// the state after; it looks up new screens, flows and alerts there by their keys. A screen that is moved disappears and
/// appears again, with the same key.
///
/// `stack` is the name of a stack, see `mainStack`.
public enum Operation: Sendable, Equatable {
    /// The name of the stack below all flows. The stack of a presented flow is named by the flow's key, that of a tab
    /// by the key of the screen with the tabs, a slash and the tab's id: `k1/home`.
    public static let mainStack = "main"

    /// The screen appears on top of the stack. The screens in its tabs are pushed by operations of their own.
    case push(key: String, stack: String = Operation.mainStack)
    /// The screen disappears, with all screens in its tabs.
    case pop(key: String, stack: String = Operation.mainStack)
    /// The screen `key` takes the place of the screen `replaced`.
    case replace(key: String, replaced: String, stack: String = Operation.mainStack)
    /// The screen changes in any way, its tabs' titles and badges included. The stacks of its tabs stay; a tab that is
    /// new has an empty one, and one that goes becomes empty.
    case update(key: String)
    /// The flow `key` appears over everything, with an empty stack.
    case present(key: String, style: PresentedFlow.Style)
    /// The flow disappears, with its stack.
    case dismiss(key: String)
    /// The screen `key` shows another of its tabs.
    case selectTab(key: String, tab: String)
    case alert(key: String)
    case dismissAlert(key: String)
}

extension Operation {
    var isSelection: Bool {
        if case .selectTab = self { true } else { false }
    }

    /// The key of the screen, flow or alert that appears, disappears or changes.
    package var key: String {
        switch self {
        case .push(let key, _), .pop(let key, _), .replace(let key, _, _), .update(let key), .present(let key, _),
            .dismiss(let key), .selectTab(let key, _), .alert(let key), .dismissAlert(let key):
            key
        }
    }
}

extension NavigationState {
    /// The operations that lead here from another state.
    ///
    /// - Parameter replaced: by the key of a screen, that of the screen whose place it has taken since.
    package func operations(since before: NavigationState, replaced: [String: String]) -> [Operation] {
        StateDifference(from: before, to: self, replaced: replaced).operations
    }
}

extension [Operation] {
    /// By the key of a screen: that of the screen whose place it has taken.
    package var replaced: [String: String] {
        reduce(into: [:]) { replaced, operation in
            if case .replace(let key, let other, _) = operation { replaced[key] = other }
        }
    }
}

extension [JSON] {
    /// The same of operations as they were written.
    package var replaced: [String: String] {
        reduce(into: [:]) { replaced, operation in
            if let key = operation["key"]?.string, let other = operation["replaced"]?.string { replaced[key] = other }
        }
    }
}

/// The operations that lead from one state to another, in an order in which each finds what it names:
///
/// 1. The alert goes. Flows go, the topmost first.
/// 2. Screens go, the topmost first, but not those that go with their flow or with a screen that has them in its tabs.
/// 3. Screens that stay are drawn otherwise, all of them before any shows another of its tabs.
/// 4. From the bottom to the top, screens are replaced or come, each before those in its tabs.
/// 5. Flows come, each with its screens. The alert comes.
///
/// A screen that is moved goes and comes again.
private struct StateDifference {
    private let after: NavigationState
    /// By the key of a screen: that of the screen whose place it has taken.
    private let replaced: [String: String]
    private var dismissals: [Operation] = []
    /// Bottom first.
    private var pops: [Operation] = []
    private var updates: [Operation] = []
    private var selections: [Operation] = []
    private var additions: [Operation] = []

    init(from before: NavigationState, to after: NavigationState, replaced: [String: String]) {
        self.after = after
        self.replaced = replaced
        compare(before.stack, after.stack) { Operation.mainStack }
        var kept = 0
        for (old, new) in zip(before.presented, after.presented) {
            guard old.key == new.key else { break }
            compare(old.stack, new.stack) { new.key }
            kept += 1
        }
        for flow in before.presented[kept...].reversed() { dismissals.append(.dismiss(key: flow.key)) }
        for flow in after.presented[kept...] {
            additions.append(.present(key: flow.key, style: flow.style))
            add(flow.stack.screens[...], on: flow.key)
        }
        guard before.alert?.key != after.alert?.key else { return }
        if let alert = before.alert { dismissals.insert(.dismissAlert(key: alert.key), at: 0) }
        if let alert = after.alert { additions.append(.alert(key: alert.key)) }
    }

    var operations: [Operation] {
        var operations = dismissals
        // Most transitions have operations of one kind.
        for others in [pops.reversed(), updates, selections, additions] where !others.isEmpty {
            if operations.isEmpty { operations = others } else { operations += others }
        }
        return operations
    }

    /// The screens at the bottom that keep their order stay, or are replaced. Those above them come; all others go.
    private mutating func compare(_ old: ScreenStack, _ new: ScreenStack, _ name: () -> String) {
        var (next, kept) = (0, 0)
        for screen in new.screens {
            if next < old.screens.count, old.screens[next] === screen {
                next += 1
                kept += 1
                continue
            }
            let key = placeKey(of: screen)
            guard let position = old.screens[next...].firstIndex(where: { $0.key == key }) else { break }
            remove(old.screens[next..<position], from: name)
            compare(old.screens[position], screen, name)
            next = position + 1
            kept += 1
        }
        remove(old.screens[next...], from: name)
        if kept < new.screens.count { add(new.screens[kept...], on: name()) }
    }

    /// The key of the screen that was at a screen's place first.
    private func placeKey(of screen: PlacedScreen) -> String {
        var key = screen.key
        while let other = replaced[key] { key = other }
        return key
    }

    private mutating func compare(_ old: PlacedScreen, _ new: PlacedScreen, _ stack: () -> String) {
        if old === new { return }
        guard old.key == new.key else {
            removeMoved(from: old)
            additions.append(.replace(key: new.key, replaced: old.key, stack: stack()))
            return addTabs(of: new)
        }
        if !new.isDrawn(as: old) { updates.append(.update(key: new.key)) }
        guard let oldTabs = old.tabs, let newTabs = new.tabs else { return }
        if newTabs.selected.id != oldTabs.selected.id {
            selections.append(.selectTab(key: new.key, tab: newTabs.selected.id))
        }
        compare(oldTabs, newTabs, of: new.key)
    }

    private mutating func compare(_ old: PlacedTabs, _ new: PlacedTabs, of key: String) {
        for (position, tab) in old.items.enumerated() where new.position(of: tab.id, near: position) == nil {
            remove(tab.stack.screens[...]) { "\(key)/\(tab.id)" }
        }
        for (position, tab) in new.items.enumerated() {
            let before = old.position(of: tab.id, near: position).map { old.items[$0] }
            if before === tab { continue }
            compare(before?.stack ?? ScreenStack(id: tab.stack.id), tab.stack) { "\(key)/\(tab.id)" }
        }
    }

    private mutating func remove(_ screens: ArraySlice<PlacedScreen>, from stack: () -> String) {
        for screen in screens { pops.append(.pop(key: screen.key, stack: stack())) }
    }

    /// Removes what lives on elsewhere from the tabs of a screen before another one replaces it.
    private mutating func removeMoved(from screen: PlacedScreen) {
        for tab in screen.tabs?.items ?? [] {
            for inner in tab.stack.screens {
                if after.screens.contains(where: { $0.key == inner.key }) {
                    pops.append(.pop(key: inner.key, stack: "\(screen.key)/\(tab.id)"))
                } else {
                    removeMoved(from: inner)
                }
            }
        }
    }

    private mutating func add(_ screens: ArraySlice<PlacedScreen>, on stack: String) {
        for screen in screens {
            additions.append(.push(key: screen.key, stack: stack))
            addTabs(of: screen)
        }
    }

    private mutating func addTabs(of screen: PlacedScreen) {
        for tab in screen.tabs?.items ?? [] { add(tab.stack.screens[...], on: "\(screen.key)/\(tab.id)") }
    }
}

// How clients and the history receive an operation: `{"op":"push","key":"k2","stack":"main"}`.

extension Operation: JSONWritable {
    /// Which operation it is, as clients read it.
    package var word: StaticString {
        switch self {
        case .push: "push"
        case .pop: "pop"
        case .replace: "replace"
        case .update: "update"
        case .present: "present"
        case .dismiss: "dismiss"
        case .selectTab: "selectTab"
        case .alert: "alert"
        case .dismissAlert: "dismissAlert"
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("op", word: word)
            writer.member("key", key)
            switch self {
            case .selectTab(_, let tab): writer.member("tab", tab)
            case .push(_, let stack), .pop(_, let stack): writer.member("stack", stack)
            case .replace(_, let replaced, let stack):
                writer.member("replaced", replaced)
                writer.member("stack", stack)
            case .present(_, let style): writer.member("style", style.rawValue)
            default: break
            }
        }
    }
}
