internal import JSONCoding

/// What a client posts, begun.
extension TransitionRun {
    /// Hands the event to the first coordinator, from the visible screen's up to the root, that accepts it.
    mutating func route(_ event: PostedEvent) throws(NavigationError) {
        for recipient in state.recipients {
            guard let shape = recipient.shape(of: event.type) else { continue }
            return try call(recipient.coordinator.id, with: shape, event.payload)
        }
        throw .eventNotAccepted
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
        let screens = state.visibleTabs
        let choice = payload?.object.flatMap { $0.count == 1 ? $0.members.first : nil }
        let target: (screen: PlacedScreen, position: Int)?
        switch (choice?.name, choice?.value.string, choice?.value.integer) {
        case ("tab", let tab?, _):
            target = screens.lazy.compactMap { screen in screen.tabs?.position(of: tab).map { (screen, $0) } }.first
        case ("index", _, let index?):
            target = screens.first.flatMap { $0.tabs?.items.indices.contains(index) == true ? ($0, index) : nil }
        default:
            let reason = "must have either “tab”, a string, or “index”, an integer"
            throw .invalidEvent(.init(path: ["payload"], reason: reason))
        }
        guard let (screen, position) = target, let tabs = screen.tabs else {
            throw .invalidEvent(.init(path: ["payload", choice?.name ?? ""], reason: "names no tab"))
        }
        guard tabs.selection == position else { return select(position, of: screen) }
        let popped = tabs.selected.stack.screens.dropFirst().map(\.key)
        removeScreens { popped.contains($0.key) }
    }

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
