/// What a client can know before the server answers: `back`, `selectTab` and `dismiss` only move between screens that
/// the state has already.
extension NavigationState {
    /// The state that an event probably leads to, to be drawn until the answer is there; `nil` if that cannot be known:
    /// the event is another one, the app asks the user first, the state forbids it, or is itself only expected.
    ///
    /// The screens, the tabs and the alert are those of this state. Which events the next screen accepts is known to the
    /// server only: `events` and `controls` have those of the tab bar and of the app. `back` is what the depth of the
    /// stacks shows; `nil` where the app's own rules decide, such as a return to another tab.
    public func predicted(after event: NavigationEvent) -> NavigationState? {
        guard !isEarly, events.contains(event.type) else { return nil }
        var next = self
        let isPossible =
            switch event.type {
            case "back": next.goBack(event.payload)
            case "selectTab": next.selectTab(event.payload)
            case "dismiss": next.dismiss(event.payload)
            default: false
            }
        guard isPossible, let visible = next.topStack.visible else { return nil }
        next.visible = visible
        next.isEarly = true
        next.transition = nil
        next.back = next.backPrediction
        next.controls = controls.filter { $0.place == .app || $0.place == .tabBar && next.topStack.last?.tabs != nil }
        next.events = events.filter { type in next.controls.contains { $0.type == type } }
        return next
    }

    private mutating func goBack(_ payload: JSONValue?) -> Bool {
        guard payload == nil || payload == [:], let back, back.asks != true else { return false }
        switch back.effect {
        case .pop: _ = topStack.popInnermost()
        case .dismiss: _ = presented.popLast()
        case .selectTab: _ = topStack.select { tabs in tabs.items.first { $0.stack.visible?.key == back.to }?.id }
        case .dismissAlert: alert = nil
        case .unknown: return false
        }
        return back.to == nil || topStack.visible?.key == back.to
    }

    private mutating func selectTab(_ payload: JSONValue?) -> Bool {
        guard let choice = payload?.object, choice.count == 1, back?.asks != true else { return false }
        let chosen = { (tabs: Tabs) -> String? in
            if let index = choice["index"]?.integer {
                return tabs.items.indices.contains(Int(index)) ? tabs.items[Int(index)].id : nil
            }
            return tabs.items.first { $0.id == choice["tab"]?.string }?.id
        }
        // The selected tab is popped to its first screen, unless its screen may not be left.
        let before = visible.key
        if topStack.popToRoot(ofSelected: chosen) { return back != nil && topStack.visible?.key != before }
        return topStack.select(chosen)
    }

    private mutating func dismiss(_ payload: JSONValue?) -> Bool {
        let choice = payload?.object ?? [:]
        let position =
            choice["key"]?.string.map { key in presented.firstIndex { $0.key == key } } ?? presented.indices.last
        guard let position, choice.isEmpty || choice.count == 1 && choice["key"] != nil else { return false }
        let gone = presented[position...]
        let asks = back?.effect == .dismiss && back?.asks == true || gone.contains { $0.asks == true }
        guard !asks, gone.allSatisfy({ $0.isDismissable != false }) else { return false }
        presented.removeSubrange(position...)
        return true
    }

    /// What `back` does, as far as the depth of the stacks shows.
    private var backPrediction: Back? {
        if alert != nil { return nil }
        if let back = topStack.backPrediction { return back }
        guard let flow = presented.last, flow.isDismissable != false else { return nil }
        let below = presented.dropLast().last?.stack ?? stack
        return below.visible.map { Back(effect: .dismiss, to: $0.key, asks: flow.asks) }
    }

    /// The stack in front.
    private var topStack: [Screen] {
        get { presented.last?.stack ?? stack }
        set {
            if presented.isEmpty { stack = newValue } else { presented[presented.count - 1].stack = newValue }
        }
    }
}

extension [Screen] {
    /// The screen that is seen when this stack is in front: its last one, or that of the selected tab there.
    var visible: Screen? {
        guard let top = last, let tabs = top.tabs else { return last }
        return tabs.selection.flatMap { tabs.items[$0].stack.visible }
    }

    /// Changes the stack of the selected tab on the last screen; `nil` if there is none.
    private mutating func changeSelected<T>(_ change: (inout [Screen]) -> T?) -> T? {
        guard let top = indices.last, let selection = self[top].tabs?.selection,
            var stack = self[top].tabs?.items[selection].stack, let result = change(&stack)
        else { return nil }
        self[top].tabs?.items[selection].stack = stack
        return result
    }

    /// Pops the innermost visible stack that has a screen to pop.
    fileprivate mutating func popInnermost() -> Bool {
        if changeSelected({ $0.popInnermost() ? true : nil }) == true { return true }
        guard count > 1 else { return false }
        removeLast()
        return true
    }

    /// Selects the tab that `choose` names, of the innermost tabs in which it finds one.
    fileprivate mutating func select(_ choose: (Tabs) -> String?) -> Bool {
        if changeSelected({ $0.select(choose) ? true : nil }) == true { return true }
        guard let top = indices.last, let id = self[top].tabs.flatMap(choose) else { return false }
        self[top].tabs?.selected = id
        return true
    }

    /// If the tab that `choose` names is selected already, pops it to its first screen.
    ///
    /// - Returns: whether it is selected.
    fileprivate mutating func popToRoot(ofSelected choose: (Tabs) -> String?) -> Bool {
        let inner = changeSelected { stack -> Bool? in
            let isKnown = stack.last?.tabs.flatMap(choose) != nil
            return stack.popToRoot(ofSelected: choose) ? true : isKnown ? false : nil
        }
        if let inner { return inner }
        guard let tabs = last?.tabs, choose(tabs) == tabs.selected else { return false }
        return changeSelected {
            $0.removeSubrange(1...); return true
        } ?? false
    }

    /// What `back` does on this stack, as far as its depth shows.
    fileprivate var backPrediction: Back? {
        var next = self
        guard next.popInnermost() else { return nil }
        return next.visible.map { Back(effect: .pop, to: $0.key, asks: nil) }
    }
}
