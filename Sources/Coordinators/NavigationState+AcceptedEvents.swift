/// A coordinator that may handle an event now.
struct Recipient {
    let coordinator: LivingCoordinator
    /// The events to which the visible screen narrows it; `nil` for all that it has.
    let offered: [String]?

    func accepts(_ event: EventShape) -> Bool {
        offered?.contains(event.name) ?? true
    }

    func shape(of name: String) -> EventShape? {
        coordinator.type.events.first { $0.name == name && accepts($0) }
    }
}

extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. What is not listed is refused, and nothing that is listed is.
    public var acceptedEvents: [String] {
        var names: [String] = []
        names.reserveCapacity(16)
        for recipient in recipients {
            for event in recipient.coordinator.type.events
            where recipient.accepts(event) && !names.contains(event.name) {
                names.append(event.name)
            }
        }
        for event in BuiltInEvent.allCases where accepts(event) { names.append(event.name) }
        return names
    }

    /// Who is asked, in this order: the visible screen's coordinator, its parent, and so on to the root.
    var recipients: [Recipient] {
        guard alert == nil, let visible, let owner = self[visible.coordinator] else { return [] }
        var recipients = [Recipient(coordinator: owner, offered: visible.screen.events)]
        var next = owner.parent
        while let id = next, let coordinator = self[id] {
            recipients.append(Recipient(coordinator: coordinator, offered: nil))
            next = coordinator.parent
        }
        return recipients
    }

    func accepts(_ event: BuiltInEvent) -> Bool {
        switch event {
        case .back: backPlan != nil
        case .backToRoot: alert == nil && stack.innermostToPop != nil
        case .selectTab: alert == nil && stack.screens.last?.tabs != nil
        case .answer: alert != nil
        case .relaunch: alert == nil
        }
    }

    /// The screens with tabs that the user looks through, innermost first.
    var visibleTabs: [PlacedScreen] {
        visibleStacks.reversed().compactMap { stack in
            guard let screen = stack.screens.last, screen.tabs != nil else { return nil }
            return screen
        }
    }
}
