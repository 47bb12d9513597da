internal import JSONCoding

/// What the engine knows about a type of coordinator, determined once, when the app is declared.
final class CoordinatorType: Sendable {
    let name: String
    /// The cases of its `Event`, in the order of the examples.
    let events: [EventShape]
    /// The mistakes in the declaration, for the author.
    let problems: [String]
    let type: any Coordinator.Type
    let links: [LinkPattern]
    /// The kinds of screens that it declares.
    let screens: [ScreenType]
    /// The names that its events had, with those that they have, see `NavigationEvent.aliases`.
    let aliases: [String: String]
    let isTabBarDelegate: Bool
    let isStackDelegate: Bool
    /// Whether it declares `deviceDidPair`.
    let isToldOfDevices: Bool
    /// The links of all coordinators of the app. If there are any, `open` is accepted.
    let linksOfApp: [LinkPattern]
    /// The app's version.
    let version: Int
    /// The encoding of the type's `blank`; `nil` if it declares none.
    private let blank: JSON?
    var hasBlank: Bool { blank != nil }
    /// The conduct of `start`, `childDidFinish` and so on.
    private let conduct = (0..<TransitionRun.Call.kinds).map { _ in FunctionConduct() }
    /// The conduct of `content`.
    let conductOfContent = FunctionConduct()
    /// The events that are accepted on the screens of descendants, too.
    let everywhere: EventSet
    /// The events for which `isEnabled` returns `true`.
    let enabledEvents: @Sendable (any Coordinator, NavigationContext) -> EventSet
    /// Whether `isEnabled` returns `true` for an event with its payload, in the form that decoding expects; `false` also
    /// if it cannot be decoded.
    let isEnabled: @Sendable (any Coordinator, JSON, NavigationContext) -> Bool
    /// The title of the event of a number.
    let title: @Sendable (any Coordinator, Int, NavigationContext) -> String?
    /// The fields of the event of a number; `nil` if the author declares them only in `NavigationEvent.fields`.
    let fields: (@Sendable (any Coordinator, Int, NavigationContext) -> [Field])?
    /// The app's own words for what the server says.
    let words: Words?
    /// The signals that other systems may send.
    let signals: [EventShape]
    let work: WorkFunctions
    /// The conduct of `perform`.
    let conductOfEffects = FunctionConduct()

    init<C: Coordinator>(
        _ type: C.Type, named name: String = C.name, linksOfApp: [LinkPattern], version: Int, words: Words?,
        _ numbers: inout EventNumbers
    ) {
        let shapes = EventShape.all(of: C.self, &numbers)
        let links = C.linkPatterns ?? []
        self.links = links
        self.screens = C.screenTypes ?? []
        self.aliases = C.eventAliases ?? [:]
        self.isTabBarDelegate = type is any TabBarDelegate.Type
        self.isStackDelegate = type is any StackDelegate.Type
        self.isToldOfDevices = C.PairingResult.self != Undeclared.self
        self.linksOfApp = linksOfApp
        self.version = version
        self.type = type
        self.name = name
        self.events = shapes ?? []
        var everywhere = EventSet()
        let eventsEverywhere = C.eventsEverywhere ?? []
        for event in shapes ?? [] where eventsEverywhere.contains(event.name) { everywhere.insert(event.number) }
        self.everywhere = everywhere
        let examples = (EventShape.cases(of: C.Event.examples) ?? []).map { event, examples in
            (number: numbers.number(of: event.name), example: examples[0])
        }
        self.enabledEvents = { coordinator, context in
            let coordinator = coordinator.known(as: C.self)
            var enabled = EventSet()
            if context.role?.mayAct == false { return enabled }
            for (number, example) in examples where coordinator.isEnabled(example, in: context) {
                if context.role != nil, !example.roles.includes(context.role) { continue }
                enabled.insert(number)
            }
            return enabled
        }
        self.isEnabled = { coordinator, event, context in
            guard let event = try? event.decode(as: C.Event.self) else { return false }
            return coordinator.known(as: C.self).isEnabled(event, in: context)
        }
        self.title = { coordinator, number, context in
            guard let (_, example) = examples.first(where: { $0.number == number }) else { return nil }
            return coordinator.known(as: C.self).title(of: example, in: context)
        }
        if C.FieldList.self == Undeclared.self {
            self.fields = nil
        } else {
            self.fields = { coordinator, number, context in
                guard let (_, example) = examples.first(where: { $0.number == number }) else { return [] }
                let fields: C.FieldList = coordinator.known(as: C.self).fields(of: example, in: context)
                return fields as? [Field] ?? []
            }
        }
        self.words = words
        let signals = EventShape.external(of: C.self)
        self.signals = signals ?? []
        self.work = WorkFunctions(of: C.self)
        let (blank, problemsOfBlank) = (C.blank as? C).map { JSON.saved($0, as: "\(name).blank") } ?? (nil, [])
        self.blank = blank
        self.problems =
            (C.blank is C || C.blank is NoBlank ? [] : ["\(name).blank must be a \(C.self)"])
            + (type is AnyClass ? ["\(name) must be a struct or an enum: an instance of a class is not copied"] : [])
            + (signals.map { $0.flatMap(\.problems) }
                ?? ["\(name).Signal must be an enum whose Codable conformance is the compiler's"])
            + problemsOfBlank + CoordinatorType.problems(of: C.self, shapes: shapes)
            + links.flatMap { link in link.problems.map { "\(name): link “\(link.text)” \($0)" } }
            + eventsEverywhere.filter { event in shapes?.contains { $0.name == event } != true }
            .map { "\(name).everywhere has “\($0)”, which is no event of it" }
            + screens.compactMap(\.problem).map { "\(name).screens has \($0)" }
            + CoordinatorType.problems(ofAliases: aliases, shapes: shapes ?? [], name)
            + C.unfitLists
    }

    func event(_ name: String) -> EventShape? {
        events.first { $0.name == name }
    }

    func event(_ number: Int) -> EventShape? {
        events.first { $0.number == number }
    }

    func conduct(of call: TransitionRun.Call) -> FunctionConduct {
        if case .handle(let event, _) = call { event.conduct } else { conduct[call.kind] }
    }

    /// See `PlacedScreen.offered`.
    func offered(on screen: Screen) -> EventSet? {
        var set = EventSet()
        if let controls = screen.events {
            for control in controls where control.payload == nil {
                if let event = event(control.event) { set.insert(event.number) }
            }
            return set
        }
        guard !screen.rows.isEmpty else { return nil }
        for event in events where !screen.rows.contains(where: { $0.control?.event == event.name }) {
            set.insert(event.number)
        }
        return set
    }

    /// See `PlacedScreen.carried`.
    func carried(on screen: Screen) -> EventSet {
        var set = EventSet()
        screen.forEachCarryingControl { control in
            if control.isEnabled, let event = event(control.event) { set.insert(event.number) }
        }
        return set
    }

    /// Why a screen cannot have its controls, for its author; `nil` if it can.
    ///
    /// - Parameter screen: as it is drawn, with `isEnabled` of its controls.
    func problem(ofControlsOn screen: Screen) -> String? {
        for control in screen.events ?? [] {
            if let problem = problem(of: control) { return problem }
        }
        for row in screen.rows {
            if let problem = row.control.flatMap(problem) { return problem }
        }
        return nil
    }

    private func problem(of control: Control) -> String? {
        guard let event = event(control.event) else {
            return control.event.isEmpty
                ? "offers an event with a payload that JSON cannot hold"
                : "offers the unknown event “\(control.event)”, or one without an example"
        }
        if control.payload != nil, event.holdsSecret {
            return "would show the secret that “\(event.name)” takes: let the user enter it"
        }
        if !control.isEnabled, !accepts(control.carried) {
            return "offers “\(event.name)” with a payload that the event does not take"
        }
        return nil
    }

    /// Whether `isEnabled` returns `true` for what a control carries.
    func isEnabled(_ control: Control, of coordinator: any Coordinator, in context: NavigationContext) -> Bool {
        guard let shape = event(control.event), let event = try? shape.decodable(control.payload) else { return false }
        return shape.roles.includes(context.role) && isEnabled(coordinator, event, context)
    }

    /// Whether an event that an alert's button sends is for devices of a role.
    func isForRole(_ event: EncodedEvent, _ role: DeviceRole?) -> Bool {
        self.event(event.name)?.roles.includes(role) ?? true
    }

    /// - Parameter version: the version of the app that saved the coordinator.
    func restore(_ saved: JSON, from version: Int) throws(JSONDecodingError) -> any Coordinator {
        try type.restored(from: version == self.version ? saved : type.migrated(saved, from: version), blank)
    }

    /// Whether a coordinator of this type can handle an event that was encoded earlier.
    func accepts(_ event: EncodedEvent) -> Bool {
        guard let shape = self.event(event.name), let decodable = try? shape.decodable(event.payload) else {
            return false
        }
        return shape.isDecodable(decodable)
    }

    private static func problems(ofAliases aliases: [String: String], shapes: [EventShape], _ name: String) -> [String]
    {
        aliases.sorted { $0.key < $1.key }.compactMap { alias, event in
            if !shapes.contains(where: { $0.name == event }) {
                return "\(name).Event.aliases has “\(event)”, which is no event of it"
            }
            return shapes.contains { $0.name == alias } || BuiltInEvent.names.contains(alias)
                ? "\(name).Event.aliases has “\(alias)”, which is an event" : nil
        }
    }

    private static func problems<C: Coordinator>(of type: C.Type, shapes: [EventShape]?) -> [String] {
        let name = C.name
        guard let shapes else {
            let problems = C.Event.examples.flatMap { JSON.saved($0, as: "\(name).Event: an example").problems }
            return problems.isEmpty
                ? ["\(name).Event must be an enum whose Codable conformance is the compiler's"] : problems
        }
        return shapes.flatMap(\.problems)
            + shapes.map(\.name).filter(BuiltInEvent.names.contains).map {
                "\(name).Event has a case “\($0)”, a name that is reserved for a built-in event"
            }
    }
}

/// A posted payload does not fit the event's declaration.
struct UnfitPayload: Error {
    let cause: JSONDecodingError
}

extension Coordinator {
    fileprivate static func migrated(_ saved: JSON, from version: Int) throws(JSONDecodingError) -> JSON {
        do {
            return try migrate(saved, from: version)
        } catch {
            throw JSONDecodingError(path: [], reason: "cannot be migrated from version \(version)")
        }
    }

    fileprivate static func restored(
        from saved: JSON, _ blank: JSON?
    ) throws(JSONDecodingError) -> any Coordinator {
        try saved.decode(as: Self.self, completedFrom: blank)
    }

    /// This coordinator as a `C`, which it must be. Unlike a cast, it needs no lookup in the runtime.
    func known<C: Coordinator>(as type: C.Type) -> C {
        precondition(Self.self == C.self)
        return unsafeBitCast(self, to: C.self)
    }
}
