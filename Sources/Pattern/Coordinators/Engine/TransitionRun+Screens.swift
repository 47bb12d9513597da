/// Places, draws and selects screens.
extension TransitionRun {
    /// Puts a screen on top of a stack, by default the coordinator's.
    mutating func place(
        _ screen: Screen, tabs: PlacedTabs? = nil, key: String? = nil, on stack: Int? = nil,
        of coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let key = key ?? state.nextKey("k")
        let placed = try placed(screen, tabs: tabs, key: key, of: coordinator)
        let stack = stack ?? state.stackID(for: coordinator)
        try change(stack, of: coordinator) { $0.screens.append(placed) }
        try checkNesting(of: stack, by: coordinator)
        newcomers.removeAll { $0 == coordinator.id }
    }

    /// Requires that the screens of a stack are not too deep in tabs. A session from before there was a limit may have deeper
    /// ones, and get no others.
    func checkNesting(of stack: Int, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard state.nesting(ofStack: stack) < app.limits.nesting else {
            throw .nestingLimit(coordinator: coordinator.name)
        }
    }

    /// A screen as its coordinator draws it now.
    func placed(
        _ screen: Screen, tabs: PlacedTabs? = nil, key: String, of coordinator: LivingCoordinator
    ) throws(NavigationError) -> PlacedScreen {
        var screen = screen
        screen.tabs = tabs?.items.map(\.label) ?? []
        screen = coordinator.drawing(of: screen, in: state.context)
        let placed = PlacedScreen(
            key: key, screen: screen, coordinator: coordinator, tabs: tabs?.drawn(as: screen.tabs))
        try check(placed, of: coordinator, requestName)
        return placed
    }

    mutating func change(
        _ id: Int, of coordinator: LivingCoordinator, _ change: (inout ScreenStack) -> Void
    ) throws(NavigationError) {
        let limit = app.limits.stack
        var isFull = false
        let found = state.changeFirstStack { stack in
            guard stack.id == id else { return false }
            change(&stack)
            isFull = stack.screens.count > limit
            return true
        }
        guard found else { throw impossible("the stack on which it was started is gone") }
        guard !isFull else { throw .stackLimit(coordinator: coordinator.name) }
    }

    func stack(of coordinator: LivingCoordinator) throws(NavigationError) -> ScreenStack {
        guard let stack = state.stack(state.stackID(for: coordinator)) else {
            throw impossible("the stack on which it was started is gone")
        }
        return stack
    }

    func stackAndTop(
        of coordinator: LivingCoordinator
    ) throws(NavigationError) -> (stack: ScreenStack, top: PlacedScreen) {
        let stack = try stack(of: coordinator)
        guard let top = stack.screens.last else { throw impossible("there is no screen on its stack") }
        return (stack, top)
    }

    /// Requires that the screen's events exist, and that JSON can hold its parameters.
    ///
    /// - Parameter request: names the request or the function that the screen comes from, for its author.
    private func check(
        _ placed: PlacedScreen, of coordinator: LivingCoordinator, _ request: @autoclosure () -> String
    ) throws(NavigationError) {
        guard let problem = problem(of: placed, of: coordinator.type) else { return }
        throw .impossibleRequest(coordinator: coordinator.name, request: request(), reason: problem)
    }

    private func problem(of placed: PlacedScreen, of type: CoordinatorType) -> String? {
        let screen = placed.screen
        if let problem = type.problem(ofControlsOn: screen) { return "screen “\(screen.name)” \(problem)" }
        if let role = screen.roles.first(where: { !app.roles.contains($0) }) {
            return "screen “\(screen.name)” is for “\(role.name)”, which is no role of the app"
        }
        guard placed.isUnwritable else { return nil }
        let error = JSONEncodingError(unwritable: .object(screen.params))
        return "“params/\(error.path.joined(separator: "/"))” of screen “\(screen.name)” \(error.reason)"
    }

    /// Redraws the screens of the coordinators that have changed, or all screens if the context has.
    ///
    /// - Returns: whether any screen has changed.
    mutating func redraw(_ screens: [PlacedScreen], all: Bool = false) throws(NavigationError) -> Bool {
        let context = state.context
        let isAffected = all || redrawsAll || context != original.context
        if isAffected {
            for index in state.coordinators.indices {
                state.coordinators[index] = state.coordinators[index].with(context)
            }
        }
        var hasChanged = false
        let isTranslated = isAffected && hasChangedLanguage
        for screen in screens where isAffected || redrawn.contains(screen.coordinator) {
            guard let coordinator = state[screen.coordinator] else { continue }
            let before = screen.labelled
            var drawn = coordinator.drawing(of: before, in: context)
            if isTranslated, drawn.hasContent { drawn.contentVersion += 1 }
            if drawn != before, try redraw(screen, as: drawn, of: coordinator, "render(\(drawn.name))") {
                hasChanged = true
            }
        }
        return hasChanged
    }

    /// Whether the client has said that its user reads another language: contents may be in the former one.
    private var hasChangedLanguage: Bool {
        event?.type == BuiltInEvent.describeClient.rawValue && cause == .event
            && state.client.locale != original.client.locale
    }

    /// - Parameter request: names the request or the function that the screen comes from, for its author.
    /// - Returns: whether the screen has changed.
    @discardableResult
    mutating func redraw(
        _ own: PlacedScreen, as screen: Screen, of coordinator: LivingCoordinator, _ request: @autoclosure () -> String
    ) throws(NavigationError) -> Bool {
        let drawn = PlacedScreen(own, screen: screen, of: coordinator)
        try check(drawn, of: coordinator, request())
        return draw(drawn, labels: screen.tabs) { $0.drawn(as: screen.tabs) }
    }

    /// Replaces a screen by its new form. Its tabs keep their stacks.
    ///
    /// - Parameters:
    ///   - screen: the new form. Only the labels of its tabs count.
    ///   - labels: those labels.
    ///   - label: applies them to the screen's present tabs.
    /// - Returns: whether the screen has changed.
    @discardableResult
    mutating func draw(_ screen: PlacedScreen, labels: [TabLabel], _ label: (PlacedTabs) -> PlacedTabs) -> Bool {
        var hasChanged = false
        state.changeFirstStack { stack in
            guard let index = stack.screens.firstIndex(where: { $0.key == screen.key }) else { return false }
            // The stacks of its tabs may have changed since `screen` was made.
            let before = stack.screens[index]
            let drawn = before.tabs.map { screen.with(labels == $0.items.map(\.label) ? $0 : label($0)) } ?? screen
            hasChanged = drawn != before
            if hasChanged { stack.screens[index] = drawn }
            return true
        }
        return hasChanged
    }

    /// Selects a tab that exists; does nothing if it is already selected.
    mutating func select(_ position: Int, of screen: PlacedScreen) {
        guard let tabs = screen.tabs, tabs.selection != position else { return }
        let history = tabs.back == .history ? history(selecting: position, of: screen.key, now: tabs) : []
        state.changeTabs(of: screen.key) { $0.select(position, history: history) }
    }

    /// The history after another tab is selected. Only tabs that the user saw get into it, so a tab that was selected
    /// for a moment in this transition does not.
    private func history(selecting position: Int, of key: String, now: PlacedTabs) -> [Int] {
        // The positions in the history may mean other tabs, if `setTabs` has changed them.
        let seen = (tabsLeftByBack?.key == key ? tabsLeftByBack?.tabs : original.tabs(of: key)) ?? now
        return (seen.history + [seen.selection]).compactMap { now.position(of: seen.items[$0].id) }
            .filter { $0 != position }
    }

    /// Goes back to a tab that was selected before.
    ///
    /// - Returns: its id.
    mutating func selectPrevious(_ position: Int, of key: String) -> String? {
        guard var left = state.tabs(of: key) else { return nil }
        var tab: String?
        state.changeTabs(of: key) { tabs in
            tabs.selectPrevious(position)
            tab = tabs.selected.id
            left.history = tabs.history
        }
        tabsLeftByBack = (key, left)
        return tab
    }
}

extension LivingCoordinator {
    /// A screen as the coordinator draws it.
    func drawing(of screen: Screen, in context: NavigationContext) -> Screen {
        var screen = screen
        coordinator.render(&screen, in: context)
        screen.settleValues(type.event)
        if screen.mayHaveCarryingControls {
            screen.addEmptyPayloads { type.event($0)?.emptyPayload }
            let isForRole = context.role.map { $0.mayAct && screen.roles.includes($0) } ?? true
            screen.enableCarryingControls { isForRole && type.isEnabled($0, of: coordinator, in: context) }
        }
        return screen
    }
}

extension NavigationState {
    /// The name of a screen that changes when its coordinator draws it once more; `nil` if there is none.
    package var screenDrawnDifferently: String? {
        screens.first { screen in
            self[screen.coordinator].map { $0.drawing(of: screen.labelled, in: context) != screen.labelled } ?? false
        }?.screen.name
    }

    /// The id of a coordinator's stack: if the visible screen is the coordinator's own, the stack with that screen,
    /// otherwise the one on which the coordinator was started.
    func stackID(for coordinator: LivingCoordinator) -> Int {
        let innermost = topStack.innermost
        return innermost.screens.last?.coordinator == coordinator.id ? innermost.id : coordinator.home
    }
}
