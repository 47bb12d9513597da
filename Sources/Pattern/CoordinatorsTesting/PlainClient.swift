package import Coordinators

/// What a client has drawn: it performs operations on what it was sent before, and looks new things up in what it is sent
/// after.
package struct PlainClient: Equatable {
    /// The screens' keys, bottom first, by the stacks' names.
    private var stacks: [String: [String]] = [:]
    /// The screens as they were sent, without what is in their tabs, by their keys.
    private var screens: [String: Drawing] = [:]
    /// The tabs' ids and labels, by the screens' keys.
    private var bars: [String: [[String]]] = [:]
    private var selected: [String: String] = [:]
    private var flows: [String] = []
    private var alert: String?

    private struct Drawing: Equatable {
        let screen: PlacedScreen

        static func == (left: Drawing, right: Drawing) -> Bool {
            left.screen === right.screen || left.screen.encodedMembers == right.screen.encodedMembers
        }
    }

    package init(_ state: NavigationState) {
        draw(state.stack, Operation.mainStack)
        for flow in state.presented {
            flows.append(flow.key)
            draw(flow.stack, flow.key)
        }
        alert = state.alert?.key
    }

    private mutating func draw(_ stack: ScreenStack, _ name: String) {
        stacks[name] = stack.screens.map(\.key)
        for screen in stack.screens {
            screens[screen.key] = Drawing(screen: screen)
            guard let tabs = screen.tabs else { continue }
            selected[screen.key] = tabs.selected.id
            bars[screen.key] = tabs.items.map { [$0.id, $0.title ?? "", $0.icon ?? "", $0.badge ?? ""] }
            for tab in tabs.items { draw(tab.stack, "\(screen.key)/\(tab.id)") }
        }
    }

    /// What is wrong with the operations of a transition; `nil` if they lead from the state before to the one after.
    package static func fault(_ before: NavigationState, _ result: TransitionResult) -> String? {
        var client = PlainClient(before)
        let fault = client.follow(result.transition.operations, to: PlainClient(result.state))
        return fault.map { "\($0), of \(result.transition.operations) on \(before.screens.map(\.key))" }
    }

    /// Performs the operations.
    ///
    /// - Returns: what is wrong; `nil` if the client has drawn what was sent.
    package mutating func follow(_ operations: [Operation], to after: PlainClient) -> String? {
        for operation in operations {
            guard perform(operation, after) else { return "\(operation.word) cannot be performed" }
        }
        if self == after { return nil }
        if flows != after.flows { return "other flows" }
        if stacks != after.stacks { return "other stacks" }
        if alert != after.alert { return "another alert" }
        if selected != after.selected { return "other tabs are selected" }
        return "a screen is drawn otherwise"
    }

    private mutating func perform(_ operation: Operation, _ after: PlainClient) -> Bool {
        switch operation {
        case .push(let key, let stack):
            guard stacks[stack] != nil else { return false }
            stacks[stack]?.append(key)
            return show(key, after)
        case .pop(let key, let stack):
            guard let index = stacks[stack]?.firstIndex(of: key) else { return false }
            stacks[stack]?.remove(at: index)
            forget(key)
        case .replace(let key, let replaced, let stack):
            guard let index = stacks[stack]?.firstIndex(of: replaced) else { return false }
            stacks[stack]?[index] = key
            forget(replaced)
            return show(key, after)
        case .update(let key):
            guard screens[key] != nil, let screen = after.screens[key] else { return false }
            screens[key] = screen
            return label(key, after)
        case .present(let key, _):
            flows.append(key)
            stacks[key] = []
        case .dismiss(let key):
            guard flows.contains(key) else { return false }
            flows.removeAll { $0 == key }
            forgetStack(key)
        case .selectTab(let key, let tab):
            guard bars[key]?.contains(where: { $0[0] == tab }) == true else { return false }
            selected[key] = tab
        case .alert(let key): alert = key
        case .dismissAlert(let key):
            guard alert == key else { return false }
            alert = nil
        }
        return true
    }

    private mutating func show(_ key: String, _ after: PlainClient) -> Bool {
        guard let screen = after.screens[key] else { return false }
        screens[key] = screen
        selected[key] = after.selected[key]
        bars[key] = after.bars[key]
        for tab in bars[key] ?? [] { stacks["\(key)/\(tab[0])"] = [] }
        return true
    }

    /// Takes the labels of the tabs over: a tab that is new has an empty stack, and one that goes must have one.
    private mutating func label(_ key: String, _ after: PlainClient) -> Bool {
        guard let bar = after.bars[key] else { return true }
        let ids = bar.map { $0[0] }
        for tab in bars[key] ?? [] where !ids.contains(tab[0]) {
            guard stacks.removeValue(forKey: "\(key)/\(tab[0])")?.isEmpty == true else { return false }
        }
        for id in ids where stacks["\(key)/\(id)"] == nil { stacks["\(key)/\(id)"] = [] }
        bars[key] = bar
        return true
    }

    private mutating func forget(_ key: String) {
        for tab in bars[key] ?? [] { forgetStack("\(key)/\(tab[0])") }
        (screens[key], bars[key], selected[key]) = (nil, nil, nil)
    }

    private mutating func forgetStack(_ name: String) {
        for key in stacks.removeValue(forKey: name) ?? [] { forget(key) }
    }
}
