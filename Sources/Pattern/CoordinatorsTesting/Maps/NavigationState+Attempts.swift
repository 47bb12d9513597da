internal import Coordinators

/// An event that may be posted, and how a map names it.
struct Attempt {
    let event: PostedEvent
    /// The label of its edge.
    let label: String
    /// Identifies the event among those of the app: `coordinator.event`, or the label of a built-in event.
    let name: String
    /// Whether the event means the same in every app. The answer to an alert does not.
    let isBuiltIn: Bool
}

extension NavigationState {
    /// The events that may be posted now, each with every example; a built-in event with every payload that a map
    /// shows.
    func attempts(in app: App) -> [Attempt] {
        acceptedEvents.flatMap { name -> [Attempt] in
            if let event = BuiltInEvent(rawValue: name) { return attempts(of: event, in: app) }
            guard let (coordinator, event) = recipient(of: name) else { return [] }
            return event.unmaskedPayloads.map { payload in
                let posted = PostedEvent(name, payload: payload)
                return Attempt(event: posted, label: name, name: "\(coordinator.name).\(name)", isBuiltIn: false)
            }
        }
    }

    /// Empty for the events that add nothing to a map: `relaunch` and `describeClient` are possible everywhere, and
    /// `backTo` and `backToRoot` are repeated `back`.
    private func attempts(of event: BuiltInEvent, in app: App) -> [Attempt] {
        func attempt(_ payload: JSON?, _ label: String = event.rawValue, isBuiltIn: Bool = true) -> Attempt {
            let posted = PostedEvent(event.rawValue, payload: payload)
            return Attempt(event: posted, label: label, name: label, isBuiltIn: isBuiltIn)
        }
        return switch event {
        case .back, .dismiss: [attempt(nil)]
        case .selectTab: visibleTabs.map { attempt(["tab": .string($0)]) }
        case .answer:
            alert?.alert.buttons.map { attempt(["button": .string($0.id)], "“\($0.title)”", isBuiltIn: false) } ?? []
        case .open: paths(in: app).map { attempt(["path": .string($0)], $0) }
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
