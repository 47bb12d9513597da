extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. An event is accepted if, and only if, it is listed.
    public var acceptedEvents: [String] {
        var names: [String] = []
        names.reserveCapacity(12)
        // A name that is listed already belongs to a descendant, which is asked first.
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

    /// Visits the coordinators from the visible screen's up to the root, each with every event that it may handle now.
    /// The visible screen may restrict its coordinator to some events. An event that another screen of a coordinator
    /// names is accepted only from that screen.
    func forEachHandler(_ visit: (LivingCoordinator, EventShape) -> Void) {
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

    /// While an alert is shown, only `answer` is accepted, and `back` if the alert can be cancelled.
    func accepts(_ event: BuiltInEvent) -> Bool {
        switch event {
        case .back: backPlan != nil
        case .backTo, .backToRoot: mayGoBack && topStack.innermostToPop != nil
        case .selectTab: alert == nil && topStack.screens.last?.tabs != nil
        case .dismiss: lowestDismissable != nil
        case .answer: alert != nil
        case .open: alert == nil && coordinators.first?.type.linksOfApp.isEmpty == false
        case .relaunch, .describeClient: alert == nil
        }
    }
}
