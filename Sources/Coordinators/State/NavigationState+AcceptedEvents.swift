extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. An event is accepted if, and only if, it is listed.
    public var acceptedEvents: [String] {
        var names: [String] = []
        names.reserveCapacity(12)
        forEachAcceptedEvent { _, event in names.append(event.name) }
        forEachAcceptedBuiltIn { names.append($0.rawValue) }
        return names
    }

    /// Visits the events that coordinators handle now, each with the first coordinator that has it.
    func forEachAcceptedEvent(_ visit: (LivingCoordinator, EventShape) -> Void) {
        var known = EventSet()
        forEachHandler { coordinator, isAsked in
            // A name that is known already belongs to a descendant, which is asked first.
            for event in coordinator.type.events where isAsked(event.number) && known.insert(event.number) {
                visit(coordinator, event)
            }
            return true
        }
    }

    /// The coordinator that handles an event of that name now: the first one that has it.
    package func recipient(of name: String) -> (coordinator: LivingCoordinator, event: EventShape)? {
        var found: (LivingCoordinator, EventShape)?
        forEachAcceptedEvent { coordinator, event in if event.name == name { found = (coordinator, event) } }
        return found
    }

    /// The same, found at once.
    ///
    /// - Parameter number: the name's, see `EventNumbers`.
    func recipient(of number: Int) -> (coordinator: LivingCoordinator, event: EventShape)? {
        var found: (LivingCoordinator, EventShape)?
        forEachHandler { coordinator, isAsked in
            guard isAsked(number), let event = coordinator.type.event(number) else { return true }
            found = (coordinator, event)
            return false
        }
        return found
    }

    /// Visits the coordinators from the visible screen's up to the root, each with whether it is asked to handle an
    /// event, until `visit` returns `false`. The visible screen may restrict its coordinator to some events. An event
    /// that another screen of a coordinator names is accepted only from that screen.
    private func forEachHandler(_ visit: (LivingCoordinator, (_ event: Int) -> Bool) -> Bool) {
        guard alert == nil, let visible else { return }
        var next: Int? = visible.coordinator
        while let id = next, let coordinator = self[id] {
            let enabled = coordinator.enabled
            let continues: Bool
            if enabled.isEmpty {
                continues = true
            } else if id != visible.coordinator {
                let elsewhere = eventsNamedByScreens(of: id)
                continues = visit(coordinator) { enabled.contains($0) && !elsewhere.contains($0) }
            } else if let offered = visible.offered {
                continues = visit(coordinator) { enabled.contains($0) && offered.contains($0) }
            } else {
                continues = visit(coordinator, enabled.contains)
            }
            guard continues else { return }
            next = coordinator.parent
        }
    }

    private func eventsNamedByScreens(of coordinator: Int) -> EventSet {
        var named = EventSet()
        forEachScreen { screen in
            if screen.coordinator == coordinator, let offered = screen.offered { named.formUnion(offered) }
        }
        return named
    }

    /// Visits the built-in events that are accepted now.
    func forEachAcceptedBuiltIn(_ visit: (BuiltInEvent) -> Void) {
        if alert != nil {
            if accepts(.back) { visit(.back) }
            return visit(.answer)
        }
        for event in BuiltInEvent.allCases where event != .answer && accepts(event) { visit(event) }
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
