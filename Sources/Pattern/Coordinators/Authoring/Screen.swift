public import JSONCoding

/// What a client draws: the name of a kind of screen that it knows, a title, parameters. Only data.
public struct Screen: Sendable, Equatable {
    public var name: String
    public var title: String?
    /// Anything the client needs to draw the screen. It is part of the session's state: saved with it, sent with every
    /// answer, and bounded by `App.sizeLimit`. Anything large, or that must be fresh, belongs in `Coordinator.content`.
    public var params: JSONObject
    /// The events that the coordinator accepts while this screen is visible, in addition to those of `rows` and of
    /// `Coordinator.everywhere`; `nil` for all of its events that no row sends.
    public var events: [Control]?
    /// A list that the client draws, such as search results. The events of its rows are accepted with the payloads of
    /// the rows. A row is part of the session's state, as `params` are.
    public var rows: [Row] {
        get { list ?? [] }
        set { list = newValue.isEmpty ? nil : newValue }
        _modify {
            // The only reference, so that changing one row of many copies none of them.
            var rows = list ?? []
            list = nil
            defer { list = rows.isEmpty ? nil : rows }
            yield &rows
        }
    }
    /// The rows; `nil` if there are none, because a copy of `nil` costs nothing.
    private var list: [Row]?
    /// Whether the user may go back from here.
    public var back: BackRule
    /// The pattern of the link that leads to this screen; `params` fill in its parameters.
    public var link: LinkPattern?
    /// Whether the client draws the screen without a navigation bar. A screen with tabs never has a bar of its own: the
    /// screens in its tabs have theirs.
    public var hidesNavigationBar: Bool
    /// Whether the screen has content that clients fetch apart from the state, see `Coordinator.content`.
    public var hasContent: Bool
    /// The roles of the devices that may do something while the user sees the screen, see `App.roles`; the others see it,
    /// too, but may only look. Empty for all.
    public var roles: [DeviceRole] {
        get { namedRoles ?? [] }
        set { namedRoles = newValue.isEmpty ? nil : newValue }
    }
    /// `nil` if there are none, because a copy of `nil` costs nothing.
    private var namedRoles: [DeviceRole]?
    /// How often the content was invalidated while the screen was shown, see `Navigator.invalidateContent`.
    public internal(set) var contentVersion = 0
    /// The labels of the screen's tabs. Filled only in `Coordinator.render`, in `Coordinator.migrate` and in the
    /// closure of `Navigator.update`; elsewhere empty.
    public var tabs: [TabLabel] = []

    /// - Parameter events: the events' names, `["select"]`, or controls with titles of their own, see `Control`.
    public init(
        _ name: String, title: String? = nil, params: JSONObject = [:], events: [Control]? = nil, rows: [Row] = [],
        back: BackRule = .allowed, link: LinkPattern? = nil, hidesNavigationBar: Bool = false,
        hasContent: Bool = false, roles: [DeviceRole] = []
    ) {
        self.name = name
        self.title = title
        self.params = params
        self.events = events
        self.list = rows.isEmpty ? nil : rows
        self.back = back
        self.link = link
        self.hidesNavigationBar = hidesNavigationBar
        self.hasContent = hasContent
        self.namedRoles = roles.isEmpty ? nil : roles
    }

    /// A screen whose events are given as cases of its coordinator's `Event`, so that a misspelt one does not compile.
    ///
    /// ```swift
    /// Screen("cart", title: "Cart", events: [Event.checkout, .empty])
    /// ```
    ///
    /// - Parameter events: for a case with a payload, only the name counts: the user enters the payload in a form. For a form
    ///   that shows values at first, see `Control.init(_:role:form:)`. `["select"]` is the shorter way to name it.
    public init<Event: NavigationEvent>(
        _ name: String, title: String? = nil, params: JSONObject = [:], events: [Event], rows: [Row] = [],
        back: BackRule = .allowed, link: LinkPattern? = nil, hidesNavigationBar: Bool = false,
        hasContent: Bool = false, roles: [DeviceRole] = []
    ) {
        let controls = events.map { Control(sends: EncodedEvent($0)?.name ?? "") }
        self.init(
            name, title: title, params: params, events: controls, rows: rows, back: back, link: link,
            hidesNavigationBar: hidesNavigationBar, hasContent: hasContent, roles: roles)
    }

    /// The titles of the controls without a payload that do not use their event's own title, by the event's name.
    var eventTitles: JSONObject? { members { $0.title.map(JSON.string) } }

    /// The roles of the controls without a payload that have one, by the event's name.
    var eventRoles: JSONObject? { members { ($0.role?.rawValue).map(JSON.string) } }

    /// What the forms show at first, by the event's name.
    var eventValues: JSONObject? { members(\.values) }

    private func members(_ value: (Control) -> JSON?) -> JSONObject? {
        guard let events, events.contains(where: { $0.payload == nil && value($0) != nil }) else { return nil }
        var members = JSONObject()
        for control in events where control.payload == nil && members[control.event] == nil {
            if let value = value(control) { members[control.event] = value }
        }
        return members
    }
}

/// Whether the user may leave a screen backwards: by `back`, `backTo`, `backToRoot` or `dismiss`, or by selecting its
/// tab again.
public enum BackRule: String, Sendable, Codable {
    case allowed
    /// Only the coordinator can leave the screen. Example: a receipt after the payment.
    case forbidden
}

/// What `back` does at the first screen of a tab.
public enum TabBackRule: String, Sendable, Codable {
    /// Leaves the tabs as they are, as on iOS; it may still go back to a screen below them.
    case nothing
    /// Selects the first tab.
    case firstTab
    /// Selects the tab that was selected before.
    case history
}

/// One tab of a screen with tabs. Its first screen belongs to the same coordinator, or is shown by a child.
public struct Tab: Sendable {
    enum Content: Sendable {
        case screen(Screen)
        case child(any Coordinator)
    }

    /// Unique among the screen's tabs.
    public let id: String
    public let title: String?
    /// The name of an icon that the client knows.
    public let icon: String?
    /// Initially shown beside the tab, such as a number; see `Navigator.setBadge`.
    public let badge: String?
    let content: Content
}

extension Tab {
    public init(_ id: String, title: String? = nil, icon: String? = nil, badge: String? = nil, _ screen: Screen) {
        self.init(id: id, title: title, icon: icon, badge: badge, content: .screen(screen))
    }

    public init(
        _ id: String, title: String? = nil, icon: String? = nil, badge: String? = nil, starting child: some Coordinator
    ) {
        self.init(id: id, title: title, icon: icon, badge: badge, content: .child(child))
    }
}

/// How one tab of a screen is drawn.
///
/// ```swift
/// screen.tabs["cart"]?.badge = items.isEmpty ? nil : String(items.count)
/// ```
public struct TabLabel: Sendable, Equatable {
    /// Unique among the screen's tabs. Only `Coordinator.migrate` can change it.
    public var id: String
    public var title: String?
    /// The name of an icon that the client knows.
    public var icon: String?
    /// What is shown beside the tab, such as a number.
    public var badge: String?
    /// The id of the tab's stack.
    let stack: Int
}

extension [TabLabel] {
    /// The label of the tab of that id; `nil` if there is none. Assigning `nil` removes it, see `Coordinator.migrate`.
    public subscript(id: String) -> TabLabel? {
        get { first { $0.id == id } }
        set {
            guard let index = firstIndex(where: { $0.id == id }) else { return }
            if let newValue { self[index] = newValue } else { remove(at: index) }
        }
    }
}

extension PlacedTab {
    var label: TabLabel { TabLabel(id: id, title: title, icon: icon, badge: badge, stack: stack.id) }

    convenience init(_ label: TabLabel, stack: ScreenStack) {
        self.init(id: label.id, title: label.title, icon: label.icon, badge: label.badge, stack: stack)
    }
}

extension PlacedTabs {
    /// The same tabs with these titles, icons and badges. Their ids stay.
    func drawn(as labels: [TabLabel]) -> PlacedTabs {
        var tabs = self
        for (position, tab) in items.enumerated() {
            guard var label = labels.first(where: { $0.stack == tab.stack.id }) else { continue }
            label.id = tab.id
            if label != tab.label { tabs.items[position] = PlacedTab(label, stack: tab.stack) }
        }
        return tabs
    }
}

extension Screen {
    /// The screen as a stack keeps it: the tabs themselves hold the labels.
    var withoutLabels: Screen {
        if tabs.isEmpty { return self }
        var screen = self
        screen.tabs = []
        return screen
    }
}

extension PlacedScreen {
    /// The screen with the labels of its tabs.
    var labelled: Screen {
        guard let tabs else { return screen }
        var screen = screen
        screen.tabs = tabs.items.map(\.label)
        return screen
    }
}

/// An event that a screen offers, and how its button is drawn.
///
/// ```swift
/// Screen("plus", title: "Plus", events: [Control("Push", sends: Event.plus)])
/// Screen("list", title: "Items", events: ["select", Control("Delete", role: .destructive, sends: Event.delete)])
/// Screen("sort", events: [Control("By name", sends: Event.sort(.name)), Control("By date", sends: Event.sort(.date))])
/// ```
///
/// An event with a payload is sent either as it stands, by a button, or with what the user enters in a form. If a screen
/// offers an event only with payloads that stand, by its controls and its `rows`, any other payload is refused with 409
/// `event-not-accepted`.
public struct Control: Sendable {
    /// The event's name.
    public let event: String
    /// What is sent with it; `nil` if the event has no payload, or if the user enters it.
    public internal(set) var payload: JSON? {
        get { load?.payload }
        set { load = Load(payload: newValue, isEnabled: isEnabled, values: values) }
    }
    /// What the form shows at first, in the form of the payload; `nil` if it is empty then, or if there is no form.
    public internal(set) var values: JSON? {
        get { load?.values }
        set { load = Load(payload: payload, isEnabled: isEnabled, values: newValue) }
    }
    /// The button's title on this screen; `nil` for the event's own title.
    public let title: String?
    /// `nil` stands for `input` if the user enters a payload, otherwise for `secondary`.
    public let role: Role?
    /// Whether `Coordinator.isEnabled` allows the event with this payload. The engine assigns it after each `render`.
    package var isEnabled: Bool {
        get { load?.isEnabled ?? true }
        set { if newValue != isEnabled { load = Load(payload: payload, isEnabled: newValue, values: values) } }
    }
    private var load: Load?
    /// Whether the control was made with a value of the event, and not by its name alone.
    private(set) var hasValue = false

    /// What a control is for, so that a client can draw it accordingly.
    public enum Role: String, Sendable, Codable {
        /// What most users do next on the screen.
        case primary
        case secondary
        /// Loses or deletes something.
        case destructive
        /// Leads to another screen, like a row of a list or a back button.
        case navigation
        /// Takes values from a form.
        case input
    }

    /// A button that sends an event of the screen's coordinator as it stands. The payload is part of the session's state
    /// and sent to clients, so an event with a `Secret` is refused.
    public init(_ title: String? = nil, role: Role? = nil, sends event: some NavigationEvent) {
        let event = EncodedEvent(event)
        self.init(title, role, event?.name ?? "", event?.payload)
        hasValue = true
    }

    /// A control that sends an event with a payload which the user enters in a form.
    ///
    /// ```swift
    /// Control("Save", form: Event.save(street: street, city: city))
    /// ```
    ///
    /// - Parameter event: its values are what the form shows at first, but for empty texts and secrets. They are part of the
    ///   session's state and sent to clients.
    public init(_ title: String? = nil, role: Role? = nil, form event: some NavigationEvent) {
        let event = EncodedEvent(event)
        self.init(title, role: role, sends: event?.name ?? "")
        if let values = event?.payload?.withoutEmptyTexts { self.values = values }
    }

    /// A control that sends the event of that name; if it has a payload, with what the user enters in a form. Whether
    /// the coordinator has such an event is checked when the screen is shown, and, for the screens of a new session,
    /// when a server starts.
    public init(_ title: String? = nil, role: Role? = nil, sends event: String) {
        self.init(title, role, event, nil)
    }

    init(_ title: String?, _ role: Role?, _ event: String, _ payload: JSON?) {
        self.title = title
        self.role = role
        self.event = event
        self.load = payload.map { Load(payload: $0, isEnabled: true, values: nil) }
    }

    /// What most controls do not have. An object, because a copy of `nil` costs nothing.
    private final class Load: Sendable {
        let payload: JSON?
        let isEnabled: Bool
        let values: JSON?

        init(payload: JSON?, isEnabled: Bool, values: JSON?) {
            self.payload = payload
            self.isEnabled = isEnabled
            self.values = values
        }
    }
}

extension Control: Equatable {
    /// Controls are equal if they are drawn alike and send the same.
    public static func == (left: Control, right: Control) -> Bool {
        left.event == right.event && left.payload == right.payload && left.title == right.title
            && left.role == right.role && left.isEnabled == right.isEnabled && left.values == right.values
    }
}

extension JSON {
    /// A payload without members that are empty texts, or `null`; `nil` if nothing is left.
    fileprivate var withoutEmptyTexts: JSON? {
        guard let object else { return self == "" || self == .null ? nil : self }
        let members = object.members.filter { $0.value != "" && $0.value != .null }
        return members.isEmpty ? nil : .object(JSONObject(members.map { ($0.name, $0.value) }))
    }
}

extension Control: ExpressibleByStringLiteral {
    /// - Parameter event: the event's name.
    public init(stringLiteral event: String) {
        self.init(sends: event)
    }
}

/// A row of a list. Tapping it sends its event as it stands; a row without an event is only text.
///
/// ```swift
/// screen.rows = books.map { Row($0.title, detail: $0.author, sends: Event.show(isbn: $0.isbn)) }
/// ```
///
/// A row whose event `Coordinator.isEnabled` does not allow stays, marked as disabled.
public struct Row: Sendable, Equatable {
    public let title: String
    /// What is drawn beside the title or below it.
    public let detail: String?
    /// Whether the row has a check mark; `nil` in a list without any.
    public let isSelected: Bool?
    /// What the row sends; `nil` if it is only text.
    public internal(set) var control: Control?
}

extension Row {
    /// - Parameter role: `nil` stands for `navigation`, or for `secondary` if the row can have a check mark.
    public init(
        _ title: String, detail: String? = nil, isSelected: Bool? = nil, role: Control.Role? = nil,
        sends event: some NavigationEvent
    ) {
        let role = role ?? (isSelected == nil ? .navigation : .secondary)
        let control = Control(role: role, sends: event)
        self.init(title: title, detail: detail, isSelected: isSelected, control: control)
    }

    /// A row that is only text.
    public init(_ title: String, detail: String? = nil) {
        self.init(title: title, detail: detail, isSelected: nil, control: nil)
    }
}

// Controls that carry what they send: those of rows, and others with a payload.
extension Screen {
    /// Whether the screen has any.
    var hasCarryingControls: Bool { list != nil || events?.contains { $0.payload != nil } == true }

    /// Whether the screen may have any, once the engine has completed it.
    var mayHaveCarryingControls: Bool {
        list != nil || events?.contains { $0.hasValue || $0.payload != nil } == true
    }

    /// Visits them, in the order in which they are drawn.
    func forEachCarryingControl(_ visit: (Control) -> Void) {
        for control in events ?? [] where control.payload != nil { visit(control) }
        for row in rows { if let control = row.control { visit(control) } }
    }

    /// Gives a payload to buttons whose event has one that consists of nothing: its values are `nil`, and not encoded.
    mutating func addEmptyPayloads(_ emptyPayload: (_ event: String) -> JSON?) {
        guard var events else { return }
        for index in events.indices where events[index].hasValue && events[index].payload == nil {
            if let payload = emptyPayload(events[index].event) { events[index].payload = payload }
        }
        self.events = events
    }

    /// Makes what forms show at first of the values that they were given.
    mutating func settleValues(_ shape: (_ event: String) -> EventShape?) {
        guard var events, events.contains(where: { $0.values != nil }) else { return }
        for index in events.indices {
            guard let values = events[index].values, let shape = shape(events[index].event) else { continue }
            events[index].values = shape.shown(values).withoutEmptyTexts
        }
        self.events = events
    }

    mutating func enableCarryingControls(where isEnabled: (Control) -> Bool) {
        if var events {
            for index in events.indices where events[index].payload != nil {
                events[index].isEnabled = isEnabled(events[index])
            }
            self.events = events
        }
        for index in rows.indices {
            if let control = rows[index].control { rows[index].control?.isEnabled = isEnabled(control) }
        }
    }

    /// Whether it has a control or a row that sends that event.
    func offers(_ event: String) -> Bool {
        events?.contains { $0.event == event } == true || rows.contains { $0.control?.event == event }
    }

    /// Removes controls, also those without a payload, and the rows that have them.
    ///
    /// - Returns: the names of their events, each once.
    mutating func removeControls(where isGone: (Control) -> Bool) -> [String] {
        var names: [String] = []
        func isGoneNow(_ control: Control) -> Bool {
            guard isGone(control) else { return false }
            if !names.contains(control.event) { names.append(control.event) }
            return true
        }
        events?.removeAll(where: isGoneNow)
        rows.removeAll { $0.control.map(isGoneNow) ?? false }
        return names
    }
}

extension Control {
    /// What the control sends, if it carries it.
    var carried: EncodedEvent { EncodedEvent(name: event, payload: payload) }

    /// Whether a client has posted the payload that this control carries.
    func carries(_ posted: JSON?) -> Bool {
        guard let payload, payload != .null else { return posted == nil || posted == .null || posted == [:] }
        return payload.means(posted ?? [:])
    }
}

extension JSON {
    /// Whether two values are the same to whoever reads them: 1.0 is 1, and the order of members does not count.
    fileprivate func means(_ other: JSON) -> Bool {
        switch (self, other) {
        case (.array(let own), .array(let others)):
            own.count == others.count && zip(own, others).allSatisfy { $0.means($1) }
        case (.object(let own), .object(let others)):
            own.count == others.count
                && own.members.allSatisfy { member in others[member.name].map(member.value.means) ?? false }
        case (.number, .integer), (.integer, .number): integer != nil && integer == other.integer
        default: self == other
        }
    }
}
