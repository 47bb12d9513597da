public import JSONCoding

/// An event that is accepted now, and what a client needs to draw a control for it.
public struct AcceptedControl: Sendable {
    /// Where the control belongs.
    public enum Place: String, Sendable {
        case screen, tabBar, alert, app
    }

    /// The event's type.
    public let type: String
    /// The name of the coordinator that handles the event; `nil` for a built-in event.
    public let coordinator: String?
    public let title: String
    public let role: Control.Role
    public let place: Place
    /// The JSON Schema of the payload (draft 2020-12); `nil` if the event has none.
    public let schema: JSON?
    /// A payload; that of a built-in event fits the state.
    public let example: JSON?
}

extension NavigationState {
    /// The events that may be posted now, in the order of `acceptedEvents`.
    public var controls: [AcceptedControl] {
        var controls: [AcceptedControl] = []
        forEachAcceptedEvent { coordinator, event in controls.append(control(for: event, of: coordinator)) }
        forEachAcceptedBuiltIn { controls.append(control(for: $0)) }
        return controls
    }

    private func control(for event: EventShape, of coordinator: LivingCoordinator) -> AcceptedControl {
        let isOfScreen = coordinator.id == visible?.coordinator
        let named = isOfScreen ? visible?.screen.events?.first { $0.event == event.name } : nil
        return AcceptedControl(
            type: event.name, coordinator: coordinator.name, title: named?.title ?? event.title,
            role: named?.role ?? (event.schema == nil ? .secondary : .input),
            place: isOfScreen ? .screen : hasVisibleTabs(of: coordinator.id) ? .tabBar : .app, schema: event.schema,
            example: event.payload)
    }

    private func hasVisibleTabs(of coordinator: Int) -> Bool {
        visibleStacks.contains { $0.screens.last.map { $0.tabs != nil && $0.coordinator == coordinator } ?? false }
    }

    private func control(for event: BuiltInEvent) -> AcceptedControl {
        let (role, place): (Control.Role, AcceptedControl.Place) =
            switch event {
            case .back: (.navigation, alert == nil ? .screen : .alert)
            case .backTo, .backToRoot, .dismiss: (.navigation, .screen)
            case .selectTab: (.navigation, .tabBar)
            case .answer: (.primary, .alert)
            case .open, .describeClient: (.input, .app)
            case .relaunch: (.destructive, .app)
            }
        var (schema, example) = (event.schema, event.payload)
        if let (member, choices) = choices(for: event) {
            let values = choices.map { JSON.string($0) }
            // What does not depend on the user.
            let fixed: JSONObject = alert.flatMap { event == .answer ? ["alert": .string($0.key)] : nil } ?? [:]
            let properties = [(member, values)] + fixed.members.map { ($0.name, [$0.value]) }
            schema = [
                "type": "object",
                "properties": .object(JSONObject(properties.map { ($0, ["type": "string", "enum": .array($1)]) })),
                "required": event == .dismiss ? [] : .array(properties.map { .string($0.0) }),
                "additionalProperties": false,
            ]
            example = values.last.map {
                .object(JSONObject([(member, $0)] + fixed.members.map { ($0.name, $0.value) }))
            }
        } else if event == .open, let path = coordinators.first?.type.linksOfApp.compactMap({ $0.path([:]) }).first {
            example = ["path": .string(path)]
        }
        return AcceptedControl(
            type: event.rawValue, coordinator: nil, title: event.title, role: role, place: place, schema: schema,
            example: example)
    }

    /// The values that the only member of the event's payload may have now.
    private func choices(for event: BuiltInEvent) -> (member: String, values: [String])? {
        switch event {
        case .backTo: ("key", visibleStacks.flatMap { $0.screens.dropLast().map(\.key) })
        case .selectTab: ("tab", visibleTabs)
        case .dismiss: ("key", presented[(lowestDismissable ?? 0)...].map(\.key))
        case .answer: ("button", alert?.alert.buttons.map(\.id) ?? [])
        case .back, .backToRoot, .open, .relaunch, .describeClient: nil
        }
    }
}
