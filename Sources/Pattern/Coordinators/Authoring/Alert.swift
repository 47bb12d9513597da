/// A question or a message over everything else. While it is shown, the session accepts only its answer, and `back` if
/// it has a cancel button. Alerts that coordinators request meanwhile are shown after it, and a link that arrives
/// meanwhile is opened then.
public struct Alert: Sendable, Equatable {
    public var title: String
    public var message: String?
    /// In the order in which they are drawn.
    public var buttons: [AlertButton]

    public init(_ title: String, message: String? = nil, buttons: [AlertButton] = [.ok]) {
        self.title = title
        self.message = message
        self.buttons = buttons
    }

    /// The button that `back` presses.
    var cancelButton: AlertButton? { buttons.first { $0.role == .cancel } }
}

/// A button of an alert. Pressing it dismisses the alert. If the button has an event, the coordinator that showed the
/// alert gets it, or the nearest ancestor that handles the events of all the alert's buttons.
public struct AlertButton: Sendable, Equatable {
    public enum Role: String, Sendable, Codable {
        /// The button changes nothing; `back` presses it.
        case cancel
        /// The button loses or deletes something: draw it as a warning.
        case destructive
    }

    /// Unique among the alert's buttons. The built-in event `answer` names the button by it.
    public var id: String
    public var title: String
    public var role: Role?
    /// For an alert from `shouldLeave`: whether pressing the button leaves the screen, as the user asked. Every other
    /// button stays on it.
    public private(set) var leaves = false
    var event: EncodedEvent?
    /// The name of the event that the button sends.
    package var eventName: String? { event?.name }

    public init(_ id: String, title: String, role: Role? = nil) {
        self.id = id
        self.title = title
        self.role = role
    }

    /// A button that sends an event. The event needs neither to be offered by a screen nor to be enabled, so an event
    /// that must not happen without the question can be reachable through the button alone.
    public init(_ id: String, title: String, role: Role? = nil, sends event: some NavigationEvent) {
        self.init(id, title: title, role: role)
        self.event = EncodedEvent(event)
    }

    /// A button that leaves the screen: it continues the event that `shouldLeave` held up, or, if the client has to
    /// post that event again, lets it pass the next time.
    public static func leave(_ id: String, title: String, role: Role? = .destructive) -> AlertButton {
        var button = AlertButton(id, title: title, role: role)
        button.leaves = true
        return button
    }

    public static let ok = AlertButton("ok", title: "OK", role: .cancel)
    public static let cancel = AlertButton("cancel", title: "Cancel", role: .cancel)
}

/// An alert that is shown, and the coordinator that showed it. Immutable, and shared by the states that have it.
public final class PresentedAlert: Sendable {
    public let key: String
    public let alert: Alert
    /// The id of the coordinator that its buttons send their events to.
    package let coordinator: Int
    /// The event that `shouldLeave` held up, if the alert asks about one and the event can go on afterwards.
    let heldUp: PostedEvent?
    /// The type of the event that `shouldLeave` held up, if the client has to post it again: its payload is not kept.
    let askedFor: String?
    /// What else the user is asked about; `nil` if it was saved before alerts had it.
    let question: Question?
    /// The type of the event that the alert is about, if it is from `shouldLeave`.
    package var subject: String? { heldUp?.type ?? askedFor }
    /// The alert that is shown when this one is answered, see `NavigationState.alerts`.
    let next: PresentedAlert?

    init(
        key: String, alert: Alert, coordinator: Int, heldUp: PostedEvent? = nil, askedFor: String? = nil,
        question: Question? = nil, next: PresentedAlert? = nil
    ) {
        self.key = key
        self.alert = alert
        self.coordinator = coordinator
        self.heldUp = heldUp
        self.askedFor = askedFor
        self.question = question
        self.next = next
    }

    /// The same question with another alert, coordinator or next alert.
    func with(_ alert: Alert, of coordinator: Int, _ next: PresentedAlert?) -> PresentedAlert {
        PresentedAlert(
            key: key, alert: alert, coordinator: coordinator, heldUp: heldUp, askedFor: askedFor, question: question,
            next: next)
    }

    fileprivate func followed(by next: PresentedAlert?) -> PresentedAlert {
        next === self.next ? self : with(alert, of: coordinator, next)
    }

    func adopted(by coordinator: Int) -> PresentedAlert { with(alert, of: coordinator, next) }
}

extension NavigationState {
    /// How many alerts a session may have at a time: the one that is shown and those that wait.
    static let alertLimit = 16

    /// The alert that is shown, then those that wait, in the order in which coordinators requested them.
    package internal(set) var alerts: [PresentedAlert] {
        get {
            var alerts: [PresentedAlert] = []
            var next = alert
            while let alert = next {
                alerts.append(alert)
                next = alert.next
            }
            return alerts
        }
        set { alert = newValue.reversed().reduce(nil) { next, alert in alert.followed(by: next) } }
    }
}

extension PresentedAlert: Equatable {
    public static func == (left: PresentedAlert, right: PresentedAlert) -> Bool {
        left === right
            || (left.key == right.key && left.alert == right.alert && left.coordinator == right.coordinator
                && left.heldUp == right.heldUp && left.askedFor == right.askedFor && left.question == right.question
                && left.next == right.next)
    }
}
