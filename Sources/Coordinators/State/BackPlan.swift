/// What `back` would do now.
public enum BackPlan: Sendable, Equatable {
    /// Presses the alert's cancel button.
    case dismissAlert
    /// Pops the screen `key`; `revealed` is visible then.
    case pop(key: String, revealed: String)
    /// Dismisses the presented flow `key`; `revealed` is visible then.
    case dismiss(key: String, revealed: String)
    /// Selects another tab of the screen `key`; `revealed` is visible then.
    case selectTab(key: String, position: Int, revealed: String)
}

extension NavigationState {
    /// What `back` does next; `nil` where there is nothing to go back to. The same plan is shown and carried out.
    ///
    /// The first of these that applies: the alert; the stacks of the top presented flow; that flow itself; the stacks
    /// below all flows. Of stacks in one another the innermost comes first.
    public var backPlan: BackPlan? {
        if let alert { return alert.alert.cancelButton == nil ? nil : .dismissAlert }
        guard mayGoBack else { return nil }
        if let plan = topStack.backPlan { return plan }
        guard let flow = presented.last, let revealed = stackBelowTop.screens.last?.visible else { return nil }
        return .dismiss(key: flow.key, revealed: revealed.key)
    }

    /// Whether the visible screen lets the user go backwards.
    var mayGoBack: Bool { alert == nil && visible?.screen.back != .forbidden }

    /// The screens that `backToRoot` pops now; none where it has nowhere to go.
    var screensAboveRoot: ArraySlice<PlacedScreen> {
        guard mayGoBack, let stack = topStack.innermostToPop else { return [] }
        return stack.screens.dropFirst()
    }

    private var stackBelowTop: ScreenStack { presented.dropLast().last?.stack ?? stack }
}

extension ScreenStack {
    fileprivate var backPlan: BackPlan? {
        guard let top = screens.last else { return nil }
        if let tabs = top.tabs {
            if let plan = tabs.selected.stack.backPlan { return plan }
            if let previous = tabs.previous, let revealed = tabs.items[previous].stack.screens.last?.visible {
                return .selectTab(key: top.key, position: previous, revealed: revealed.key)
            }
        }
        guard screens.count > 1 else { return nil }
        return .pop(key: top.key, revealed: screens[screens.count - 2].visible.key)
    }

    /// The innermost stack that the user looks through here.
    var innermost: ScreenStack { selectedTabStack?.innermost ?? self }

    /// The innermost stack with a screen to pop that the user looks through here; `nil` where all have but their first.
    var innermostToPop: ScreenStack? {
        selectedTabStack?.innermostToPop ?? (screens.count > 1 ? self : nil)
    }
}
