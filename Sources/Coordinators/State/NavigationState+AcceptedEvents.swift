extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. What is not listed is refused, and nothing that is listed is.
    public var acceptedEvents: [String] {
        var names: [String] = []
        names.reserveCapacity(12)
        // A name that is there already is a coordinator's further down, which is asked first.
        forEachHandler { _, event in if !names.contains(event.name) { names.append(event.name) } }
        for event in BuiltInEvent.allCases where accepts(event) { names.append(event.rawValue) }
        return names
    }

    /// The coordinator that handles an event of that name now: the first one that has it.
    package func recipient(of name: String) -> (coordinator: LivingCoordinator, event: EventShape)? {
        var found: (LivingCoordinator, EventShape)?
        forEachHandler { coordinator, event in if found == nil, event.name == name { found = (coordinator, event) } }
        return found
    }

    /// Visits the coordinators that are asked, each with every event that it may be asked: the visible screen's, which
    /// the screen may narrow to some of its events, its parent, and so on to the root. What another screen offers by
    /// name is that screen's.
    private func forEachHandler(_ visit: (LivingCoordinator, EventShape) -> Void) {
        guard alert == nil, let visible else { return }
        let offered = visible.screen.events
        var next: Int? = visible.coordinator
        while let id = next, let coordinator = self[id] {
            for event in coordinator.enabledEvents {
                let mayBeAsked =
                    id == visible.coordinator
                    ? offered?.contains { $0.event == event.name } ?? true : !isOfAnotherScreen(event.name, of: id)
                if mayBeAsked { visit(coordinator, event) }
            }
            next = coordinator.parent
        }
    }

    private func isOfAnotherScreen(_ event: String, of coordinator: Int) -> Bool {
        var isOffered = false
        forEachScreen { screen in
            if screen.coordinator == coordinator, screen.screen.events?.contains(where: { $0.event == event }) == true {
                isOffered = true
            }
        }
        return isOffered
    }

    /// An alert takes everything but its answer, and back where that is one.
    func accepts(_ event: BuiltInEvent) -> Bool {
        switch event {
        case .back: backPlan != nil
        case .backTo, .backToRoot: mayGoBack && topStack.innermostToPop != nil
        case .selectTab: alert == nil && topStack.screens.last?.tabs != nil
        case .dismiss: mayGoBack && !presented.isEmpty
        case .answer: alert != nil
        case .open: alert == nil && coordinators.first?.type.isOfAppWithLinks == true
        case .relaunch: alert == nil
        }
    }
}
