public import JSONCoding

/// Numbers the names of an app's events, so that an `EventSet` needs one bit for each.
struct EventNumbers: Sendable {
    private(set) var byName: [String: Int] = [:]

    mutating func number(of name: String) -> Int {
        if let number = byName[name] { return number }
        byName[name] = byName.count
        return byName.count - 1
    }
}

/// A set of events of an app, by their numbers.
struct EventSet: Sendable, Equatable {
    /// The events 0 to 63. Most apps have no more.
    private var first: UInt64 = 0
    /// The other events, 64 in each element. The last element is not 0, so that equal sets are equal member by member.
    private var others: [UInt64] = []

    var isEmpty: Bool { first == 0 && others.isEmpty }

    func contains(_ number: Int) -> Bool {
        if number < 64 { return first & 1 << number != 0 }
        let place = number / 64 - 1
        return place < others.count && others[place] & 1 << (number % 64) != 0
    }

    /// - Returns: `false` if it was there before.
    @discardableResult
    mutating func insert(_ number: Int) -> Bool {
        guard !contains(number) else { return false }
        guard number >= 64 else {
            first |= 1 << number
            return true
        }
        let place = number / 64 - 1
        while others.count <= place { others.append(0) }
        others[place] |= 1 << (number % 64)
        return true
    }
}

extension NavigationState {
    /// The types of the events that may be posted now: those of the visible screen's coordinator, of its ancestors,
    /// then the built-in ones. An event is accepted if, and only if, it is listed.
    public var acceptedEvents: [String] {
        var names: [String] = []
        forEachAcceptedType(backPlan) { names.append($0) }
        return names
    }

    /// Visits `acceptedEvents` without making a list.
    ///
    /// - Parameter plan: the state's `backPlan`.
    package func forEachAcceptedType(_ plan: BackPlan?, _ visit: (String) -> Void) {
        forEachAcceptedEvent { _, event, _ in visit(event.name) }
        forEachAcceptedBuiltIn(plan) { visit($0.rawValue) }
    }

    /// Visits the events that coordinators handle now, each with the first coordinator that has it.
    func forEachAcceptedEvent(_ visit: (LivingCoordinator, EventShape, Acceptance) -> Void) {
        var known = EventSet()
        forEachHandler { coordinator, acceptance in
            for event in coordinator.type.events {
                let acceptance = acceptance(event.number)
                // A name that is already known belongs to a descendant, which comes first.
                if acceptance != .none, known.insert(event.number) { visit(coordinator, event, acceptance) }
            }
            return true
        }
    }

    /// Whether a coordinator accepts an event now, and with which payloads.
    enum Acceptance {
        case none
        /// With any that the event takes.
        case withAnyPayload
        /// With those that controls of the visible screen carry.
        case withCarriedPayload
    }

    /// The coordinator that handles an event of that name now: the first one that has it.
    package func recipient(of name: String) -> (coordinator: LivingCoordinator, event: EventShape)? {
        var found: (LivingCoordinator, EventShape)?
        forEachAcceptedEvent { coordinator, event, _ in if event.name == name { found = (coordinator, event) } }
        return found
    }

    /// The coordinator that handles an event now, found without visiting all events.
    ///
    /// - Parameters:
    ///   - number: the number of the event's name, see `EventNumbers`.
    ///   - payload: the posted one. It counts only if the visible screen offers the event with certain payloads.
    func recipient(of number: Int, with payload: JSON?) -> (coordinator: LivingCoordinator, event: EventShape)? {
        var found: (LivingCoordinator, EventShape)?
        forEachHandler { coordinator, acceptance in
            let acceptance = acceptance(number)
            guard acceptance != .none, let event = coordinator.type.event(number) else { return true }
            if acceptance == .withAnyPayload || isCarried(event, payload) { found = (coordinator, event) }
            return false
        }
        return found
    }

    /// Whether a control of the visible screen carries this payload.
    private func isCarried(_ event: EventShape, _ payload: JSON?) -> Bool {
        var isCarried = false
        visible?.screen.forEachCarryingControl { control in
            if control.event == event.name, control.isEnabled, control.carries(payload) { isCarried = true }
        }
        return isCarried
    }

    /// Visits the coordinators from the visible screen's up to the root, until `visit` returns `false`. The function
    /// that each comes with says whether the coordinator accepts the event of a number, if it has such an event: the
    /// visible screen's coordinator accepts what the screen offers and what is accepted everywhere, its ancestors only
    /// the latter.
    private func forEachHandler(_ visit: (LivingCoordinator, (_ event: Int) -> Acceptance) -> Bool) {
        guard alert == nil, !isOnlyShown, let visible else { return }
        var next: Int? = visible.coordinator
        while let id = next, let coordinator = self[id] {
            let enabled = coordinator.enabled
            let everywhere = coordinator.type.everywhere
            let continues: Bool
            if id != visible.coordinator {
                continues =
                    enabled.isEmpty || everywhere.isEmpty
                    || visit(coordinator) {
                        enabled.contains($0) && everywhere.contains($0) ? .withAnyPayload : .none
                    }
            } else if let offered = visible.offered {
                let carried = visible.carried
                continues =
                    enabled.isEmpty && carried == nil
                    || visit(coordinator) {
                        if enabled.contains($0), offered.contains($0) || everywhere.contains($0) {
                            return .withAnyPayload
                        }
                        return carried?.contains($0) == true ? .withCarriedPayload : .none
                    }
            } else {
                continues = enabled.isEmpty || visit(coordinator) { enabled.contains($0) ? .withAnyPayload : .none }
            }
            guard continues else { return }
            next = coordinator.parent
        }
    }

    /// Whether an event may be posted now. One of a coordinator may still have a payload that does not fit.
    package func accepts(_ event: PostedEvent) -> Bool {
        var isAccepted = false
        forEachAcceptedEvent { _, shape, acceptance in
            guard shape.name == event.type else { return }
            isAccepted = acceptance == .withAnyPayload || isCarried(shape, event.payload)
        }
        forEachAcceptedBuiltIn(backPlan) { if $0.rawValue == event.type { isAccepted = true } }
        return isAccepted
    }

    /// Payloads with which an accepted event can be tried: those of the author's examples if it takes any, and those that
    /// controls of the visible screen carry.
    package func payloadsToTry(of name: String) -> [JSON?] {
        var payloads: [JSON?] = []
        forEachAcceptedEvent { coordinator, event, acceptance in
            guard event.name == name else { return }
            if acceptance == .withAnyPayload { payloads = event.unmaskedPayloads }
            guard coordinator.id == visible?.coordinator else { return }
            visible?.screen.forEachCarryingControl { control in
                if control.event == name, control.isEnabled, !payloads.contains(control.payload) {
                    payloads.append(control.payload)
                }
            }
        }
        return payloads
    }

    /// Visits the built-in events that are accepted now.
    ///
    /// - Parameter plan: the state's `backPlan`.
    func forEachAcceptedBuiltIn(_ plan: BackPlan?, _ visit: (BuiltInEvent) -> Void) {
        let goesBack = plan != nil
        for event in BuiltInEvent.allCases where accepts(event, goesBack: goesBack) { visit(event) }
    }

    /// While an alert is shown, only `answer` is accepted, `back` if the alert can be cancelled, and `open`, whose link
    /// is opened after the answer.
    ///
    /// - Parameter goesBack: whether the state has a `backPlan`, which only `back` needs.
    func accepts(_ event: BuiltInEvent, goesBack: @autoclosure () -> Bool) -> Bool {
        switch event {
        case .back: goesBack()
        case .backTo, .backToRoot: mayGoBack && topStack.innermostToPop != nil
        case .selectTab: alert == nil && topStack.screens.last?.tabs != nil && !isOnlyShown
        case .dismiss: lowestDismissable != nil
        case .answer: alert.map { alert in alert.alert.buttons.contains { mayPress($0, of: alert) } } ?? false
        case .open: coordinators.first?.type.linksOfApp.isEmpty == false && !isOnlyShown
        case .relaunch: alert == nil && !isOnlyShown
        case .describeClient: alert == nil
        }
    }

    /// Whether a built-in event that is not accepted would be if the device had another role.
    func isForOthers(_ event: BuiltInEvent) -> Bool {
        guard role != nil, event != .describeClient else { return false }
        guard !isOnlyShown, let alert else { return isOnlyShown }
        return event == .answer || event == .back && alert.alert.cancelButton != nil
    }

    /// Whether an event of that name is not accepted because of the device's role.
    func isForOthers(_ event: String) -> Bool {
        guard let role else { return false }
        if isOnlyShown { return true }
        guard alert == nil, let visible else { return false }
        return lineage(of: visible.coordinator).contains { id in
            self[id]?.type.event(event)?.roles.includes(role) == false
        }
    }
}

/// An event that is accepted now, and what a client needs to draw a control for it.
public struct AcceptedControl: Sendable, Equatable {
    /// Where the control belongs.
    public enum Place: String, Sendable {
        case screen, tabBar, alert, app
    }

    /// The event's type.
    public let type: String
    /// What the control sends as it stands; `nil` if the event has no payload, or if the user enters it.
    public let payload: JSON?
    /// The name of the coordinator that handles the event; `nil` for a built-in event.
    public let coordinator: String?
    public let title: String
    public let role: Control.Role
    public let place: Place
    /// The JSON Schema of the payload that the user enters (draft 2020-12); `nil` if there is none to enter.
    public let schema: JSON?
    /// A payload: the author's first example, or for a built-in event one that fits the state.
    public let example: JSON?
}

extension NavigationState {
    /// The events that may be posted now, in the order of `acceptedEvents`: one control for each, or several if the
    /// visible screen has several for it, or none if only rows send it.
    public var controls: [AcceptedControl] {
        var controls: [AcceptedControl] = []
        forEachAcceptedEvent { coordinator, event, acceptance in
            let isOfScreen = coordinator.id == visible?.coordinator
            let named = isOfScreen ? visible?.screen.events?.filter { $0.event == event.name } ?? [] : []
            if acceptance == .withAnyPayload {
                let form = named.first { $0.payload == nil }
                controls.append(control(for: event, form, of: coordinator))
            }
            for button in named where button.payload != nil && button.isEnabled {
                controls.append(control(for: event, button, of: coordinator))
            }
        }
        forEachAcceptedBuiltIn(backPlan) { controls.append(control(for: $0)) }
        return controls
    }

    /// A field that `Coordinator.fields(of:in:)` describes though the event does not have it: `signUp.mail`; `nil` if
    /// there is none.
    package var unknownField: String? {
        var unknown: String?
        forEachAcceptedEvent { coordinator, event, _ in
            for field in coordinator.type.fields?(coordinator.coordinator, event.number, context) ?? [] {
                if !event.has(field) { unknown = "\(event.name).\(field.name)" }
            }
        }
        return unknown
    }

    /// - Parameter named: how the visible screen names the event, if it does.
    private func control(
        for event: EventShape, _ named: Control?, of coordinator: LivingCoordinator
    ) -> AcceptedControl {
        let (type, context) = (coordinator.type, self.context)
        let isOfScreen = coordinator.id == visible?.coordinator
        let payload = named?.payload
        var (schema, example): (JSON?, JSON?) = (nil, nil)
        if payload == nil {
            let fields = type.fields?(coordinator.coordinator, event.number, context)
            schema = event.schema(with: fields, showing: named?.values)
            example = fields.map(event.payload(with:)) ?? event.payload
        }
        return AcceptedControl(
            type: event.name, payload: payload, coordinator: coordinator.name,
            title: named?.title ?? type.title(coordinator.coordinator, event.number, context) ?? event.title,
            role: named?.role ?? (schema == nil ? .secondary : .input),
            place: isOfScreen ? .screen : hasVisibleTabs(of: coordinator.id) ? .tabBar : .app, schema: schema,
            example: example)
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
            // Members that leave the user no choice.
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
        let words = coordinators.first?.type.words
        return AcceptedControl(
            type: event.rawValue, payload: nil, coordinator: nil,
            title: words?.text(.event(event), for: client) ?? event.title, role: role, place: place, schema: schema,
            example: example)
    }

    /// The member of the event's payload that the user chooses, and the values that it may have now; `nil` if the user
    /// has no choice.
    private func choices(for event: BuiltInEvent) -> (member: String, values: [String])? {
        switch event {
        case .backTo: ("key", visibleStacks.flatMap { $0.screens.dropLast().map(\.key) })
        case .selectTab: ("tab", visibleTabs)
        case .dismiss: ("key", presented[(lowestDismissable ?? 0)...].map(\.key))
        case .answer: ("button", buttonsToPress.map(\.id))
        case .back, .backToRoot, .open, .relaunch, .describeClient: nil
        }
    }
}
