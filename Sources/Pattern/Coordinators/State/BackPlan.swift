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
    /// What `back` does next; `nil` if there is nothing to go back to. Clients see this plan, and `back` carries out
    /// the same one.
    ///
    /// While an alert is shown, only its cancel button counts. Otherwise `back` uses the innermost visible stack that
    /// can go back, and if there is none, the top presented flow.
    public var backPlan: BackPlan? {
        if let alert {
            guard let button = alert.alert.cancelButton, mayPress(button, of: alert) else { return nil }
            return .dismissAlert
        }
        guard mayGoBack else { return nil }
        if let plan = topStack.backPlan { return plan }
        guard let flow = presented.last, flow.isDismissable, let revealed = stackBelowTop.screens.last?.visible else {
            return nil
        }
        return .dismiss(key: flow.key, revealed: revealed.key)
    }

    /// Whether `back` shows an alert first, because a coordinator objects to leaving a screen.
    ///
    /// - Parameter plan: the state's `backPlan`.
    public func asks(before plan: BackPlan) -> Bool {
        switch plan {
        case .dismissAlert: return false
        case .pop:
            var asks = false
            topStack.innermostToPop?.screens.last?.forEachWithin { if objection(to: $0) != nil { asks = true } }
            return asks
        case .dismiss: return asks(beforeDismissing: presented.count - 1)
        case .selectTab: return visible.map { objection(to: $0) != nil } ?? false
        }
    }

    /// Whether the user may dismiss the presented flow at that position, with all flows above it, and `dismiss` shows an
    /// alert first.
    public func asks(beforeDismissing position: Int) -> Bool {
        guard let lowest = lowestDismissable, position >= lowest else { return false }
        let leaving = leaving(with: [], flowsFrom: position)
        return screensToLeave(where: leaving.includes).contains { objection(to: $0) != nil }
    }

    /// The position of the lowest presented flow that the user may dismiss together with all flows above it; `nil` if
    /// there is none.
    var lowestDismissable: Int? {
        guard mayGoBack, presented.last?.isDismissable == true else { return nil }
        return presented.lastIndex { !$0.isDismissable }.map { $0 + 1 } ?? 0
    }

    /// Whether the user may leave the visible screen backwards. No screen may be left while an alert is shown.
    var mayGoBack: Bool { alert == nil && visible?.screen.back != .forbidden && !isOnlyShown }

    /// The screens that `backToRoot` pops now; none if there is nothing to go back to.
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

    /// The innermost visible stack: this one, or one in the selected tab of its top screen.
    var innermost: ScreenStack { selectedTabStack?.innermost ?? self }

    /// The innermost visible stack that has a screen to pop; `nil` if each has only its first screen.
    var innermostToPop: ScreenStack? {
        selectedTabStack?.innermostToPop ?? (screens.count > 1 ? self : nil)
    }
}
