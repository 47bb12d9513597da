public import JSONCoding

/// An event as a client posts it.
public struct PostedEvent: Sendable, Equatable {
    public var type: String
    public var payload: JSON?
    /// The key of the screen that the user acted on.
    public var screen: String?
    /// Where the event comes from. Never saved.
    public var address: ClientAddress?

    public init(_ type: String, payload: JSON? = nil, screen: String? = nil, address: ClientAddress? = nil) {
        self.type = type
        self.payload = payload
        self.screen = screen
        self.address = address
    }
}

/// A case of a coordinator's `Event`: its name and the form of its payload on the wire, derived from an example.
///
/// Swift encodes an enum's case as `{"name": {"label": value}}` (SE-0295), or as its raw value. On the wire that is
/// `{"type": "name", "payload": {"label": value}}`, where a single unlabelled value is the payload itself.
public final class EventShape: Sendable {
    enum Form: Sendable { case rawValue, noPayload, singleValue, fields }

    public let name: String
    /// The number of the name among those of the app's events, see `EventNumbers`.
    let number: Int
    /// The title of the button that sends the event.
    public let title: String
    /// The payload of the author's first example.
    public let payload: JSON?
    /// The payloads of all examples, with their secrets unmasked, for tests.
    package let unmaskedPayloads: [JSON?]
    /// The JSON Schema of the payload (draft 2020-12), with titles for a form; `nil` if the event has no payload.
    public let schema: JSON?
    /// The mistakes in the declaration, for the author.
    let problems: [String]
    private let form: Form
    /// Whether the schema asks for more than decoding checks.
    private let isConstrained: Bool
    /// Whether `handle` can be called with the event, as `decodable` gives it.
    let isDecodable: @Sendable (JSON) -> Bool
    /// The conduct of `handle` with this event.
    let conduct = FunctionConduct()
    /// Decodes the event from what `decodable` gives, and calls `handle`.
    let handle: @Sendable (inout any Coordinator, JSON, inout Navigator) async throws -> Void

    /// - Parameter examples: the author's examples of the case, at least one.
    private init<C: Coordinator>(_ event: EncodedEvent, examples: [C.Event], of type: C.Type, number: Int) {
        let example = examples[0]
        let schema = JSONSchema.payloadSchema(of: example)
        // A case without a payload is its example: there is nothing to decode.
        let fixed = event.form == .rawValue || event.form == .noPayload ? example : nil
        self.name = event.name
        self.number = number
        self.title = example.title
        self.form = event.form
        self.payload = event.payload
        self.unmaskedPayloads = examples.map { EncodedEvent($0, revealsSecrets: true)?.payload }
        self.schema = schema.map { Field.describe(example.fields, in: $0) }
        self.isConstrained = example.fields.contains(where: \.isConstraint)
        self.problems = example.fields.filter { !$0.exists(in: schema) }.map { field in
            "\(C.name).Event: “\(event.name)” has no field “\(field.name)”"
        }
        self.isDecodable = { (try? $0.decode(as: C.Event.self)) != nil }
        self.handle = { coordinator, event, navigator in
            var handler = coordinator.known(as: C.self)
            try await handler.handle(try fixed ?? event.decodedPayload(), &navigator)
            coordinator = handler
        }
    }

    /// The shapes of a coordinator's events, in the order of their first examples.
    ///
    /// - Returns: `nil` if the type does not encode as an enum does.
    static func all<C: Coordinator>(of type: C.Type, _ numbers: inout EventNumbers) -> [EventShape]? {
        var cases: [(event: EncodedEvent, examples: [C.Event])] = []
        for example in C.Event.examples {
            guard let event = EncodedEvent(example) else { return nil }
            if let index = cases.firstIndex(where: { $0.event.name == event.name }) {
                cases[index].examples.append(example)
            } else {
                cases.append((event, [example]))
            }
        }
        return cases.map {
            EventShape($0.event, examples: $0.examples, of: type, number: numbers.number(of: $0.event.name))
        }
    }

    /// The JSON that Swift's own decoding of the enum expects.
    ///
    /// - Throws: `invalidEvent` if the payload does not hold what the event's `fields` ask for.
    func decodable(_ payload: JSON?) throws(NavigationError) -> JSON {
        if isConstrained, let payload {
            let faults = faults(of: payload)
            guard faults.isEmpty else { throw .invalidEvent(.init(faults)) }
        }
        switch form {
        case .rawValue, .noPayload:
            guard payload == nil || payload == [:] else {
                throw .invalidEvent(
                    .init(path: ["payload"], reason: "must be left out, because “\(name)” takes no payload"))
            }
            return form == .rawValue ? .string(name) : .object(JSONObject(name, [:]))
        case .singleValue:
            let fields = payload.map { JSONObject("_0", $0) } ?? [:]
            return .object(JSONObject(name, .object(fields)))
        case .fields: return .object(JSONObject(name, payload ?? [:]))
        }
    }

    /// Why `event`, the result of `decodable`, cannot be decoded: all faults of the payload.
    func refusal(of event: JSON, _ error: JSONDecodingError) -> NavigationError {
        let value = event[name]
        let payload = form == .singleValue ? value?["_0"] : value
        let path = error.path.dropFirst(form == .singleValue ? 2 : 1)
        let first = PayloadFault(error, at: ["payload"] + path)
        let faults = payload.map(faults) ?? []
        return .invalidEvent(.init(faults.contains { $0.path == first.path } ? faults : [first] + faults))
    }

    private func faults(of payload: JSON) -> [PayloadFault] {
        schema.map { SchemaCheck.faults(of: payload, $0, at: ["payload"]) } ?? []
    }
}

extension JSON {
    fileprivate func decodedPayload<Event: Decodable>() throws -> Event {
        do { return try decode() } catch { throw UnfitPayload(cause: error) }
    }
}

/// An event in its form on the wire: an example, or the event that a button of an alert sends.
public struct EncodedEvent: Sendable {
    public let name: String
    public let payload: JSON?
    private(set) var form = EventShape.Form.noPayload

    init(name: String, payload: JSON?) {
        self.name = name
        self.payload = payload
    }

    /// - Returns: `nil` if the type does not encode as an enum does; the check at start-up reports such a type.
    public init?(_ event: some NavigationEvent) {
        self.init(event, revealsSecrets: false)
    }

    /// - Parameter revealsSecrets: whether the payload holds secrets unmasked; such a payload must not be kept.
    package init?(_ event: some NavigationEvent, revealsSecrets: Bool) {
        let userInfo: [CodingUserInfoKey: Any] = revealsSecrets ? [.revealsSecrets: true] : [:]
        guard let encoded = try? JSON(encoding: event, userInfo: userInfo) else { return nil }
        if let name = encoded.string {
            self.init(name: name, payload: nil)
            form = .rawValue
            return
        }
        guard let member = encoded.object?.members.first, encoded.object?.count == 1,
            let fields = member.value.object
        else { return nil }
        if fields.isEmpty {
            self.init(name: member.name, payload: nil)
        } else if fields.names == ["_0"] {
            self.init(name: member.name, payload: fields["_0"])
            form = .singleValue
        } else {
            self.init(name: member.name, payload: member.value)
            form = .fields
        }
    }
}

extension EncodedEvent: Equatable {
    public static func == (left: EncodedEvent, right: EncodedEvent) -> Bool {
        left.name == right.name && left.payload == right.payload
    }
}
