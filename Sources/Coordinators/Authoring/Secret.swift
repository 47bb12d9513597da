/// A text in an event's payload that must not be seen again, such as a password.
///
/// It is read from a plain string. Whoever needs the text asks for `value`; everything else that shows what a value
/// holds (printing, mirrors, encoding) shows `•••` for whatever text. It is therefore for passing on, not for keeping: a
/// coordinator that has one among its properties finds `•••` in it once it has been saved and restored.
public struct Secret: Sendable, Hashable {
    public let value: String

    public init(_ value: String) {
        self.value = value
    }

    /// What is shown instead.
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
    /// `true` where secrets are encoded as they are: for an event on its way from a test to a handler.
    static let revealsSecrets = CodingUserInfoKey(rawValue: "Coordinators.revealsSecrets")!
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { Secret.mask }
    public var debugDescription: String { Secret.mask }
    public var customMirror: Mirror { Mirror(reflecting: Secret.mask) }
}
