internal import Coordinators

extension NavigationState {
    /// The events that may be posted now, each with its example; a built-in one in every way that a map shows.
    func attempts(in app: App) -> [PostedEvent] {
        acceptedEvents.flatMap { name in
            guard let event = BuiltInEvent(rawValue: name) else {
                return [PostedEvent(name, payload: recipient(of: name)?.event.unmaskedPayload)]
            }
            return payloads(of: event, in: app).map { PostedEvent(name, payload: $0) }
        }
    }

    /// None for the events that add nothing to a map: `relaunch` and `describeClient` are possible everywhere, `backTo`
    /// and `backToRoot` are repeated `back`.
    private func payloads(of event: BuiltInEvent, in app: App) -> [JSON?] {
        switch event {
        case .back, .dismiss: [nil]
        case .selectTab: visibleTabs.map { ["tab": .string($0)] }
        case .answer: alert?.alert.buttons.map { ["button": .string($0.id)] } ?? []
        case .open: paths(in: app).map { ["path": .string($0)] }
        case .backTo, .backToRoot, .relaunch, .describeClient: []
        }
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
