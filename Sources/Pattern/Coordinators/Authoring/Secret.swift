/// A text in an event's payload that must not be shown, such as a password.
///
/// It is decoded from a plain string. Only `value` returns the text; printing, mirrors and encoding show `•••`. So pass
/// a secret on, but do not keep it: if a coordinator has a secret among its properties, its value is `•••` after the
/// coordinator was saved and restored.
public struct Secret: Sendable, Hashable {
    public let value: String

    public init(_ value: String) {
        self.value = value
    }

    /// What is shown instead of the text.
    private static let mask = "•••"
}

extension Secret: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension Secret: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoder.userInfo[.revealsSecrets] as? Bool == true ? value : Secret.mask)
    }
}

extension CodingUserInfoKey {
    /// `true` to encode secrets unmasked, for an event that a test sends to a handler.
    static let revealsSecrets = CodingUserInfoKey(rawValue: "Coordinators.revealsSecrets")!
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { Secret.mask }
    public var debugDescription: String { Secret.mask }
    public var customMirror: Mirror { Mirror(reflecting: Secret.mask) }
}
