// Screens with tabs.
extension Navigator {
    /// Puts a screen with tabs on top of the stack.
    ///
    /// - Parameters:
    ///   - selected: the id of the tab to select; by default the first one's.
    ///   - back: what `back` does at the first screen of a tab.
    public mutating func push(_ screen: Screen, tabs: [Tab], selected: String? = nil, back: TabBackRule = .nothing) {
        record(PushTabs(screen: screen, tabs: tabs, selected: selected, back: back))
    }

    /// Selects the tab of that id, on the innermost of this coordinator's own screens that has such a tab.
    public mutating func selectTab(_ id: String) {
        record(SelectTab(id: id))
    }

    /// Changes the badge of a tab, on the innermost of this coordinator's own screens that has such a tab.
    ///
    /// - Parameter badge: `nil` for none.
    public mutating func setBadge(_ badge: String?, ofTab id: String) {
        record(SetBadge(badge: badge, id: id))
    }

    /// Changes which tabs this coordinator's screen has, and their order. If there are several such screens, the
    /// topmost one counts, as for `selectedTab`.
    ///
    /// A tab whose id stays keeps its stack, with all coordinators and screens there; only its title, icon and badge
    /// are drawn as given, the badge only if one is given. What `starting` or the screen says is for a tab that is new,
    /// or that `endChildren` has emptied. The flows in a tab that goes end as with `endChildren`; their screens are
    /// asked first, as with `setStack`.
    ///
    /// The selected tab stays selected. If it goes, the tab that takes its position is selected, or else the last one.
    /// What `back` remembers of tabs that stay, it keeps.
    public mutating func setTabs(_ tabs: [Tab]) {
        record(SetTabs(tabs: tabs))
    }
}

private struct PushTabs: Request {
    let screen: Screen
    let tabs: [Tab]
    let selected: String?
    let back: TabBackRule
    var name: String { "push(\(screen.name), tabs:)" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let key = run.state.nextKey("k")
        try run.check(tabs)
        var items: [PlacedTab] = []
        for tab in tabs { items.append(try run.place(tab, of: coordinator)) }
        guard let selection = selected.map({ id in items.firstIndex { $0.id == id } }) ?? 0 else {
            throw run.impossible("no tab has the id to be selected")
        }
        let placed = PlacedTabs(selection: selection, items: items, back: back)
        try run.place(screen, tabs: placed, key: key, of: coordinator)
        try run.fill(zip(tabs, items).map { ($0, $1) }, of: coordinator)
    }
}

private struct SelectTab: Request {
    let id: String
    var name: String { "selectTab(\(id))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let (screen, position) = try run.tab(id, of: coordinator)
        run.select(position, of: screen)
    }
}

private struct SetBadge: Request {
    let badge: String?
    let id: String
    var name: String { "setBadge(ofTab: \(id))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        let (screen, position) = try run.tab(id, of: coordinator)
        guard let before = screen.tabs?.items[position], before.badge != badge else { return }
        run.state.changeTabs(of: screen.key) { tabs in
            tabs.items[position] = PlacedTab(
                id: id, title: before.title, icon: before.icon, badge: badge, stack: before.stack)
        }
        run.noteChange(of: coordinator.id)
    }
}

private struct SetTabs: Request {
    let tabs: [Tab]
    var name: String { "setTabs()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        try run.check(tabs)
        guard let screen = run.state.screens.last(where: { $0.coordinator == coordinator.id && $0.tabs != nil }),
            let before = screen.tabs
        else { throw run.impossible("it has no screen with tabs") }
        endOthers(of: before, in: &run)
        var new: [(tab: Tab, item: PlacedTab)] = []
        var items: [PlacedTab] = []
        // Without what has ended.
        let kept = run.state.tabs(of: screen.key)?.items ?? []
        for tab in tabs {
            if let old = kept.first(where: { $0.id == tab.id }), run.state.isInUse(old.stack) {
                let badge = tab.badge ?? old.badge
                items.append(PlacedTab(id: tab.id, title: tab.title, icon: tab.icon, badge: badge, stack: old.stack))
            } else {
                new.append((tab, try run.place(tab, of: coordinator)))
                items.append(new[new.count - 1].item)
            }
        }
        run.state.changeTabs(of: screen.key) { $0 = before.replaced(by: items) }
        run.noteChange(of: coordinator.id)
        try run.fill(new, of: coordinator)
    }

    /// Ends the flows in the tabs that go, and removes the screens there.
    private func endOthers(of before: PlacedTabs, in run: inout TransitionRun) {
        var stacks: Set<Int> = []
        var keys: Set<String> = []
        for old in before.items where !tabs.contains(where: { $0.id == old.id }) {
            old.stack.forEachStack { stacks.insert($0.id) }
            for screen in old.stack.screens { keys.insert(screen.key) }
        }
        let started = run.state.coordinators.filter { stacks.contains($0.home) }.map(\.id)
        run.drop(run.state.families(of: Set(started)), for: .removed) { keys.contains($0.key) }
    }
}

extension NavigationState {
    /// Whether a tab's stack has a screen, or a coordinator that may still show one.
    fileprivate func isInUse(_ stack: ScreenStack) -> Bool {
        !stack.screens.isEmpty || coordinators.contains { $0.home == stack.id }
    }
}

extension TransitionRun {
    fileprivate func check(_ tabs: [Tab]) throws(NavigationError) {
        guard !tabs.isEmpty else { throw impossible("there is no tab") }
        for (index, tab) in tabs.enumerated() where tabs[..<index].contains(where: { $0.id == tab.id }) {
            throw impossible("two tabs are named “\(tab.id)”")
        }
    }

    fileprivate mutating func place(
        _ tab: Tab, of coordinator: LivingCoordinator
    ) throws(NavigationError) -> PlacedTab {
        var stack = ScreenStack(id: state.nextID())
        if case .screen(let screen) = tab.content {
            stack.screens = [try placed(screen, key: state.nextKey("k"), of: coordinator)]
        }
        return PlacedTab(id: tab.id, title: tab.title, icon: tab.icon, badge: tab.badge, stack: stack)
    }

    /// Shows what a screen's new tabs begin with.
    fileprivate mutating func fill(
        _ new: [(tab: Tab, item: PlacedTab)], of coordinator: LivingCoordinator
    ) throws(NavigationError) {
        for (_, item) in new where !item.stack.screens.isEmpty {
            try checkNesting(of: item.stack.id, by: coordinator)
        }
        let before = agenda.count
        for (tab, item) in new {
            if case .child(let child) = tab.content { try start(child, on: item.stack.id, by: coordinator) }
        }
        // The first tab's child is started first: what is last on the agenda is done first.
        agenda[before...].reverse()
    }

    /// The tab of that id, on the innermost of the coordinator's screens that has such a tab.
    func tab(
        _ id: String, of coordinator: LivingCoordinator
    ) throws(NavigationError) -> (PlacedScreen, position: Int) {
        let screen = state.screens.last { $0.coordinator == coordinator.id && $0.tabs?.position(of: id) != nil }
        guard let screen, let position = screen.tabs?.position(of: id) else { throw impossible("it has no such tab") }
        return (screen, position)
    }
}
