/// A coordinator that may handle an event now, and the events that it accepts.
struct Recipient {
    let coordinator: LivingCoordinator
    let events: [EventShape]
}

extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. What is not listed is refused, and nothing that is listed is.
    public var acceptedEvents: [String] {
        var names: [String] = []
        for name in recipients.flatMap({ $0.events.map(\.name) }) + acceptedBuiltIns.map(\.rawValue)
        where !names.contains(name) {
            names.append(name)
        }
        return names
    }

    /// Who is asked, in this order: the visible screen's coordinator, its parent, and so on to the root.
    var recipients: [Recipient] {
        guard alert == nil, let visible, let owner = self[visible.coordinator] else { return [] }
        var recipients = [Recipient(coordinator: owner, events: visible.screen.offered(of: owner.type.events))]
        var next = owner.parent
        while let id = next, let coordinator = self[id] {
            recipients.append(Recipient(coordinator: coordinator, events: coordinator.type.events))
            next = coordinator.parent
        }
        return recipients
    }

    var acceptedBuiltIns: [BuiltInEvent] {
        BuiltInEvent.allCases.filter(accepts)
    }

    func accepts(_ event: BuiltInEvent) -> Bool {
        switch event {
        case .back: backPlan != nil
        case .backToRoot: !screensAboveRoot.isEmpty
        case .selectTab: alert == nil && !visibleTabs.isEmpty
        case .answer: alert != nil
        case .relaunch: alert == nil
        }
    }

    /// The screens with tabs that the user looks through, innermost first.
    var visibleTabs: [(key: String, tabs: PlacedTabs)] {
        visibleStacks.reversed().compactMap { stack in
            guard let screen = stack.screens.last, let tabs = screen.tabs else { return nil }
            return (screen.key, tabs)
        }
    }
}

extension Screen {
    fileprivate func offered(of all: [EventShape]) -> [EventShape] {
        guard let events else { return all }
        return all.filter { events.contains($0.name) }
    }
}
