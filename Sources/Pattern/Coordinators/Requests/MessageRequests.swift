// Alerts for the user, and messages to other coordinators.
extension Navigator {
    /// Shows an alert over everything, also over what is pushed or presented afterwards in the same transition. If an
    /// alert is already shown, the new one waits until all earlier ones are answered. A session has at most 16 alerts,
    /// including the one that is shown.
    ///
    /// The alert outlives this coordinator: if the coordinator finishes or is removed otherwise, the alert passes to
    /// the nearest ancestor that handles the events that the alert's buttons send.
    public mutating func alert(_ alert: Alert) {
        record(ShowAlert(alert: alert))
    }

    /// Dismisses the alert that is shown and those that wait, unanswered: when a signal begins something new, such as a
    /// kiosk that is left alone. Those that this transition shows afterwards stay.
    public mutating func dismissAlerts() {
        record(DismissAlerts())
    }

    /// Hands a value to this coordinator's parent, which gets it in `childDidDeliver`. This coordinator and its screens
    /// stay: a wizard delivers what each step has found, and its user can go back through the steps. To end with a
    /// result, call `finish` instead.
    ///
    /// - Parameter value: of any type that the parent expects. It is not saved.
    public mutating func deliver(_ value: some Sendable) {
        record(Deliver(value: value))
    }

    /// Sends a message to the nearest ancestor that is of the given type, or conforms to the given protocol. Nothing happens
    /// if there is none, as with a delegate that is `nil` in UIKit; see `hasAncestor`.
    ///
    /// ```swift
    /// navigator.tell(AppCoordinator.self) { parent, navigator in parent.didLogIn(&navigator) }
    /// navigator.tell((any LoginDelegate).self) { delegate, navigator in delegate.didLogIn(&navigator) }
    /// ```
    public mutating func tell<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        record(Tell(message: Message(type, message)))
    }

    /// Sends a message to all descendants that are of the given type, or conform to the given protocol, parents before
    /// their children. It is no error if there are none.
    ///
    /// ```swift
    /// navigator.tellChildren((any CartObserver).self) { observer, navigator in observer.cartDidChange(&navigator) }
    /// ```
    public mutating func tellChildren<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        record(TellChildren(message: Message(type, message)))
    }
}

private struct ShowAlert: Request {
    let alert: Alert
    var name: String { "alert()" }
    var outlivesCoordinator: Bool { true }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) throws(NavigationError) {
        try run.show(alert, by: coordinator)
    }
}

private struct DismissAlerts: Request {
    var name: String { "dismissAlerts()" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) { run.state.alerts = [] }
}

struct Deliver: Request {
    let value: any Sendable
    var name: String { "deliver(\(type(of: value)))" }

    func perform(in run: inout TransitionRun, by child: LivingCoordinator) throws(NavigationError) {
        guard let parent = child.parent else { throw run.impossible("the root has no parent") }
        run.agenda.append(.call(.childDidDeliver(value, from: child.coordinator), parent))
    }
}

struct Tell: Request {
    let message: Message
    var name: String { "tell(\(message.name))" }
    var outlivesCoordinator: Bool { true }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        perform(in: &run, toOneOf: run.state.lineage(of: coordinator.id).dropFirst())
    }

    /// - Parameter ancestors: the ids of the coordinators that may get the message, the nearest first.
    func perform(in run: inout TransitionRun, toOneOf ancestors: ArraySlice<Int>) {
        let recipient = ancestors.first { run.state[$0].map { message.isUnderstood($0.coordinator) } ?? false }
        if let recipient { run.agenda.append(.call(.receive(message), recipient)) }
    }
}

private struct TellChildren: Request {
    let message: Message
    var name: String { "tellChildren(\(message.name))" }

    func perform(in run: inout TransitionRun, by coordinator: LivingCoordinator) {
        let family = run.state.families(of: [coordinator.id])
        // What is last on the agenda is done first.
        for recipient in run.state.coordinators.reversed()
        where recipient.id != coordinator.id && family.contains(recipient.id)
            && message.isUnderstood(recipient.coordinator)
        {
            run.agenda.append(.call(.receive(message), recipient.id))
        }
    }
}

/// A message from a coordinator to an ancestor or to descendants, which are found by their type or by a protocol.
struct Message: Sendable {
    /// The name of the type or protocol.
    let name: String
    let isUnderstood: @Sendable (any Coordinator) -> Bool
    let deliver: @Sendable (any Coordinator, inout Navigator) async throws -> any Coordinator

    fileprivate init<Recipient>(
        _ type: Recipient.Type,
        _ message: @Sendable @escaping (inout Recipient, inout Navigator) async throws -> Void
    ) {
        name = String(describing: type)
        isUnderstood = { $0 is Recipient }
        deliver = { coordinator, navigator in
            guard var recipient = coordinator as? Recipient else { return coordinator }
            try await message(&recipient, &navigator)
            return recipient as? any Coordinator ?? coordinator
        }
    }
}

extension TransitionRun {
    /// Shows an alert, or lets it wait until those before it are answered.
    mutating func show(_ alert: Alert, by coordinator: LivingCoordinator) throws(NavigationError) {
        try check(alert) { impossible($0) }
        let alerts = state.alerts
        if let shown = alerts.first, alerts.count >= app.limits.alerts {
            throw impossible(
                "“\(alert.title)” would be the \(alerts.count + 1)th alert: “\(shown.alert.title)” is shown, the others wait"
            )
        }
        guard let owner = state.owner(of: alert, among: state.lineage(of: coordinator.id)) else {
            let strange = alert.buttons.first { $0.event.map { !coordinator.type.accepts($0) } ?? false }
            throw impossible("button “\(strange?.id ?? "")” sends an unknown event")
        }
        let key = state.nextKey("a")
        let translated = alert.translated(by: app.words, for: state.client)
        state.alerts = alerts + [PresentedAlert(key: key, alert: translated, coordinator: owner)]
    }

    /// Requires buttons, each with an id of its own.
    ///
    /// - Parameter fault: makes the error from a reason.
    func check(_ alert: Alert, _ fault: (String) -> NavigationError) throws(NavigationError) {
        guard !alert.buttons.isEmpty else { throw fault("an alert needs a button") }
        for (index, button) in alert.buttons.enumerated() {
            guard !alert.buttons[..<index].contains(where: { $0.id == button.id }) else {
                throw fault("two buttons are named “\(button.id)”")
            }
        }
    }
}

extension NavigationState {
    /// The first of the coordinators that can handle every event that the alert's buttons send; `nil` if none can.
    func owner(of alert: Alert, among coordinators: [Int]) -> Int? {
        coordinators.first { self[$0].map { alert.canBeAnswered(to: $0.type) } ?? false }
    }
}

extension Alert {
    /// Whether coordinators of that type can handle every event that the buttons send.
    func canBeAnswered(to type: CoordinatorType) -> Bool {
        buttons.allSatisfy { $0.event.map(type.accepts) ?? true }
    }
}
