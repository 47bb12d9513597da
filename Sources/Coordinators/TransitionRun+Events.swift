internal import JSONCoding

/// What a client posts, begun.
extension TransitionRun {
    /// Hands the event to the first coordinator, from the visible screen's up to the root, that accepts it.
    mutating func route(_ event: PostedEvent) throws(NavigationError) {
        guard let (coordinator, shape) = state.recipient(of: event.type) else { throw .eventNotAccepted }
        try call(coordinator.id, with: shape, event.payload)
    }

    mutating func begin(_ event: BuiltInEvent, payload: JSON?) throws(NavigationError) {
        guard state.accepts(event) else {
            throw state.alert == nil && (event == .back || event == .backToRoot)
                ? .nothingToGoBack : .eventNotAccepted
        }
        switch event {
        case .back:
            try refuse(payload, of: event)
            try goBack()
        case .backToRoot:
            try refuse(payload, of: event)
            let popped = state.screensAboveRoot.map(\.key)
            removeScreens { popped.contains($0.key) }
        case .selectTab: try selectTab(payload)
        case .answer: try answer(payload)
        case .relaunch:
            try refuse(payload, of: event)
            try relaunch()
        }
    }

    private mutating func goBack() throws(NavigationError) {
        switch state.backPlan {
        case .dismissAlert?:
            if let button = state.alert?.alert.cancelButton { try press(button) }
        case .pop(let key, _)?: removeScreens { $0.key == key }
        case nil: break
        }
    }

    private mutating func selectTab(_ payload: JSON?) throws(NavigationError) {
        guard let choice = payload?.object, choice.count == 1 else { throw TransitionRun.noTabChosen }
        let target: (screen: PlacedScreen, position: Int)?
        if let id = choice["tab"]?.string {
            target = state.stack.visibleTab { $0.position(of: id) }
        } else if let index = choice["index"]?.integer {
            target = state.stack.visibleTab { $0.items.indices.contains(index) ? index : nil }
        } else {
            throw TransitionRun.noTabChosen
        }
        guard let (screen, position) = target, let tabs = screen.tabs else {
            throw .invalidEvent(.init(path: ["payload"] + choice.names, reason: "names no tab"))
        }
        guard tabs.selection == position else { return select(position, of: screen) }
        let popped = tabs.selected.stack.screens.dropFirst().map(\.key)
        removeScreens { popped.contains($0.key) }
    }

    private static let noTabChosen = NavigationError.invalidEvent(
        .init(path: ["payload"], reason: "must have either “tab”, a string, or “index”, an integer"))

    private mutating func answer(_ payload: JSON?) throws(NavigationError) {
        guard let id = payload?["button"]?.string, payload?.object?.count == 1 else {
            throw .invalidEvent(.init(path: ["payload"], reason: "must have “button”, a string, and nothing else"))
        }
        guard let button = state.alert?.alert.buttons.first(where: { $0.id == id }) else {
            throw .invalidEvent(.init(path: ["payload", "button"], reason: "names no button"))
        }
        try press(button)
    }

    /// Takes the alert away and sends what the button sends to the coordinator that showed it.
    private mutating func press(_ button: AlertButton) throws(NavigationError) {
        guard let alert = state.alert else { return }
        dismissAlert()
        guard let event = button.event, let shape = state[alert.coordinator]?.type.event(event.name) else { return }
        try call(alert.coordinator, with: shape, event.payload)
    }

    private mutating func call(
        _ coordinator: Int, with shape: EventShape, _ payload: JSON?
    ) throws(NavigationError) {
        do {
            agenda.append(.call(.handle(shape, event: try shape.decodable(payload)), coordinator))
        } catch {
            throw .invalidEvent(shape, error)
        }
    }

    private mutating func relaunch() throws(NavigationError) {
        remove(Set(state.coordinators.map(\.id)))
        try startRoot()
    }

    private func refuse(_ payload: JSON?, of event: BuiltInEvent) throws(NavigationError) {
        guard payload == nil || payload == [:] else {
            throw .invalidEvent(.init(path: ["payload"], reason: "“\(event.rawValue)” takes no payload"))
        }
    }
}
