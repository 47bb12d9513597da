public import JSONCoding

/// An event as a client posts it.
public struct PostedEvent: Sendable, Equatable {
    public var type: String
    public var payload: JSON?
    /// The key of the screen that the user acted on.
    public var screen: String?
    /// Where the event comes from. Never saved.
    public var client: ClientAddress?

    public init(_ type: String, payload: JSON? = nil, screen: String? = nil, client: ClientAddress? = nil) {
        self.type = type
        self.payload = payload
        self.screen = screen
        self.client = client
    }
}

/// A case of a coordinator's `Event`: its name and the form of its payload on the wire, derived from an example.
///
/// Swift encodes an enum's case as `{"name": {"label": value}}` (SE-0295), or as its raw value. On the wire that is
/// `{"type": "name", "payload": {"label": value}}`, where a single unlabelled value is the payload itself.
public final class EventShape: Sendable {
    enum Form: Sendable { case rawValue, noPayload, singleValue, fields }

    public let name: String
    /// The title of the button that sends the event.
    public let title: String
    /// The payload of the author's example.
    public let payload: JSON?
    /// The same payload with its secrets unmasked, for tests.
    package let unmaskedPayload: JSON?
    /// The JSON Schema of the payload (draft 2020-12); `nil` if the event has no payload.
    public let schema: JSON?
    let form: Form
    /// Whether a coordinator accepts the event now.
    let isEnabled: @Sendable (any Coordinator) -> Bool

    private init(
        _ event: EncodedEvent, title: String, unmaskedPayload: JSON?, schema: JSON?,
        isEnabled: @escaping @Sendable (any Coordinator) -> Bool
    ) {
        self.name = event.name
        self.title = title
        self.form = event.form
        self.payload = event.payload
        self.unmaskedPayload = unmaskedPayload
        self.schema = schema
        self.isEnabled = isEnabled
    }

    /// - Returns: `nil` if the type does not encode as an enum does.
    convenience init?<C: Coordinator>(example: C.Event, of type: C.Type) {
        guard let event = EncodedEvent(example) else { return nil }
        let unmasked = EncodedEvent(example, revealsSecrets: true)?.payload
        let schema = JSONSchema.payloadSchema(of: example)
        self.init(event, title: example.title, unmaskedPayload: unmasked, schema: schema) { coordinator in
            (coordinator as? C)?.isEnabled(example) ?? true
        }
    }

    /// The JSON that Swift's own decoding of the enum expects.
    func decodable(_ payload: JSON?) throws(JSONDecodingError) -> JSON {
        switch form {
        case .rawValue, .noPayload:
            guard payload == nil || payload == [:] else {
                throw JSONDecodingError(path: [], reason: "must be left out, because “\(name)” takes no payload")
            }
            return form == .rawValue ? .string(name) : [name: [:]]
        case .singleValue:
            guard let payload else { throw JSONDecodingError(path: [], reason: "is missing") }
            return [name: ["_0": payload]]
        case .fields:
            guard let payload else { throw JSONDecodingError(path: [], reason: "is missing") }
            return [name: payload]
        }
    }

    /// The path within the payload of a fault that was found at `path` in the result of `decodable`.
    fileprivate func payloadPath(_ path: [String]) -> [String] {
        switch form {
        case .rawValue, .noPayload: []
        case .singleValue: Array(path.dropFirst(2))
        case .fields: Array(path.dropFirst())
        }
    }
}

extension NavigationError {
    /// The posted payload does not fit `shape`.
    static func invalidEvent(_ shape: EventShape, _ error: JSONDecodingError) -> NavigationError {
        .invalidEvent(.init(path: ["payload"] + shape.payloadPath(error.path), reason: error.reason))
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
