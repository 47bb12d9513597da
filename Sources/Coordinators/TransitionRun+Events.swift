internal import JSONCoding

/// What a client posts, begun.
extension TransitionRun {
    /// Hands the event to the first coordinator, from the visible screen's up to the root, that accepts it.
    mutating func route(_ event: PostedEvent) throws(NavigationError) {
        for recipient in state.recipients {
            guard let shape = recipient.events.first(where: { $0.name == event.type }) else { continue }
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
            let popped = Set(state.screensAboveRoot.map(\.key))
            removeScreens { popped.contains($0.key) }
        case .selectTab: try selectTab(payload)
        case .answer: try answer(payload)
        case .relaunch:
            try refuse(payload, of: event)
            relaunch()
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

    private struct TabChoice: Decodable {
        let tab: String?
        let index: Int?
    }

    private mutating func selectTab(_ payload: JSON?) throws(NavigationError) {
        let choice: TabChoice = try decode(payload)
        let screens = state.visibleTabs
        let target: (key: String, position: Int)?
        let path: [String]
        switch (choice.tab, choice.index) {
        case (let tab?, nil):
            path = ["payload", "tab"]
            target = screens.lazy.compactMap { screen in
                screen.tabs.position(of: tab).map { (screen.key, $0) }
            }.first
        case (nil, let index?):
            path = ["payload", "index"]
            target = screens.first.flatMap { $0.tabs.items.indices.contains(index) ? ($0.key, index) : nil }
        default:
            throw .invalidEvent(.init(path: ["payload"], reason: "must have either “tab” or “index”"))
        }
        guard let target, let screen = state.screens.first(where: { $0.key == target.key }), let tabs = screen.tabs
        else { throw .invalidEvent(.init(path: path, reason: "names no tab")) }
        guard tabs.selection == target.position else { return select(target.position, of: screen) }
        let popped = Set(tabs.selected.stack.screens.dropFirst().map(\.key))
        removeScreens { popped.contains($0.key) }
    }

    private struct Answer: Decodable {
        let button: String
    }

    private mutating func answer(_ payload: JSON?) throws(NavigationError) {
        let answer: Answer = try decode(payload)
        guard let button = state.alert?.alert.buttons.first(where: { $0.id == answer.button }) else {
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

    private mutating func relaunch() {
        remove(Set(state.coordinators.map(\.id)))
        startRoot()
    }

    private func decode<Value: Decodable>(_ payload: JSON?) throws(NavigationError) -> Value {
        guard let payload else { throw .invalidEvent(.init(path: ["payload"], reason: "is missing")) }
        do {
            return try payload.decode()
        } catch {
            throw .invalidEvent(.init(path: ["payload"] + error.path, reason: error.reason))
        }
    }

    private func refuse(_ payload: JSON?, of event: BuiltInEvent) throws(NavigationError) {
        guard payload == nil || payload == [:] else {
            throw .invalidEvent(.init(path: ["payload"], reason: "“\(event.rawValue)” takes no payload"))
        }
    }
}
