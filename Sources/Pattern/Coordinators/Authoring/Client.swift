public import JSONCoding

/// What the client says about itself: when it creates the session, and later with the event `describeClient`. A fork
/// starts with its original's.
public final class ClientInfo: Sendable {
    /// The most bytes that it may take as JSON text.
    public static let sizeLimit = 4096

    /// Everything that the client has sent: the three members below, and whatever else the app's own clients send.
    public let values: JSONObject

    /// The user's language and region, as BCP 47 writes them: `de-AT`.
    public var locale: String? { values["locale"]?.string }
    /// Such as `ios`, `tv` or `kiosk`.
    public var platform: String? { values["platform"]?.string }
    /// The client's own version.
    public var version: String? { values["version"]?.string }

    /// The language of `locale`, in lower case: `de`.
    public var language: String? {
        locale.map { Substring($0.utf8.prefix { !"-_".utf8.contains($0) }).lowercased() }
    }

    /// The client has said nothing.
    package static let none = ClientInfo(locale: nil)

    /// For tests: what a client says that says only this.
    public init(locale: String?, platform: String? = nil, version: String? = nil) {
        let members = [("locale", locale), ("platform", platform), ("version", version)]
        values = JSONObject(members.compactMap { name, value in value.map { (name, .string($0)) } })
    }

    /// - Throws: if `json` is not an object or is too large, or if one of the three members above is not a string; then
    ///   the error's path names the member.
    public init(_ json: JSON) throws(JSONDecodingError) {
        values = try JSONObject(json: json)
        for name in ["locale", "platform", "version"] {
            guard let value = values[name], value != .null, value.string == nil else { continue }
            throw JSONDecodingError(path: [name], reason: "must be a string", code: .type)
        }
        guard JSONWriter.bytes(capacity: 256, { values.write(to: &$0) }).count <= ClientInfo.sizeLimit else {
            throw JSONDecodingError(path: [], reason: "must have at most \(ClientInfo.sizeLimit) bytes")
        }
    }
}

extension ClientInfo: Equatable {
    public static func == (left: ClientInfo, right: ClientInfo) -> Bool {
        left === right || left.values == right.values
    }
}

/// Where an event comes from: a network address if the server knows one, otherwise the session.
///
/// It is opaque, and equal for all events from one place, which several clients may share. An app uses it to limit how
/// often one client may do something. It is never revealed: it cannot be encoded, and prints as `•••`.
public struct ClientAddress: Sendable, Hashable {
    private enum Place: Hashable {
        case network(UInt64, UInt64)
        case name(String)
    }

    private let place: Place

    public init(_ text: String) {
        place = .name(text)
    }

    /// - Parameter bits: the bits of a network address.
    package init(bits: (UInt64, UInt64)) {
        place = .network(bits.0, bits.1)
    }
}

extension ClientAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An app's own name for one of its users: a number, a UUID, an address. To everybody else it is opaque.
public enum UserID {
    /// The most bytes of UTF-8.
    public static let limit = 256

    /// Whether a text can be a user's id: 1 to `limit` bytes. None may be 0, because not every store can keep a zero
    /// byte.
    public static func isValid(_ text: String) -> Bool {
        (1...limit).contains(text.utf8.count) && !text.utf8.contains(0)
    }
}
