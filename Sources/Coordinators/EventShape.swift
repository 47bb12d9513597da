public import JSONCoding

/// An event as a client posts it.
public struct PostedEvent: Sendable, Equatable {
    public var type: String
    public var payload: JSON?
    /// The key of the screen that the user acted on.
    public var screen: String?

    public init(_ type: String, payload: JSON? = nil, screen: String? = nil) {
        self.type = type
        self.payload = payload
        self.screen = screen
    }
}

/// A case of a coordinator's `Event`: its name and how its payload travels, read off an example.
///
/// Swift encodes an enum's case as `{"name": {"label": value}}` (SE-0295), or as its raw value. On the wire that is
/// `{"type": "name", "payload": {"label": value}}`, where a single unlabelled value is the payload itself.
public final class EventShape: Sendable {
    enum Form: Sendable { case rawValue, noPayload, singleValue, fields }

    public let name: String
    /// The payload of the author's example.
    public let payload: JSON?
    let form: Form

    private init(_ name: String, _ form: Form, payload: JSON? = nil) {
        self.name = name
        self.form = form
        self.payload = payload
    }

    /// - Returns: `nil` where the type does not encode as an enum does.
    convenience init?(example: some NavigationEvent) {
        guard let encoded = try? JSON(encoding: example) else { return nil }
        if let name = encoded.string {
            self.init(name, .rawValue)
            return
        }
        guard let member = encoded.object?.members.first, encoded.object?.count == 1,
            let fields = member.value.object
        else { return nil }
        if fields.isEmpty {
            self.init(member.name, .noPayload)
        } else if fields.names == ["_0"] {
            self.init(member.name, .singleValue, payload: fields["_0"])
        } else {
            self.init(member.name, .fields, payload: member.value)
        }
    }

    /// The JSON that Swift's own decoding of the enum expects.
    func decodable(_ payload: JSON?) throws(JSONDecodingError) -> JSON {
        switch form {
        case .rawValue, .noPayload:
            guard payload == nil || payload == [:] else {
                throw JSONDecodingError(path: [], reason: "“\(name)” takes no payload")
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

    /// Where in the payload a fault lies that was found at `path` in what `decodable` returned.
    fileprivate func payloadPath(_ path: [String]) -> [String] {
        switch form {
        case .rawValue, .noPayload: []
        case .singleValue: Array(path.dropFirst(2))
        case .fields: Array(path.dropFirst())
        }
    }
}

extension NavigationError {
    /// What was posted as the payload of `shape` does not fit.
    static func invalidEvent(_ shape: EventShape, _ error: JSONDecodingError) -> NavigationError {
        .invalidEvent(.init(path: ["payload"] + shape.payloadPath(error.path), reason: error.reason))
    }
}

/// An event that a state keeps for later: what a button of an alert sends.
struct EncodedEvent: Sendable, Equatable {
    let name: String
    let payload: JSON?

    init(name: String, payload: JSON?) {
        self.name = name
        self.payload = payload
    }

    /// - Returns: `nil` where the type does not encode as an enum does; the start-up check has named it then.
    init?(_ event: some NavigationEvent) {
        guard let shape = EventShape(example: event) else { return nil }
        self.init(name: shape.name, payload: shape.payload)
    }
}
