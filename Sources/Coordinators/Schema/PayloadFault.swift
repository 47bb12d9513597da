internal import JSONCoding

/// One place at which a posted event does not fit, and why.
public struct PayloadFault: Equatable, Sendable {
    /// What is wrong, for programs. The cases are named like the keywords of JSON Schema.
    public enum Code: String, Sendable {
        /// The value must be there, and is not.
        case required
        /// The value is of another type.
        case type
        /// The value is none of those that are allowed.
        case `enum`
        case minimum, maximum, minLength, maxLength
        /// Anything else.
        case invalid
    }

    /// The members that lead to the fault, starting at the posted event: `["payload", "email"]`.
    public let path: [String]
    /// What was expected there. Contains nothing of what was posted.
    public let reason: String
    public let code: Code

    public init(path: [String], reason: String, code: Code) {
        self.path = path
        self.reason = reason
        self.code = code
    }

    /// - Parameter path: where it is in the posted event.
    init(_ error: JSONDecodingError, at path: [String]) {
        self.init(path: path, reason: error.reason, code: Code(rawValue: error.code.rawValue) ?? .invalid)
    }
}
