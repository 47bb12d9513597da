internal import JSONCoding

/// What the engine knows of a type of coordinators, found out once, when the app is declared.
final class CoordinatorType: Sendable {
    let name: String
    /// The cases of its `Event`, in the order of the examples.
    let events: [EventShape]
    /// What is wrong with the declaration, for the author.
    let problems: [String]
    let type: any Coordinator.Type

    init<C: Coordinator>(_ type: C.Type) {
        let name = C.name
        let shapes = C.Event.examples.map { EventShape(example: $0) }
        self.type = type
        self.name = name
        self.events = shapes.compactMap(\.self)
        self.problems = CoordinatorType.problems(of: name, shapes: shapes)
    }

    func event(_ name: String) -> EventShape? {
        events.first { $0.name == name }
    }

    func restore(_ saved: JSON) throws(JSONDecodingError) -> any Coordinator {
        try type.restored(from: saved)
    }

    private static func problems(of name: String, shapes: [EventShape?]) -> [String] {
        var problems: [String] = []
        if shapes.contains(where: { $0 == nil }) {
            problems.append("\(name).Event must be an enum whose Codable conformance is the compiler's")
        }
        let names = shapes.compactMap(\.self?.name)
        for event in names where BuiltInEvent.reservedNames.contains(event) {
            problems.append("\(name).Event has a case “\(event)”, a name that is reserved for a built-in event")
        }
        for (index, event) in names.enumerated() where names[..<index].contains(event) {
            problems.append("\(name).Event.examples has “\(event)” twice")
        }
        return problems
    }
}

/// A posted payload does not fit the event's declaration.
struct UnfitPayload: Error {
    let cause: JSONDecodingError
}

extension Coordinator {
    fileprivate static func restored(from saved: JSON) throws(JSONDecodingError) -> any Coordinator {
        try saved.decode(as: Self.self)
    }

    /// Decodes an event from the form that Swift's enum coding has, and handles it.
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
