public import JSONCoding

/// What an app is for its clients: its coordinators with the events that clients can post to each and the signals that
/// services can send, its screens and alerts, the built-in events, the links and their origins.
///
/// ```json
/// {"name": "shop", "version": 1, "coordinators": […], "screens": [{"name": "product", "source": "declared", …}], …}
/// ```
///
/// At first it has the screens that the app declares. `observe` adds what a session shows: other screens, the titles,
/// events and tabs of all of them, alerts, and what coordinators say of their events in a session. Used on one thread.
public final class AppDescription: JSONWritable {
    private let app: App
    private var screens: [DescribedScreen] = []
    private var alerts: [DescribedAlert] = []
    /// The events that a state has accepted, by the names of coordinator and event, as the first one offered them.
    private var offered: [[String]: OfferedEvent] = [:]
    /// Sentences, without a full stop, about screens that do not keep to their declarations.
    package private(set) var warnings: [String] = []

    public init(_ app: App) {
        self.app = app
        for type in app.types {
            for screen in type.screens { position(of: screen.name, of: type.name, screen) }
        }
    }

    /// The position of a screen, which is added if it is new. A client knows a screen by its name, whichever coordinator
    /// shows it.
    @discardableResult
    private func position(of name: String, of coordinator: String, _ type: ScreenType? = nil) -> Int {
        let known = screens.firstIndex { $0.name == name }
        let position = known ?? screens.endIndex
        if known == nil { screens.append(DescribedScreen(name: name, type: type)) }
        if !screens[position].coordinators.contains(coordinator) { screens[position].coordinators.append(coordinator) }
        return position
    }

    /// Adds what a state shows. It should be one whose client has named no language.
    package func observe(_ state: NavigationState) {
        for placed in state.screens {
            guard let coordinator = state[placed.coordinator] else { continue }
            screens[position(of: placed.screen.name, of: coordinator.name)].observe(placed)
        }
        for sentence in state.breaches(ofScreensOf: app) where !warnings.contains(sentence) {
            warnings.append(sentence)
        }
        if state.alert == nil, let visible = state.visible, let coordinator = state[visible.coordinator] {
            let position = position(of: visible.screen.name, of: coordinator.name)
            state.forEachAcceptedEvent { recipient, event, _ in
                screens[position].events.insert(event.number)
                let name = [recipient.name, event.name]
                if offered[name] == nil { offered[name] = OfferedEvent(event, by: recipient, in: state.context) }
            }
        }
        for presented in state.alerts {
            let alert = DescribedAlert(presented.alert, of: state[presented.coordinator]?.name ?? "")
            if let known = alerts.firstIndex(where: { $0.isLike(alert) }) {
                alerts[known].title.observe(presented.alert.title)
            } else {
                alerts.append(alert)
            }
        }
    }
}

extension NavigationState {
    /// Sentences, without a full stop, about screens that do not keep to what the app's coordinators declare of them.
    package func breaches(ofScreensOf app: App) -> [String] {
        guard app.declaresScreens else { return [] }
        var breaches: [String] = []
        for placed in screens {
            guard let coordinator = self[placed.coordinator] else { continue }
            let screen = placed.screen
            if let declared = app.declaration(ofScreen: screen.name) {
                let faults = SchemaCheck.faults(of: .object(screen.params), declared.params ?? [:], at: ["params"])
                for fault in faults {
                    breaches.append(
                        "\(fault.path.joined(separator: ".")) of the declared screen “\(screen.name)” \(fault.reason)")
                }
                if declared.params == nil, !screen.params.isEmpty {
                    breaches.append("the screen “\(screen.name)” is declared without parameters, and has some")
                }
            } else if !coordinator.type.screens.isEmpty {
                breaches.append(
                    "\(coordinator.name) shows the screen “\(screen.name)”, which its screens do not list")
            }
        }
        return breaches
    }
}

extension App {
    fileprivate var declaresScreens: Bool { types.contains { !$0.screens.isEmpty } }

    /// The names of the screens that its coordinators declare.
    package var declaredScreens: [String] { types.flatMap { $0.screens.map(\.name) } }

    fileprivate func declaration(ofScreen name: String) -> ScreenType? {
        types.lazy.flatMap(\.screens).first { $0.name == name }
    }
}

/// What a coordinator says of one of its events in a session, see `Coordinator.title(of:in:)` and `fields(of:in:)`.
private struct OfferedEvent {
    let title: String?
    /// The schema of the payload; `nil` if the coordinator does not declare `fields(of:in:)`.
    let schema: JSON?

    init(_ event: EventShape, by recipient: LivingCoordinator, in context: NavigationContext) {
        let type = recipient.type
        title = type.title(recipient.coordinator, event.number, context)
        schema = type.fields.flatMap { fields in
            event.schema(with: fields(recipient.coordinator, event.number, context).map(\.withoutValue))
        }
    }
}

/// A text that clients may rely on only if it is always the same.
private enum ObservedText {
    case unseen
    case always(String?)
    case varying

    mutating func observe(_ text: String?) {
        switch self {
        case .unseen: self = .always(text)
        case .always(let seen) where seen == text: break
        case .always, .varying: self = .varying
        }
    }

    var text: String? {
        if case .always(let text) = self { text } else { nil }
    }
}

/// A kind of screen, as it was declared and as sessions showed it.
private struct DescribedScreen {
    let name: String
    /// `nil` for a screen that no coordinator declares.
    let type: ScreenType?
    var coordinators: [String] = []
    var title = ObservedText.unseen
    var hasContent = false
    /// The numbers of the events that were accepted while it was visible.
    var events = EventSet()
    var tabs: [(id: String, title: ObservedText, icon: ObservedText)] = []
    /// `nil` while it was not shown.
    private var observedParams: SchemaTrace?

    init(name: String, type: ScreenType?) {
        self.name = name
        self.type = type
        self.hasContent = type?.content != nil
    }

    mutating func observe(_ placed: PlacedScreen) {
        title.observe(placed.screen.title)
        if placed.screen.hasContent { hasContent = true }
        for tab in placed.tabs?.items ?? [] {
            let known = tabs.firstIndex { $0.id == tab.id }
            if known == nil { tabs.append((tab.id, .unseen, .unseen)) }
            let position = known ?? tabs.endIndex - 1
            tabs[position].title.observe(tab.title)
            tabs[position].icon.observe(tab.icon)
        }
        guard type == nil else { return }
        let params = observedParams ?? SchemaTrace()
        params.observe(.object(placed.screen.params))
        observedParams = params
    }

    var params: JSON? {
        if let type { return type.params }
        return observedParams.flatMap { $0.memberNames.isEmpty ? nil : $0.schema }
    }
}

/// An alert, known by its coordinator and its buttons: its title may be another one each time.
private struct DescribedAlert {
    let coordinator: String
    let buttons: [AlertButton]
    var title = ObservedText.unseen

    init(_ alert: Alert, of coordinator: String) {
        self.coordinator = coordinator
        self.buttons = alert.buttons
        title.observe(alert.title)
    }

    func isLike(_ other: DescribedAlert) -> Bool {
        coordinator == other.coordinator && buttons.elementsEqual(other.buttons) { $0.id == $1.id }
    }
}

// The JSON text.
extension AppDescription {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", app.name)
            writer.member("version", app.version)
            writer.array("coordinators", app.types) { write($0, to: &$1) }
            writer.array("screens", screens) { write($0, to: &$1) }
            if !alerts.isEmpty { writer.array("alerts", alerts) { write($0, to: &$1) } }
            writer.member("builtInEvents", BuiltInEvent.allCases.map(EventDescription.init))
            writer.member("links", app.links.map(\.text))
            writer.member("origins", ifAny: app.origins.isEmpty ? nil : app.origins)
            writer.member("roles", ifAny: app.roles.isEmpty ? nil : app.roles)
        }
    }

    private func write(_ coordinator: CoordinatorType, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", coordinator.name)
            writer.member(
                "events",
                coordinator.events.map { event in
                    let former = coordinator.aliases.filter { $0.value == event.name }.keys.sorted()
                    return EventDescription(event, offered[[coordinator.name, event.name]], aliases: former)
                })
            if !coordinator.signals.isEmpty {
                writer.member("signals", coordinator.signals.map { EventDescription($0, nil, aliases: []) })
            }
        }
    }

    private func write(_ screen: DescribedScreen, to writer: inout JSONWriter) {
        let events = app.eventNumbers.byName.filter { screen.events.contains($0.value) }.keys.sorted()
        writer.object { writer in
            writer.member("name", screen.name)
            writer.member("source", screen.type == nil ? "observed" : "declared")
            writer.member("coordinators", screen.coordinators)
            writer.member("title", ifAny: screen.title.text)
            writer.member("params", ifAny: screen.params)
            writer.member("hasContent", ifAny: screen.hasContent ? true : nil)
            writer.member("content", ifAny: screen.type?.content)
            writer.member("events", ifAny: events.isEmpty ? nil : events)
            if !screen.tabs.isEmpty {
                writer.array("tabs", screen.tabs) { tab, writer in
                    writer.object { writer in
                        writer.member("id", tab.id)
                        writer.member("title", ifAny: tab.title.text)
                        writer.member("icon", ifAny: tab.icon.text)
                    }
                }
            }
        }
    }

    private func write(_ alert: DescribedAlert, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("coordinator", alert.coordinator)
            writer.member("source", "observed")
            writer.member("title", ifAny: alert.title.text)
            writer.array("buttons", alert.buttons) { button, writer in
                writer.object { writer in
                    writer.member("id", button.id)
                    writer.member("title", button.title)
                    writer.member("role", ifAny: button.role?.rawValue)
                    writer.member("event", ifAny: button.eventName)
                }
            }
        }
    }
}

/// An event or a signal: its type, the title of its button, the JSON Schema of its payload, an example that can be
/// posted, and its former names.
private struct EventDescription: JSONWritable {
    let type: String
    let title: String
    let payload: JSON?
    let schema: JSON?
    /// Whether the schema has the bounds of a session.
    var isObserved = false
    var aliases: [String] = []
    var roles: [DeviceRole] = []

    /// - Parameter offered: how a session offered it; `nil` if none has.
    init(_ shape: EventShape, _ offered: OfferedEvent?, aliases: [String]) {
        (type, title, payload) = (shape.name, offered?.title ?? shape.title, shape.payload)
        schema = offered?.schema ?? shape.schema
        // A session that says what the event says of itself says nothing of its own.
        isObserved = offered?.schema.map { $0 != shape.schema } ?? false
        self.aliases = aliases
        self.roles = shape.roles
    }

    init(_ event: BuiltInEvent) {
        (type, title, payload, schema) = (event.rawValue, event.title, event.payload, event.schema)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("type", type)
            writer.member("title", title)
            writer.member("source", ifAny: isObserved ? "observed" : nil)
            writer.member("schema", ifAny: schema)
            writer.object("example") { writer in
                writer.member("type", type)
                writer.member("payload", ifAny: payload)
            }
            writer.member("aliases", ifAny: aliases.isEmpty ? nil : aliases)
            writer.member("roles", ifAny: roles.isEmpty ? nil : roles.map(\.name))
        }
    }
}

extension DeviceRole: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("mayAct", mayAct)
            writer.member("mayEndOthers", mayEndOthers)
            writer.member("gives", gives)
        }
    }
}
