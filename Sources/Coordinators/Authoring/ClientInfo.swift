public import JSONCoding

/// What the client says about itself, when it creates the session and later with the event `describeClient`. A fork has
/// what its original had.
public final class ClientInfo: Sendable {
    /// The number of bytes that it may take as JSON text.
    public static let sizeLimit = 4096

    /// Everything that the client has sent.
    public let values: JSONObject

    /// The user's language and region, as BCP 47 writes them: `de-AT`.
    public var locale: String? { values["locale"]?.string }
    /// Such as `ios`, `tv` or `kiosk`.
    public var platform: String? { values["platform"]?.string }
    /// Of the client.
    public var version: String? { values["version"]?.string }

    /// The language of `locale`, in lower case: `de`.
    public var language: String? {
        locale.map { Substring($0.utf8.prefix { !"-_".utf8.contains($0) }).lowercased() }
    }

    /// The client has said nothing.
    static let none = ClientInfo()

    private init() {
        values = [:]
    }

    /// - Throws: what is wrong; the path is empty or names one of the three texts.
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
