internal import Coordinators

extension NavigationState {
    /// The events that may be posted now, each with its example; a built-in one in every way that a map shows.
    func attempts(in app: App) -> [PostedEvent] {
        acceptedEvents.flatMap { name in
            guard let event = BuiltInEvent(rawValue: name) else {
                return [PostedEvent(name, payload: example(of: name, in: app))]
            }
            return payloads(of: event, in: app).map { PostedEvent(name, payload: $0) }
        }
    }

    /// The example of the first coordinator that has such an event, from the visible screen's up to the root.
    private func example(of event: String, in app: App) -> JSON? {
        var next = visible?.coordinator
        while let id = next, let coordinator = self[id] {
            let events = app.coordinators.first { $0.name == coordinator.name }?.events
            if let shape = events?.first(where: { $0.name == event }) { return shape.unmaskedPayload }
            next = coordinator.parent
        }
        return nil
    }

    /// None for the events that a map would gain nothing from: `relaunch` is possible everywhere, `backTo` and `backToRoot`
    /// are `back`, repeated.
    private func payloads(of event: BuiltInEvent, in app: App) -> [JSON?] {
        switch event {
        case .back, .dismiss: [nil]
        case .selectTab: visibleTabs.map { ["tab": .string($0)] }
        case .answer: alert?.alert.buttons.map { ["button": .string($0.id)] } ?? []
        case .open: paths(in: app).map { ["path": .string($0)] }
        case .backTo, .backToRoot, .relaunch: []
        }
    }

    /// The ids of the tabs in sight, the outermost first.
    private var visibleTabs: [String] {
        var ids: [String] = []
        var stack = presented.last?.stack ?? self.stack
        while let tabs = stack.screens.last?.tabs {
            ids += tabs.items.map(\.id).filter { !ids.contains($0) }
            stack = tabs.selected.stack
        }
        return ids
    }

    /// The links without parameters, and the visible screen's own.
    private func paths(in app: App) -> [String] {
        let fixed = app.links.compactMap { $0.path([:]) }
        guard let screen = visible?.screen, let own = screen.link?.path(screen.params), !fixed.contains(own) else {
            return fixed
        }
        return fixed + [own]
    }
}
