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
    let isTabBarDelegate: Bool
    /// The links of all coordinators of the app. If there are any, `open` is accepted.
    let linksOfApp: [LinkPattern]
    /// The app's version.
    let version: Int
    /// The encoding of the type's `blank`; `nil` if it declares none.
    private let blank: JSON?
    var hasBlank: Bool { blank != nil }

    init<C: Coordinator>(_ type: C.Type, named name: String = C.name, linksOfApp: [LinkPattern], version: Int) {
        let shapes = EventShape.all(of: C.self)
        self.links = C.links
        self.isTabBarDelegate = type is any TabBarDelegate.Type
        self.linksOfApp = linksOfApp
        self.version = version
        self.type = type
        self.name = name
        self.events = shapes ?? []
        self.blank = (C.blank as? C).flatMap { try? JSON(encoding: $0) }
        self.problems =
            (C.blank is C || C.blank is NoBlank ? [] : ["\(name).blank must be a \(C.self)"])
            + (type is AnyClass ? ["\(name) must be a struct or an enum: an instance of a class is not copied"] : [])
            + CoordinatorType.problems(of: name, shapes: shapes) + CoordinatorType.missingExamples(of: C.self)
            + C.links.flatMap { link in link.problems.map { "\(name): link “\(link.text)” \($0)" } }
    }

    func event(_ name: String) -> EventShape? {
        events.first { $0.name == name }
    }

    func enabledEvents(of coordinator: any Coordinator, in context: NavigationContext) -> [EventShape] {
        let isEnabled = { (event: EventShape) in event.isEnabled(coordinator, context) }
        return events.allSatisfy(isEnabled) ? events : events.filter(isEnabled)
    }

    /// - Parameter version: the version of the app that saved the coordinator.
    func restore(_ saved: JSON, from version: Int) throws(JSONDecodingError) -> any Coordinator {
        try type.restored(from: version == self.version ? saved : type.migrated(saved, from: version), blank)
    }

    /// Whether the coordinator can be sent the event, which was encoded earlier.
    func accepts(_ event: EncodedEvent) -> Bool {
        guard let shape = self.event(event.name), let decodable = try? shape.decodable(event.payload) else {
            return false
        }
        return shape.isDecodable(decodable)
    }

    private static func problems(of name: String, shapes: [EventShape]?) -> [String] {
        guard let shapes else { return ["\(name).Event must be an enum whose Codable conformance is the compiler's"] }
        return shapes.flatMap(\.problems)
            + shapes.map(\.name).filter(BuiltInEvent.names.contains).map {
                "\(name).Event has a case “\($0)”, a name that is reserved for a built-in event"
            }
    }

    /// A case without an example could never be sent.
    private static func missingExamples<C: Coordinator>(of type: C.Type) -> [String] {
        let given = C.Event.examples.compactMap(EnumCases.name)
        return (EnumCases.names(of: C.Event.self) ?? []).filter { !given.contains($0) }.map {
            "\(C.name).Event: the case “\($0)” has no example"
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

    /// Decodes an event from the form of Swift's enum coding, and handles it.
    mutating func receive(_ event: JSON, _ navigator: inout Navigator) async throws {
        let decoded: Event
        do {
            decoded = try event.decode()
        } catch {
            throw UnfitPayload(cause: error)
        }
        try await handle(decoded, &navigator)
    }
}
