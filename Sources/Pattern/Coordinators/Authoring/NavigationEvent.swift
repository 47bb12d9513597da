public import JSONCoding

/// The events that a coordinator handles: an enum whose associated values are the payload.
///
/// A client posts `{"type": "submit", "payload": {"email": "…"}}` for `case submit(email: String)`. A single unlabelled
/// value is the payload itself; a case without values takes no payload.
public protocol NavigationEvent: Codable, Sendable {
    /// The type of `aliases`: inferred, so that a declaration with another type than `[String: String]` is noticed.
    associatedtype AliasList = Undeclared

    /// At least one value of each case. The first one of each gives the event's name, its payload's fields and its
    /// documentation; random walks send them all. An event without an example does not exist for clients: a screen that
    /// offers it is refused, and so is sending it with a `CoordinatorTester`.
    static var examples: [Self] { get }

    /// The title of the button that sends the event, such as “Push”. By default the words of the event's name, see
    /// `readableName`. A screen may give the button another title, see `Control`. The title is read from the first
    /// example, so it must not depend on the payload.
    var title: String { get }

    /// How a form shows the payload's fields, and what the server checks of them. By default the title of each field is
    /// the words of its name. Read from the first example, like `title`.
    var fields: [Field] { get }

    /// The roles of the devices that may send the event, see `App.roles`; by default none is listed, and all that act may.
    /// Whether one payload is for some roles only, `Coordinator.isEnabled` says. Read from the first example, like `title`.
    var roles: [DeviceRole] { get }

    /// The former names of events, with their present ones, `[String: String]`: `["buy": "purchase"]`. An event that is
    /// posted under a former name is treated as if it had the present one, so that clients from before a renaming go on,
    /// and so are the controls, rows and alerts of sessions that were saved before it. Its payload must be of the present
    /// form. States list only the present names. By default there are none.
    static var aliases: AliasList { get }
}

extension NavigationEvent {
    public var title: String { readableName }
    public var fields: [Field] { [] }
    public var roles: [DeviceRole] { [] }
    /// The words of the event's name: “Add to cart” for `addToCart`.
    public var readableName: String { EncodedEvent(self)?.name.sentence ?? "" }
}

extension NavigationEvent where AliasList == Undeclared {
    public static var aliases: Undeclared { Undeclared() }
}

extension NavigationEvent where Self: CaseIterable {
    public static var examples: [Self] { Array(allCases) }
}

/// The `Event` of a coordinator that handles none.
public enum NoEvent: NavigationEvent {
    public static let examples: [NoEvent] = []

    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "there is no event"))
    }

    public func encode(to encoder: any Encoder) throws {}
}

/// An event as a client posts it.
public struct PostedEvent: Sendable, Equatable {
    public var type: String
    public var payload: JSON?
    /// The key of the screen that the user acted on, or of the alert, if one is shown.
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

extension PostedEvent {
    /// Whether it answers the alert by its key: then it does not matter which screen it names.
    func names(_ alert: PresentedAlert?) -> Bool {
        guard let alert, type == BuiltInEvent.answer.rawValue else { return false }
        return payload?["alert"]?.string == alert.key
    }
}

/// A case of a coordinator's `Event`, or one of its `Signal` that other systems may send: its name and the form of its
/// payload on the wire, derived from an example.
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
    /// The roles of the devices that may send it; empty for all.
    public let roles: [DeviceRole]
    /// The payload of the author's first example.
    public let payload: JSON?
    /// The payloads of all examples, with their secrets unmasked, for tests.
    package let unmaskedPayloads: [JSON?]
    /// The JSON Schema of the payload (draft 2020-12), with titles for a form; `nil` if the event has no payload.
    public let schema: JSON?
    /// The payload of a value whose associated values are all `nil`; `nil` if the event has no payload.
    var emptyPayload: JSON? { schema == nil ? nil : form == .singleValue ? .null : [:] }
    /// Whether the payload has a `Secret`.
    var holdsSecret: Bool { schema?.holdsSecret == true }
    /// The schema without what the author's fields add.
    private let bareSchema: JSON?
    /// The mistakes in the declaration, for the author.
    let problems: [String]
    private let form: Form
    /// Whether the schema demands more than decoding checks.
    private let isConstrained: Bool
    /// The names of the fields that take a day for a time, see `Field.Format`.
    private let days: [String]
    /// Whether the result of `decodable` can be decoded, so that `handle` can be called with it.
    let isDecodable: @Sendable (JSON) -> Bool
    /// The conduct of `handle` with this event.
    let conduct = FunctionConduct()
    /// Decodes the event from the result of `decodable`, and calls `handle`; for a signal `receive`.
    let handle: @Sendable (inout any Coordinator, JSON, inout Navigator) async throws -> Void

    /// - Parameter examples: the author's examples of the case, at least one.
    private init<C: Coordinator, Event: Codable & Sendable>(
        _ event: EncodedEvent, examples: [Event], title: String, fields: [Field], roles: [DeviceRole] = [],
        of type: C.Type, number: Int, _ call: @escaping @Sendable (inout C, Event, inout Navigator) async throws -> Void
    ) {
        let example = examples[0]
        let schema = JSONSchema.payloadSchema(of: example)
        // A case without a payload is its example: there is nothing to decode.
        let fixed = event.form == .rawValue || event.form == .noPayload ? example : nil
        self.name = event.name
        self.number = number
        self.title = title
        self.roles = roles
        self.form = event.form
        let days = fields.filter { $0.isDay(in: schema) }.map(\.name)
        let payloads = examples.map { EncodedEvent($0, revealsSecrets: true)?.payload?.withDays(days) }
        self.days = days
        self.payload = event.payload?.withDays(days)
        self.unmaskedPayloads = payloads
        self.bareSchema = schema
        self.schema = schema.map { Field.describe(fields, in: $0) }
        self.isConstrained = fields.contains(where: \.isConstraint)
        // A value that is `nil` is not encoded, so the case looks as if it had no payload.
        let isHidden = event.form == .noPayload && !Mirror(reflecting: example).children.isEmpty
        let hidden = "the example of “\(event.name)” is nil: give one with a value, so that the payload is known"
        var problems = isHidden ? [hidden] : []
        for field in fields where !field.exists(in: schema) {
            problems.append("“\(event.name)” has no field “\(field.name)”")
        }
        for field in fields where !field.hasSoundBounds {
            problems.append("“\(event.name)” has a bound for “\(field.name)” that is no number")
        }
        for fault in Field.faults(of: payloads.compactMap(\.self), schema, fields) {
            problems.append("an example of “\(event.name)” does not fit its own fields: \(fault)")
        }
        self.problems = problems.map { "\(C.name).\(Event.self): \($0)" }
        self.isDecodable = { (try? $0.decode(as: Event.self)) != nil }
        self.handle = { coordinator, event, navigator in
            var handler = coordinator.known(as: C.self)
            try await call(&handler, try fixed ?? event.decodedPayload(), &navigator)
            coordinator = handler
        }
    }

    /// The shapes of a coordinator's events, in the order of their first examples.
    ///
    /// - Returns: `nil` if the type does not encode as an enum does.
    static func all<C: Coordinator>(of type: C.Type, _ numbers: inout EventNumbers) -> [EventShape]? {
        cases(of: C.Event.examples)?.map { event, examples in
            EventShape(
                event, examples: examples, title: examples[0].title, fields: examples[0].fields,
                roles: examples[0].roles, of: type, number: numbers.number(of: event.name)
            ) { try await $0.handle($1, &$2) }
        }
    }

    /// The shapes of the signals that other systems may send to a coordinator, in the order of their first examples.
    ///
    /// - Returns: `nil` if the type does not encode as an enum does.
    static func external<C: Coordinator>(of type: C.Type) -> [EventShape]? {
        cases(of: C.externalSignals ?? [])?.map { signal, examples in
            EventShape(signal, examples: examples, title: signal.name.sentence, fields: [], of: type, number: 0) {
                try await $0.receive($1, &$2)
            }
        }
    }

    /// The cases, each with its examples, in the order of the first ones.
    ///
    /// - Returns: `nil` if the type does not encode as an enum does.
    static func cases<Event: Encodable>(of examples: [Event]) -> [(EncodedEvent, examples: [Event])]? {
        var cases: [(event: EncodedEvent, examples: [Event])] = []
        for example in examples {
            guard let event = EncodedEvent(example) else { return nil }
            if let index = cases.firstIndex(where: { $0.event.name == event.name }) {
                cases[index].examples.append(example)
            } else {
                cases.append((event, [example]))
            }
        }
        return cases.map { ($0.event, $0.examples) }
    }

    /// The event in the form that Swift's own decoding of the enum expects.
    ///
    /// - Parameter fields: those of the coordinator's `fields(of:in:)`; `nil` for the event's own.
    /// - Throws: `invalidEvent` if the payload violates a bound of the fields, or if there is one though the event takes
    ///   none.
    func decodable(_ payload: JSON?, _ fields: [Field]? = nil) throws(NavigationError) -> JSON {
        let days = fields.map { self.days(among: $0) } ?? self.days
        let payload = days.isEmpty ? payload : try payload?.withTimes(for: days)
        if let payload, fields?.contains(where: \.isConstraint) ?? isConstrained {
            let schema = fields.map(self.schema) ?? self.schema
            let faults = schema.map { SchemaCheck.faults(of: payload, $0, at: ["payload"]) } ?? []
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

    /// All faults of a payload that cannot be decoded.
    ///
    /// - Parameters:
    ///   - event: the result of `decodable`.
    ///   - error: thrown by decoding it.
    func refusal(of event: JSON, _ error: JSONDecodingError) -> NavigationError {
        let value = event[name]
        let payload = form == .singleValue ? value?["_0"] : value
        let path = error.path.dropFirst(form == .singleValue ? 2 : 1)
        let first = PayloadFault(error, at: ["payload"] + path)
        var faults: [PayloadFault] = []
        if let payload, let schema { faults = SchemaCheck.faults(of: payload, schema, at: ["payload"]) }
        return .invalidEvent(.init(faults.contains { $0.path == first.path } ? faults : [first] + faults))
    }

    /// A payload without the members that hold secrets.
    func withoutSecrets(_ payload: JSON) -> JSON {
        guard holdsSecret, let schema else { return payload }
        guard let properties = schema["properties"]?.object, let object = payload.object else { return .null }
        return .object(
            JSONObject(object.members.filter { properties[$0.name]?.holdsSecret == false }.map { ($0.name, $0.value) }))
    }

    func has(_ field: Field) -> Bool { field.exists(in: bareSchema) }

    /// Of values that the coordinator refuses. The faults come in the order of the payload's fields.
    func refusal(_ error: FieldError, by coordinator: String) -> NavigationError {
        let fields = bareSchema?["properties"]?.object?.names ?? [""].filter { has(Field($0)) }
        let faults = fields.compactMap { field in
            error.reasons[field].map { reason in
                PayloadFault(path: ["payload", field].filter { !$0.isEmpty }, reason: reason, code: .refused)
            }
        }
        guard !faults.isEmpty, faults.count == error.reasons.count else {
            let unknown = error.reasons.keys.sorted().first { !fields.contains($0) } ?? ""
            return .impossibleRequest(
                coordinator: coordinator, request: "FieldError(\(unknown))", reason: "“\(name)” has no such field")
        }
        return .invalidEvent(.init(faults))
    }

    /// The example's payload with other fields than the event's own.
    func payload(with fields: [Field]) -> JSON? {
        payload?.withDays(days(among: fields))
    }

    /// The schema of the payload with other fields than the event's own.
    func schema(with fields: [Field]) -> JSON? { bareSchema.map { Field.describe(fields, in: $0) } }

    /// The schema of the payload that a form is drawn from.
    ///
    /// - Parameters:
    ///   - fields: those of the coordinator's `fields(of:in:)`; `nil` for the event's own.
    ///   - values: what the form shows at first, see `Control.values`.
    func schema(with fields: [Field]?, showing values: JSON?) -> JSON? {
        let schema = fields.map(self.schema) ?? self.schema
        guard let values else { return schema }
        return schema?.withDefaults(values.withDays(fields.map { days(among: $0) } ?? []))
    }

    /// What a form shows of an event: its days as days, and nothing of its secrets.
    func shown(_ values: JSON) -> JSON { withoutSecrets(values.withDays(days)) }

    /// The names of the fields that are days.
    private func days(among fields: [Field]) -> [String] { fields.filter { $0.isDay(in: bareSchema) }.map(\.name) }
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
}

extension EncodedEvent {
    /// - Returns: `nil` if the type does not encode as an enum does; `App.problems` reports such a type.
    public init?(_ event: some Encodable) {
        self.init(event, revealsSecrets: false)
    }

    /// - Parameter revealsSecrets: whether the payload holds secrets unmasked; such a payload must not be kept.
    package init?(_ event: some Encodable, revealsSecrets: Bool) {
        let userInfo: [CodingUserInfoKey: Any] = revealsSecrets ? [.revealsSecrets: true] : [:]
        guard let encoded = try? JSON(encoding: event, userInfo: userInfo) else { return nil }
        if let name = encoded.string {
            self.init(name: name, payload: nil, form: .rawValue)
            return
        }
        guard let member = encoded.object?.members.first, encoded.object?.count == 1,
            let fields = member.value.object
        else { return nil }
        if fields.isEmpty {
            self.init(name: member.name, payload: nil)
        } else if fields.names == ["_0"] {
            self.init(name: member.name, payload: fields["_0"], form: .singleValue)
        } else {
            self.init(name: member.name, payload: member.value, form: .fields)
        }
    }
}

extension EncodedEvent: Equatable {
    public static func == (left: EncodedEvent, right: EncodedEvent) -> Bool {
        left.name == right.name && left.payload == right.payload
    }
}

/// A field of an event's payload: how a form shows it, and what the server checks of it beyond its type.
///
/// ```swift
/// var fields: [Field] {
///     switch self {
///     case .submit: [Field("email", "E-mail", format: .email), Field("password", minLength: 1)]
///     case .type: [Field(title: "Street")]
///     default: []
///     }
/// }
/// ```
public struct Field: Sendable, Equatable {
    /// The kind of a text, so that a client can offer the right keyboard. The server does not check it. A `Date` with the
    /// format `date` is a day, as a browser's input of that type posts it: `1990-01-31`, which is its first moment in UTC.
    public enum Format: String, Sendable {
        case email, uri, date, time
        case dateTime = "date-time"
    }

    /// The label of the associated value; empty for a single value without a label.
    public let name: String
    /// `nil` for the words of the name.
    public let title: String?
    /// What the form shows at first, in the form of the payload; `nil` if the field is empty then. It is for
    /// `Coordinator.fields(of:in:)`, which knows the coordinator; see also `Control.init(_:role:form:)`.
    public private(set) var value: JSON?
    public let format: Format?
    /// In Unicode scalars.
    public let minLength: Int?
    public let maxLength: Int?
    /// A number: `1`, `0.5`, or `JSON(price)` for a `Decimal`.
    public let minimum: JSON?
    public let maximum: JSON?
    /// The values that the user may choose, in the order in which they are offered; `nil` for all that the type allows.
    /// For a list they are those of its elements.
    public let choices: [Choice]?

    /// A value that the user may choose, and its title.
    public struct Choice: Sendable, Equatable {
        public let value: JSON
        public let title: String

        public init(_ value: JSON, _ title: String) {
            self.value = value
            self.title = title
        }
    }

    /// A field of a payload with several fields, or with one that has a label.
    public init(
        _ name: String, _ title: String? = nil, value: JSON? = nil, format: Format? = nil, minLength: Int? = nil,
        maxLength: Int? = nil, minimum: JSON? = nil, maximum: JSON? = nil, choices: [Choice]? = nil
    ) {
        self.name = name
        self.title = title
        self.value = value
        self.format = format
        self.minLength = minLength
        self.maxLength = maxLength
        self.minimum = minimum
        self.maximum = maximum
        self.choices = choices
    }

    /// The payload itself, if it is a single value without a label.
    public init(
        title: String, value: JSON? = nil, format: Format? = nil, minLength: Int? = nil, maxLength: Int? = nil,
        minimum: JSON? = nil, maximum: JSON? = nil, choices: [Choice]? = nil
    ) {
        self.init(
            "", title, value: value, format: format, minLength: minLength, maxLength: maxLength, minimum: minimum,
            maximum: maximum, choices: choices)
    }
}

/// `handle` throws this to refuse values of its event that fit their types and bounds, such as an address to which nobody
/// delivers. What it has changed until then is dropped, and the client gets 422 `invalid-event` with the words at their
/// fields, as for a bound.
///
/// ```swift
/// guard zones.contains(city) else { throw FieldError("city", "We do not deliver there yet.") }
/// ```
public struct FieldError: Error, Equatable {
    /// What is wrong, by the names of the fields.
    let reasons: [String: String]

    /// - Parameters:
    ///   - field: the label of the associated value, or a property of the only one; empty for a single value without either.
    ///   - reason: a sentence for the user, in the client's language.
    public init(_ field: String, _ reason: String) {
        self.init([field: reason])
    }

    /// Refuses several values at once, at least one: a sentence for each field.
    public init(_ reasons: [String: String]) {
        self.reasons = reasons
    }
}

extension Field {
    /// Whether a payload that can be decoded may violate the field's bounds.
    var isConstraint: Bool { minLength ?? maxLength != nil || minimum ?? maximum != nil || choices != nil }

    /// The field as it is in every session.
    var withoutValue: Field {
        var field = self
        field.value = nil
        return field
    }

    /// Whether the field is a time of which only the day is meant.
    func isDay(in schema: JSON?) -> Bool {
        guard format == .date else { return false }
        let value = name.isEmpty ? schema : schema?["properties"]?[name]
        return ([value] + (value?["anyOf"]?.array ?? [])).contains { $0?["format"] == "date-time" }
    }

    /// What is wrong with examples, in words; nothing is checked without bounds or days.
    ///
    /// - Parameter schema: the payload's schema, as derived from its type.
    fileprivate static func faults(of examples: [JSON], _ schema: JSON?, _ fields: [Field]) -> [String] {
        guard let schema, fields.contains(where: { $0.isConstraint || $0.format == .date }) else { return [] }
        let described = describe(fields, in: schema)
        var faults = examples.flatMap { SchemaCheck.faults(of: $0, described, at: []) }.map { fault in
            (fault.path.isEmpty ? "" : "“\(fault.path.joined(separator: "/"))” ") + fault.reason
        }
        for field in fields where field.format == .date {
            for example in examples {
                let value = field.name.isEmpty ? example : example[field.name]
                if let text = value?.string, text.utf8.count != 10 || JSON.string("\(text)T00:00:00Z").date == nil {
                    faults.append("“\(field.name)” \(JSON.dayExpected)")
                }
            }
        }
        return faults
    }

    /// Whether each bound of a number is a number.
    var hasSoundBounds: Bool { [minimum, maximum].allSatisfy { $0?.number != nil || $0 == nil } }

    /// - Parameter schema: the payload's schema, as derived from its type.
    func exists(in schema: JSON?) -> Bool {
        name.isEmpty ? schema != nil && schema?["properties"] == nil : schema?["properties"]?[name] != nil
    }

    /// The payload's schema with the titles, formats and bounds of the fields. Every property gets a title.
    static func describe(_ fields: [Field], in schema: JSON) -> JSON {
        let schema = schema.withTitles
        guard var object = schema.object else { return schema }
        guard var properties = object["properties"]?.object else {
            return fields.first { $0.name.isEmpty }?.describe(schema) ?? schema
        }
        for field in fields { properties[field.name] = properties[field.name].map(field.describe) }
        object["properties"] = .object(properties)
        return .object(object)
    }

    /// Adds the field's title, format and bounds to a schema. The schema of an optional value has an alternative that
    /// is `null`, which gets no bounds.
    private func describe(_ schema: JSON) -> JSON {
        guard var object = schema.object else { return schema }
        if let title { object["title"] = .string(title) }
        if let value, object["writeOnly"] != true {
            object["default"] = format == .date ? value.string.map { .string(String($0.prefix(10))) } : value
        }
        if let alternatives = object["anyOf"]?.array {
            object["anyOf"] = .array(alternatives.map { $0["type"] == "null" ? $0 : constrain($0) })
            return .object(object)
        }
        return constrain(.object(object))
    }

    private func constrain(_ schema: JSON) -> JSON {
        guard var object = schema.object else { return schema }
        if choices != nil, let elements = object["items"] {
            object["items"] = constrain(elements)
            return .object(object)
        }
        if let choices {
            object["enum"] = .array(choices.map(\.value))
            object["oneOf"] = .array(choices.map { ["const": $0.value, "title": .string($0.title)] })
        }
        if let format { object["format"] = .string(format.rawValue) }
        for (keyword, bound) in [
            ("minLength", minLength.map(JSON.integer)), ("maxLength", maxLength.map(JSON.integer)),
            ("minimum", minimum), ("maximum", maximum),
        ] {
            if let bound { object[keyword] = bound }
        }
        return .object(object)
    }
}

extension JSON {
    fileprivate static let dayExpected = "must be a date, such as 1990-01-31"

    /// A payload in which certain fields, which hold times, have only their days.
    ///
    /// - Parameter days: the fields' names; an empty one for the payload itself.
    fileprivate func withDays(_ days: [String]) -> JSON {
        var payload = self
        for name in days {
            if name.isEmpty { return string.map { .string(String($0.prefix(10))) } ?? self }
            if let text = payload[name]?.string { payload[name] = .string(String(text.prefix(10))) }
        }
        return payload
    }

    /// A payload in which certain fields have the first moment of the day for a day.
    fileprivate func withTimes(for days: [String]) throws(NavigationError) -> JSON {
        var payload = self
        for name in days {
            guard let text = name.isEmpty ? string : payload[name]?.string else { continue }
            let time = text.utf8.count == 10 ? JSON.string("\(text)T00:00:00Z") : .string(text)
            guard time.date != nil else {
                let path = name.isEmpty ? ["payload"] : ["payload", name]
                throw .invalidEvent(.init(path: path, reason: JSON.dayExpected, code: .type))
            }
            if name.isEmpty { return time }
            payload[name] = time
        }
        return payload
    }

    /// The schema of a payload with values as `default`s of its fields.
    fileprivate func withDefaults(_ values: JSON) -> JSON {
        guard var schema = object else { return self }
        guard var properties = schema["properties"]?.object else {
            schema["default"] = values
            return .object(schema)
        }
        for member in values.object?.members ?? [] { properties[member.name]?["default"] = member.value }
        schema["properties"] = .object(properties)
        return .object(schema)
    }

    /// Whether a part of a schema is that of a `Secret`.
    fileprivate var holdsSecret: Bool {
        switch self {
        case .object(let object): object["writeOnly"] == true || object.members.contains { $0.value.holdsSecret }
        case .array(let values): values.contains(where: \.holdsSecret)
        default: false
        }
    }

    /// A schema in which every property has a title: the words of its name.
    fileprivate var withTitles: JSON {
        guard var schema = object else { return self }
        if let alternatives = schema["anyOf"]?.array { schema["anyOf"] = .array(alternatives.map(\.withTitles)) }
        schema["items"] = schema["items"]?.withTitles
        schema["additionalProperties"] = schema["additionalProperties"]?.withTitles
        if let properties = schema["properties"]?.object {
            schema["properties"] = .object(
                JSONObject(
                    properties.members.map { property in
                        var described = property.value.withTitles.object ?? [:]
                        described["title"] = .string(property.name.sentence)
                        return (property.name, .object(described))
                    }))
        }
        return .object(schema)
    }
}
