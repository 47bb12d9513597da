/// What `back` would do now.
public enum BackPlan: Sendable, Equatable {
    /// Presses the alert's cancel button.
    case dismissAlert
    /// Pops the screen `key`; `revealed` is visible then.
    case pop(key: String, revealed: String)
}

extension NavigationState {
    /// What `back` does next; `nil` where there is nothing to go back to. The same plan is shown and carried out.
    public var backPlan: BackPlan? {
        if let alert { return alert.alert.cancelButton == nil ? nil : .dismissAlert }
        guard let stack = stack.innermostToPop else { return nil }
        let top = stack.screens[stack.screens.count - 1]
        let below = stack.screens[stack.screens.count - 2]
        return .pop(key: top.key, revealed: below.visible.key)
    }

    /// The screens that `backToRoot` pops now; none where it has nowhere to go.
    var screensAboveRoot: [PlacedScreen] {
        guard alert == nil, let stack = stack.innermostToPop else { return [] }
        return Array(stack.screens.dropFirst())
    }
}
