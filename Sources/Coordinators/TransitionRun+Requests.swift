extension NavigationState {
    /// Screens that one stack may hold.
    public static let stackLimit = 64
    /// Coordinators below each other, the root included.
    public static let depthLimit = 32
}

/// What a coordinator asks for, performed.
extension TransitionRun {
    mutating func perform(_ request: Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        switch request {
        case .push(let screen, let tabs): try push(screen, tabs: tabs, request, by: coordinator)
        case .pop, .popToRoot: try pop(request, by: coordinator)
        case .selectTab(let id): try selectTab(id, request, by: coordinator)
        case .alert(let alert): try show(alert, request, by: coordinator)
        case .start(let child):
            try start(child, on: stackForPush(by: coordinator), request, by: coordinator)
        case .finish: try finish(coordinator, request)
        }
    }

    /// Where a push of this coordinator lands: where the user sees its screen, else where it was started.
    private func stackForPush(by coordinator: LivingCoordinator) -> Int {
        let stacks = state.visibleStacks
        guard let top = stacks.last, top.screens.last?.coordinator == coordinator.id else { return coordinator.home }
        return top.id
    }

    private mutating func push(
        _ screen: Screen, tabs: [Tab]?, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        try check(screen, request, by: coordinator)
        let stack = stackForPush(by: coordinator)
        let key = state.nextKey("k")
        var placedTabs: PlacedTabs?
        if let tabs { placedTabs = try place(tabs, request, by: coordinator) }
        let placed = PlacedScreen(key: key, screen: screen, coordinator: coordinator, tabs: placedTabs)
        var isFull = false
        let found = state.stack.changeFirst { candidate in
            guard candidate.id == stack else { return false }
            isFull = candidate.screens.count >= NavigationState.stackLimit
            candidate.screens.append(placed)
            return true
        }
        guard found else { throw coordinator.impossible(request, "the stack on which it was started is gone") }
        guard !isFull else { throw .stackLimit(coordinator: coordinator.name) }
        newcomers.remove(coordinator.id)
        operations.append(.push(key: key))
        // The last one first: what is appended last to the agenda is done first.
        for (tab, item) in zip(tabs ?? [], placed.tabs?.items ?? []).reversed() {
            if case .child(let child) = tab.content { try start(child, on: item.stack.id, request, by: coordinator) }
        }
    }

    private mutating func place(
        _ tabs: [Tab], _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) -> PlacedTabs {
        guard !tabs.isEmpty else { throw coordinator.impossible(request, "there is no tab") }
        var items: [PlacedTab] = []
        for tab in tabs {
            guard !items.contains(where: { $0.id == tab.id }) else {
                throw coordinator.impossible(request, "two tabs are named “\(tab.id)”")
            }
            var stack = ScreenStack(id: state.nextID())
            if case .screen(let screen) = tab.content {
                try check(screen, request, by: coordinator)
                let key = state.nextKey("k")
                stack.screens = [PlacedScreen(key: key, screen: screen, coordinator: coordinator)]
            }
            items.append(PlacedTab(id: tab.id, title: tab.title, stack: stack))
        }
        return PlacedTabs(selection: 0, items: items)
    }

    private func check(
        _ screen: Screen, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        for event in screen.events ?? [] where coordinator.type.event(event) == nil {
            throw coordinator.impossible(request, "screen “\(screen.name)” offers “\(event)”, which is no event of it")
        }
    }

    private mutating func pop(_ request: Request, by coordinator: LivingCoordinator) throws(NavigationError) {
        guard let stack = state.visibleStacks.last, let top = stack.screens.last, top.coordinator == coordinator.id
        else { throw coordinator.impossible(request, "its screen is not the visible one") }
        guard stack.screens.count > 1 else {
            throw coordinator.impossible(request, "a stack keeps its first screen: finish instead")
        }
        let popped: Set<String> =
            if case .pop = request { [top.key] } else { Set(stack.screens.dropFirst().map(\.key)) }
        removeScreens { popped.contains($0.key) }
    }

    private mutating func selectTab(
        _ id: String, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        let screen = state.screens.last { $0.coordinator == coordinator.id && $0.tabs?.position(of: id) != nil }
        guard let screen, let position = screen.tabs?.position(of: id) else {
            throw coordinator.impossible(request, "it has no such tab")
        }
        select(position, of: screen)
    }

    /// Selects a tab that is there; nothing happens to one that is selected.
    mutating func select(_ position: Int, of screen: PlacedScreen) {
        guard let tabs = screen.tabs, tabs.selection != position else { return }
        state.stack.changeTabs(of: screen.key) { $0.selection = position }
        operations.append(.selectTab(key: screen.key, tab: tabs.items[position].id))
    }

    private mutating func show(
        _ alert: Alert, _ request: Request, by coordinator: LivingCoordinator
    ) throws(NavigationError) {
        guard state.alert == nil else { throw coordinator.impossible(request, "another alert is shown") }
        guard !alert.buttons.isEmpty else { throw coordinator.impossible(request, "an alert needs a button") }
        for (index, button) in alert.buttons.enumerated() {
            guard !alert.buttons[..<index].contains(where: { $0.id == button.id }) else {
                throw coordinator.impossible(request, "two buttons are named “\(button.id)”")
            }
            guard button.event.map({ coordinator.type.event($0.name) != nil }) ?? true else {
                throw coordinator.impossible(request, "button “\(button.id)” sends what is no event of it")
            }
        }
        let key = state.nextKey("a")
        state.alert = PresentedAlert(key: key, alert: alert, coordinator: coordinator.id)
        operations.append(.alert(key: key))
    }

    private mutating func start(
        _ child: any Coordinator, on stack: Int, _ request: Request, by parent: LivingCoordinator
    ) throws(NavigationError) {
        guard state.depth(of: parent) < NavigationState.depthLimit else {
            throw .runawayTransition(coordinator: parent.name)
        }
        guard let type = app.type(of: child) else {
            throw parent.impossible(request, "the app's coordinators do not list it")
        }
        newcomers.remove(parent.id)
        try add(child, type: type, parent: parent.id, home: stack)
    }

    /// Adds the root of the tree and has it started.
    mutating func startRoot() throws(NavigationError) {
        try add(app.root(), type: app.rootType, parent: nil, home: state.stack.id)
    }

    private mutating func add(
        _ coordinator: any Coordinator, type: CoordinatorType, parent: Int?, home: Int
    ) throws(NavigationError) {
        let id = state.nextID()
        state.coordinators.append(
            try LivingCoordinator(id: id, parent: parent, home: home, type: type, coordinator: coordinator))
        newcomers.insert(id)
        agenda.append(.call(.start, id))
    }

    private mutating func finish(
        _ coordinator: LivingCoordinator, _ request: Request
    ) throws(NavigationError) {
        guard let parent = coordinator.parent else {
            throw coordinator.impossible(request, "the root lives as long as the session")
        }
        remove(state.family(of: coordinator.id))
        finished.append(coordinator.name)
        agenda.append(.call(.childDidFinish(coordinator.coordinator), parent))
    }
}

extension NavigationState {
    fileprivate func depth(of coordinator: LivingCoordinator) -> Int {
        var depth = 1
        var next = coordinator.parent
        while let id = next {
            depth += 1
            next = self[id]?.parent
        }
        return depth
    }

    /// A coordinator and its descendants. Parents stand before their children, so one pass finds them.
    fileprivate func family(of id: Int) -> Set<Int> {
        coordinators.reduce(into: [id]) { family, coordinator in
            if let parent = coordinator.parent, family.contains(parent) { family.insert(coordinator.id) }
        }
    }
}
