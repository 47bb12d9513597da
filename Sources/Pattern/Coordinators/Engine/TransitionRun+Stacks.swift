/// Performs the requests for stacks and tabs.
extension TransitionRun {
    mutating func push(
        _ screen: Screen, onlyIfNew: Bool, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        if onlyIfNew, let top = state.stack(state.stackID(for: coordinator))?.screens.last,
            top.coordinator == coordinator.id
        {
            let drawn = coordinator.drawing(of: screen, in: state.context)
            if top.screen.name == drawn.name, top.screen.params == drawn.params { return }
        }
        try place(screen, request, by: coordinator)
    }

    mutating func push(
        _ screen: Screen, _ tabs: [Tab], selected: String?, back: TabBackRule, _ request: Request,
        by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let key = state.nextKey("k")
        try check(tabs, request, by: coordinator)
        var items: [PlacedTab] = []
        for tab in tabs { items.append(try place(tab, request, by: coordinator)) }
        guard let selection = selected.map({ id in items.firstIndex { $0.id == id } }) ?? 0 else {
            throw coordinator.impossible(request, "no tab has the id to be selected")
        }
        let placed = PlacedTabs(items, selection: selection, back: back)
        try place(screen, tabs: placed, key: key, request, by: coordinator)
        try fill(zip(tabs, items).map { ($0, $1) }, request, by: coordinator)
    }

    private func check(
        _ tabs: [Tab], _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        guard !tabs.isEmpty else { throw coordinator.impossible(request, "there is no tab") }
        for (index, tab) in tabs.enumerated() where tabs[..<index].contains(where: { $0.id == tab.id }) {
            throw coordinator.impossible(request, "two tabs are named “\(tab.id)”")
        }
    }

    private mutating func place(
        _ tab: Tab, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) -> PlacedTab {
        var stack = ScreenStack(id: state.nextID())
        if case .screen(let screen) = tab.content {
            stack.screens = [try placed(screen, key: state.nextKey("k"), request, by: coordinator)]
        }
        return PlacedTab(id: tab.id, title: tab.title, icon: tab.icon, badge: tab.badge, stack: stack)
    }

    /// Shows what a screen's new tabs begin with.
    private mutating func fill(
        _ new: [(tab: Tab, item: PlacedTab)], _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        for (_, item) in new where !item.stack.screens.isEmpty {
            try checkNesting(of: item.stack.id, by: coordinator)
        }
        let before = agenda.count
        for (tab, item) in new {
            if case .child(let child) = tab.content { try start(child, on: item.stack.id, request, by: coordinator) }
        }
        // The first tab's child is started first: what is last on the agenda is done first.
        agenda[before...].reverse()
    }

    mutating func setTabs(
        _ tabs: [Tab], _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        try check(tabs, request, by: coordinator)
        guard let screen = state.screens.last(where: { $0.coordinator == coordinator.id && $0.tabs != nil }),
            let before = screen.tabs
        else { throw coordinator.impossible(request, "it has no screen with tabs") }
        try endTabs(except: tabs, of: before)
        var new: [(tab: Tab, item: PlacedTab)] = []
        var items: [PlacedTab] = []
        // Without what has ended.
        let kept = state.tabs(of: screen.key)?.items ?? []
        for tab in tabs {
            if let old = kept.first(where: { $0.id == tab.id }), isInUse(old.stack) {
                let badge = tab.badge ?? old.badge
                items.append(PlacedTab(id: tab.id, title: tab.title, icon: tab.icon, badge: badge, stack: old.stack))
            } else {
                new.append((tab, try place(tab, request, by: coordinator)))
                items.append(new[new.count - 1].item)
            }
        }
        let after = before.replaced(by: items)
        state.changeTabs(of: screen.key) { $0 = after }
        noteChange(of: coordinator.id)
        try fill(new, request, by: coordinator)
    }

    /// Ends the flows in the tabs that go, and removes the screens there.
    private mutating func endTabs(except tabs: [Tab], of before: PlacedTabs) throws(NavigationError) {
        var stacks: Set<Int> = []
        var keys: Set<String> = []
        for old in before.items where !tabs.contains(where: { $0.id == old.id }) {
            old.stack.forEachStack { stacks.insert($0.id) }
            for screen in old.stack.screens { keys.insert(screen.key) }
        }
        let started = state.coordinators.filter { stacks.contains($0.home) }.map(\.id)
        let living = state.coordinators
        drop(state.families(of: Set(started))) { keys.contains($0.key) }
        try recordCleanUps(since: living, .removed)
    }

    /// Whether a tab's stack has a screen, or a coordinator that may still show one.
    private func isInUse(_ stack: ScreenStack) -> Bool {
        !stack.screens.isEmpty || state.coordinators.contains { $0.home == stack.id }
    }

    /// Puts a screen on top of a stack, by default the coordinator's.
    private mutating func place(
        _ screen: Screen, tabs: PlacedTabs? = nil, key: String? = nil, on stack: Int? = nil, _ request: Request,
        by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let key = key ?? state.nextKey("k")
        let placed = try placed(screen, tabs: tabs, key: key, request, by: coordinator)
        let stack = stack ?? state.stackID(for: coordinator)
        try change(stack, request, by: coordinator) { $0.screens.append(placed) }
        try checkNesting(of: stack, by: coordinator)
        newcomers.removeAll { $0 == coordinator.id }
    }

    /// Requires that the screens of a stack are not too deep in tabs. A session from before there was a limit may have deeper
    /// ones, and get no others.
    private func checkNesting(of stack: Int, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard state.nesting(ofStack: stack) < app.limits.nesting else {
            throw .nestingLimit(coordinator: coordinator.name)
        }
    }

    /// A screen as its coordinator draws it now.
    private func placed(
        _ screen: Screen, tabs: PlacedTabs? = nil, key: String, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) -> PlacedScreen {
        var screen = screen
        screen.tabs = tabs?.items.map(\.label) ?? []
        screen = coordinator.drawing(of: screen, in: state.context)
        let placed = PlacedScreen(
            key: key, screen: screen, coordinator: coordinator, tabs: tabs?.drawn(as: screen.tabs))
        try check(placed, request.description, by: coordinator)
        return placed
    }

    mutating func change(
        _ id: Int, _ request: Request, by coordinator: LivingCoordinator, _ change: (inout ScreenStack) -> Void
    ) throws(NavigationError) {
        let limit = app.limits.stack
        var isFull = false
        let found = state.changeFirstStack { stack in
            guard stack.id == id else { return false }
            change(&stack)
            isFull = stack.screens.count > limit
            return true
        }
        guard found else { throw coordinator.impossible(request, "the stack on which it was started is gone") }
        guard !isFull else { throw .stackLimit(coordinator: coordinator.name) }
    }

    /// Requires that the screen's events exist, and that JSON can hold its parameters.
    ///
    /// - Parameter request: names the request or the function that the screen comes from, for its author.
    private func check(
        _ placed: PlacedScreen, _ request: @autoclosure () -> String, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let screen = placed.screen
        if let problem = coordinator.type.problem(ofControlsOn: screen) {
            throw .impossibleRequest(
                coordinator: coordinator.name, request: request(), reason: "screen “\(screen.name)” \(problem)")
        }
        if placed.isUnwritable {
            let error = JSONEncodingError(unwritable: .object(screen.params))
            throw .impossibleRequest(
                coordinator: coordinator.name, request: request(),
                reason: "“params/\(error.path.joined(separator: "/"))” of screen “\(screen.name)” \(error.reason)")
        }
    }

    mutating func pop(_ request: Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard let stack = state.stack(state.stackID(for: coordinator)) else {
            throw coordinator.impossible(request, "the stack on which it was started is gone")
        }
        if case .popTo(_, let screen?) = request, stack.screens.isEmpty {
            return try place(screen, request, by: coordinator)
        }
        guard let top = stack.screens.last else {
            throw coordinator.impossible(request, "there is no screen on its stack")
        }
        let kept: Int
        switch request {
        case .popTo(let reference, let screen):
            guard let index = stack.screens.lastIndex(where: reference.matches) else {
                if let screen { return try place(screen, request, by: coordinator) }
                throw coordinator.impossible(request, "the stack has no such screen")
            }
            kept = index + 1
        case .popToRoot: kept = 1
        default:
            guard stack.screens.count > 1 else { return }
            guard state.lineage(of: top.coordinator).contains(coordinator.id) else {
                throw coordinator.impossible(request, "the screen on top of its stack belongs to another flow")
            }
            kept = stack.screens.count - 1
        }
        drop(stack.screens.dropFirst(kept))
    }

    mutating func replace(
        with screen: Screen, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let key = state.nextKey("k")
        let placed = try placed(screen, key: key, request, by: coordinator)
        let id = state.stackID(for: coordinator)
        guard let top = state.stack(id)?.screens.last, top.coordinator == coordinator.id else {
            throw coordinator.impossible(request, "the screen on top of the stack is not its own")
        }
        try change(id, request, by: coordinator) { $0.screens[$0.screens.count - 1] = placed }
        replaced[key] = top.key
        top.forEachWithin { noteGone($0) }
    }

    mutating func setStack(
        _ screens: [Screen], _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        guard !screens.isEmpty else { throw coordinator.impossible(request, "there is no screen") }
        // Looked up first: without the coordinator's screens its stack can no longer be determined.
        let id = state.stackID(for: coordinator)
        if let stack = state.stack(id),
            let first = stack.screens.firstIndex(where: { $0.coordinator == coordinator.id })
        {
            drop(stack.screens[first...])
        }
        for screen in screens { try place(screen, on: id, request, by: coordinator) }
    }

    mutating func update(
        _ reference: ScreenReference, _ change: @Sendable (inout Screen) -> Void, _ request: Request,
        by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let own = state.screens.last { $0.coordinator == coordinator.id && reference.matches($0) }
        guard let own else { throw coordinator.impossible(request, "it has no such screen") }
        var screen = own.labelled
        change(&screen)
        let drawn = coordinator.drawing(of: screen, in: state.context)
        if drawn != own.labelled { try redraw(own, as: drawn, request.description, by: coordinator) }
    }

    /// Counts a new version of a screen's content, which is no part of the state.
    mutating func invalidateContent(
        _ reference: ScreenReference, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        for own in state.screens where own.coordinator == coordinator.id && reference.matches(own) {
            guard own.screen.hasContent else { throw coordinator.impossible(request, "the screen has no content") }
            try update(.key(own.key), { $0.contentVersion += 1 }, request, by: coordinator)
        }
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
            if drawn != before, try redraw(screen, as: drawn, "render(\(drawn.name))", by: coordinator) {
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
    private mutating func redraw(
        _ own: PlacedScreen, as screen: Screen, _ request: @autoclosure () -> String, by coordinator: LivingCoordinator
    ) throws(NavigationError) -> Bool {
        let drawn = PlacedScreen(own, screen: screen, of: coordinator)
        try check(drawn, request(), by: coordinator)
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

    mutating func selectTab(
        _ id: String, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let (screen, position) = try tab(id, request, of: coordinator)
        select(position, of: screen)
    }

    func tab(
        _ id: String, _ request: Request, of coordinator: LivingCoordinator
    ) throws(NavigationError) -> (PlacedScreen, position: Int) {
        let screen = state.screens.last { $0.coordinator == coordinator.id && $0.tabs?.position(of: id) != nil }
        guard let screen, let position = screen.tabs?.position(of: id) else {
            throw coordinator.impossible(request, "it has no such tab")
        }
        return (screen, position)
    }

    mutating func setBadge(
        _ badge: String?, ofTab id: String, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let (screen, position) = try tab(id, request, of: coordinator)
        guard let before = screen.tabs?.items[position], before.badge != badge else { return }
        state.changeTabs(of: screen.key) { tabs in
            tabs.items[position] = PlacedTab(
                id: id, title: before.title, icon: before.icon, badge: badge, stack: before.stack)
        }
        noteChange(of: coordinator.id)
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
        if screen.mayHaveCarryingControls {
            screen.addEmptyPayloads { type.event($0)?.emptyPayload }
            screen.enableCarryingControls { type.isEnabled($0, of: coordinator, in: context) }
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
